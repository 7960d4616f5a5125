//! Errors of reading a log.

use super::notes::Reason;
use std::fmt;
use std::io;

/// The reason why reading ended before the end of the log.
#[derive(Debug)]
pub enum SwfError {
    /// The file cannot be opened or read.
    Io(io::Error),
    /// The gzip stream ends early or is damaged after this number of whole lines.
    Gzip {
        /// Number of lines read before the damage.
        lines: u64,
        /// Error of the decompressor.
        source: io::Error,
    },
    /// A job breaks a rule, with [`super::Invalid::Raise`].
    Invalid {
        /// Line number, from 1.
        line: u64,
        /// The rule.
        reason: Reason,
        /// The field, its value and the rule.
        message: String,
    },
}

impl fmt::Display for SwfError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(formatter, "{error}"),
            Self::Gzip { lines, source } => {
                write!(formatter, "the gzip stream is cut short or damaged after line {lines} ({source})")
            }
            Self::Invalid { line, message, .. } => write!(formatter, "{line}: {message}"),
        }
    }
}

impl std::error::Error for SwfError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) | Self::Gzip { source: error, .. } => Some(error),
            Self::Invalid { .. } => None,
        }
    }
}
