//! Why a log could not be read.

use super::notes::Reason;
use std::fmt;
use std::io;

/// Why reading ended before the log did.
#[derive(Debug)]
pub enum SwfError {
    /// The file cannot be opened or read.
    Io(io::Error),
    /// The gzip stream ends early or is damaged, after this many whole lines.
    Gzip {
        /// Lines read before the damage.
        lines: u64,
        /// What the decompressor says.
        source: io::Error,
    },
    /// A job breaks a rule, and [`super::Invalid::Raise`] was asked for.
    Invalid {
        /// The line, from 1.
        line: u64,
        /// Which rule.
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
