//! Formulas of performance models, after the usual subset of `ExprTk`.
use std::fmt;

use super::Scope;

/// A formula, ready to be evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    number: f64,
}

/// Why a text is no formula, or has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// Where, in characters from the beginning.
    pub position: usize,
    /// What is wrong there, and what to do.
    pub message: String,
}

impl Formula {
    /// Parses a formula.
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        match text.trim().parse() {
            Ok(number) => Ok(Self { number }),
            Err(_) => Err(FormulaError { position: 0, message: "must be a number.".into() }),
        }
    }

    /// A formula that is a number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        Self { number }
    }

    /// The formula's value.
    pub fn evaluate(&self, _: &Scope) -> Result<f64, FormulaError> {
        Ok(self.number)
    }

    /// The formula's value as a number of iterations or nodes, truncated.
    pub fn count(&self, scope: &Scope) -> Result<u64, FormulaError> {
        let value = self.evaluate(scope)?.trunc();
        if (0.0..=9_007_199_254_740_992.0).contains(&value) {
            return Ok(value as u64);
        }
        Err(FormulaError { position: 0, message: format!("gives {value}; must be from 0 to 2^53.") })
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} At character {} of the formula.", self.message, self.position + 1)
    }
}

impl std::error::Error for FormulaError {}
