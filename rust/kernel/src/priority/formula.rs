//! Formulas over the columns of jobs, for `order=expression("…")`.
use serde::{Deserialize, Serialize};

use crate::expression::{ExpressionError, ORDERS, Program};
use crate::spelling::unknown;

/// A column that is hidden from schedulers.
const HIDDEN: &str = "run_time";

/// A formula over columns, ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expression {
    program: Program,
}

impl Expression {
    /// Parses a formula over the given names.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, ExpressionError> {
        let mut index = |word: &str| match names.iter().position(|name| *name == word) {
            _ if word == HIDDEN => {
                Err("run_time is hidden from schedulers; requested_time is what they see.".into())
            }
            Some(index) => Ok(index),
            None => Err(unknown("column", word, names)),
        };
        Ok(Self { program: Program::parse(text, &ORDERS, &mut index)? })
    }

    /// Returns whether the formula depends on the name with this index.
    #[must_use]
    pub fn uses(&self, index: usize) -> bool {
        self.program.uses(index)
    }

    /// The formula's value, given the values of the names by index.
    pub fn evaluate(&self, value: impl Fn(usize) -> f64) -> f64 {
        self.program.number(value)
    }
}

#[cfg(test)]
mod tests {
    use super::Expression;

    const NAMES: [&str; 4] = ["now", "submit_time", "requested_time", "tasks"];

    #[test]
    fn errors_name_what_is_known() {
        for (formula, expected) in [
            ("ü + 1", "no column named 'ü'. Known: now, requested_time, submit_time, tasks. At character 1"),
            ("üü + task", "no column named 'üü'."),
            (
                "2 * requsted_time",
                "no column named 'requsted_time'. Did you mean 'requested_time'? Known: now, ",
            ),
            (
                "run_time",
                "run_time is hidden from schedulers; requested_time is what they see. At character 1",
            ),
            ("sqrt", "no column named 'sqrt'."),
        ] {
            let error = Expression::parse(formula, &NAMES).expect_err(formula).to_string();
            assert!(error.contains(expected), "{formula}: {error}");
        }
    }
}
