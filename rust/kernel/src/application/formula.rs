//! Formulas of performance models: the meaning of their names for a job, and their values.
//!
//! Formulas are written in the language [`MODELS`]. An evaluation looks each name up once, and evaluates all branches,
//! so that an unknown name is always found.
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::scope::{Scope, Value};
use crate::expression::{ExpressionError, Item, MODELS, Program};
use crate::spelling::{shown, unknown};

/// 2^53: beyond it, float64 cannot represent all integers.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// A formula, ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Formula {
    text: String,
    names: Vec<String>,
    program: Program,
}

/// The reason why a text is not a formula, or has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// Position of the error, in characters from the beginning.
    pub position: usize,
    /// The error, and how to correct it.
    pub message: String,
    /// The formula.
    pub formula: String,
}

impl Formula {
    /// Parses a formula.
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        let mut names: Vec<String> = Vec::new();
        let mut index = |word: &str| {
            Ok(names.iter().position(|known| known == word).unwrap_or_else(|| {
                names.push(word.into());
                names.len() - 1
            }))
        };
        match Program::parse(text, &MODELS, &mut index) {
            Ok(program) => Ok(Self { text: text.into(), names, program }),
            Err(error) => Err(FormulaError::of(error, text)),
        }
    }

    /// Creates a formula that is a number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        Self { text: number.to_string(), names: Vec::new(), program: Program::of_number(number) }
    }

    /// The text of the formula.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The distinct names in the formula.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number, if the formula is a plain number.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        self.program.as_number()
    }

    /// Evaluates the formula for a job.
    pub fn evaluate(&self, scope: &Scope) -> Result<f64, FormulaError> {
        self.run(|name| meaning(name, scope))
    }

    /// Evaluates the formula with these names only.
    pub fn evaluate_for(&self, names: &BTreeMap<String, Value>) -> Result<f64, FormulaError> {
        let known = || names.keys().map(String::as_str).collect::<Vec<_>>();
        self.run(|name| match names.get(name) {
            Some(value) => Ok(value.into()),
            None => constant(name).ok_or_else(|| unknown("name", name, &known())),
        })
    }

    fn run<'a>(&'a self, meaning: impl Fn(&str) -> Result<Item<'a>, String>) -> Result<f64, FormulaError> {
        if let Some(number) = self.as_number() {
            return Ok(number);
        }
        let value = self.program.value(|index| meaning(&self.names[index]));
        value.map_err(|error| FormulaError::of(error, &self.text))
    }

    /// Evaluates the formula as a number of iterations or nodes, truncated.
    pub fn count(&self, scope: &Scope) -> Result<u64, FormulaError> {
        let value = self.evaluate(scope)?.trunc();
        if (0.0..=LARGEST_COUNT).contains(&value) {
            return Ok(value as u64);
        }
        let message = format!("this counts something and gives {value}; must be from 0 to 2^53.");
        Err(FormulaError { position: 0, message, formula: self.text.clone() })
    }
}

/// The names of the job's properties, in the order of [`situation`].
const SITUATION: [&str; 6] =
    ["num_nodes", "num_gpus_per_node", "num_gpus", "phase_iteration", "num_nodes_min", "num_nodes_max"];

/// `ExprTk`'s constants, which arguments may shadow.
const CONSTANTS: [(&str, f64); 3] =
    [("pi", std::f64::consts::PI), ("epsilon", 1e-10), ("inf", f64::INFINITY)];

fn meaning<'a>(name: &str, scope: &Scope<'a>) -> Result<Item<'a>, String> {
    if let Some(index) = SITUATION.iter().position(|known| *known == name) {
        return Ok(Item::Number(situation(scope)[index]));
    }
    match scope.runtime_arguments.get(name).or_else(|| scope.arguments.get(name)) {
        Some(value) => Ok(value.into()),
        None => constant(name).ok_or_else(|| nameless(name, scope)),
    }
}

fn constant(name: &str) -> Option<Item<'static>> {
    let known = CONSTANTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, number)| Item::Number(*number))
}

fn situation(scope: &Scope) -> [f64; 6] {
    let (nodes, gpus) = (f64::from(scope.nodes), f64::from(scope.gpus_per_node));
    let range = (f64::from(scope.nodes_min), f64::from(scope.nodes_max));
    [nodes, gpus, nodes * gpus, scope.phase_iteration as f64, range.0, range.1]
}

fn nameless(name: &str, scope: &Scope) -> String {
    let arguments = scope.arguments.keys().chain(scope.runtime_arguments.keys()).map(String::as_str);
    let known: Vec<&str> = SITUATION.into_iter().chain(arguments).collect();
    unknown("name or job argument", name, &known)
}

impl<'a> From<&'a Value> for Item<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Number(number) => Self::Number(*number),
            Value::Text(text) => Self::Text(text),
        }
    }
}

impl FormulaError {
    fn of(error: ExpressionError, formula: &str) -> Self {
        Self { position: error.position, message: error.message, formula: formula.into() }
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, message, formula } = self;
        write!(formatter, "{message} At character {} of the formula {}.", position + 1, shown(formula))
    }
}

impl std::error::Error for FormulaError {}
