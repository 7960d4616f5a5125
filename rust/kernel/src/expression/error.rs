//! Why a text is no formula, or has no value.
use std::fmt;

/// Why a text is no formula, or has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// Where, in characters from the beginning.
    pub position: usize,
    /// What is wrong there, and what to do.
    pub message: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} At character {} of the formula.", self.message, self.position + 1)
    }
}

impl std::error::Error for ExpressionError {}
