//! Errors of texts that are not formulas, or have no value.
use std::fmt;

/// The reason why a text is not a formula, or has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Position of the error, in characters from the beginning.
    pub position: usize,
    /// The error, and how to correct it.
    pub message: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} At character {} of the formula.", self.message, self.position + 1)
    }
}

impl std::error::Error for ExpressionError {}
