//! Formulas of performance models: the usual subset of `ExprTk`, as `ElastiSim` uses it.
//!
//! ```text
//! expression = operand {operator operand} ["?" expression ":" expression]
//! operand    = number | 'text' | name | function "(" expression {"," expression} ")" | ("-" | "+") operand
//!            | "(" expression ")", likewise in [] and {}
//! operators, the strongest first:
//!   ^                                    from the right
//!   - + before an operand                -x^2 is -(x^2), 2^-x is 2^(-x)
//!   * / %                                also where nothing stands: 2x, 3(a + b), (a + b)c
//!   + -
//!   < <= > >= = == != <>
//!   in like ilike
//!   and & nand
//!   or | nor xor xnor
//! ```
//!
//! Everything is float64, and texts can be compared. Truths are 1 and 0; whatever is not 0 is true. Arithmetic is
//! IEEE's, so that a division by zero gives an infinity; `%` takes the dividend's sign, as C's `fmod`. Functions come
//! from `libm`, the same on every platform. Words of the language may be written in capitals too.
//!
//! A formula is parsed once, in time linear in its length, to a flat postfix program. An evaluation takes time linear
//! in the program, one lookup per name, and does all branches: a name that nobody knows is found at once.
mod functions;
mod lexer;
mod operators;
mod parser;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use self::functions::Function;
use self::operators::Operator;
use super::Scope;
use super::scope::Value;
use crate::spelling::{shown, unknown};

/// 2^53: beyond it, float64 does not tell all whole numbers apart.
const LARGEST_COUNT: f64 = 9_007_199_254_740_992.0;

/// A formula, ready to be evaluated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Formula {
    text: String,
    program: Program,
}

/// Why a text is no formula, or has no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormulaError {
    /// Where, in characters from the beginning.
    pub position: usize,
    /// What is wrong there, and what to do.
    pub message: String,
    /// The formula.
    pub formula: String,
}

/// A problem at a position; the formula's text is put beside it on the way out.
type Problem = (usize, String);

/// Steps with the positions of their text, the names and texts in them, and how high the stack becomes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Program {
    steps: Vec<(Step, u32)>,
    names: Vec<String>,
    texts: Vec<String>,
    highest: usize,
}

/// One step of a program: it takes its operands from the stack, the last one on top, and leaves its value there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Step {
    Number(f64),
    Text(u32),
    Name(u32),
    Negate,
    Operator(Operator),
    Function(Function, u32),
    /// condition, value, otherwise
    Choose,
}

/// What stands on the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Item<'a> {
    Number(f64),
    Text(&'a str),
}

impl Formula {
    /// Parses a formula.
    pub fn parse(text: &str) -> Result<Self, FormulaError> {
        match lexer::tokens(text).and_then(|tokens| parser::program(&tokens)) {
            Ok(program) => Ok(Self { text: text.into(), program }),
            Err(problem) => Err(FormulaError::at(problem, text)),
        }
    }

    /// A formula that is a number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        let program = Program { steps: vec![(Step::Number(number), 0)], highest: 1, ..Program::default() };
        Self { text: number.to_string(), program }
    }

    /// As it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names in it, each once.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.program.names
    }

    /// The number that it is, if it names and computes nothing.
    #[must_use]
    pub fn as_number(&self) -> Option<f64> {
        match self.program.steps[..] {
            [(Step::Number(number), _)] => Some(number),
            _ => None,
        }
    }

    /// Its value.
    pub fn evaluate(&self, scope: &Scope) -> Result<f64, FormulaError> {
        self.run(|name| meaning(name, scope))
    }

    /// Its value where names mean what they are told to mean, and nothing else.
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
        self.program.run(meaning).map_err(|problem| FormulaError::at(problem, &self.text))
    }

    /// Its value as a number of iterations or nodes, truncated.
    pub fn count(&self, scope: &Scope) -> Result<u64, FormulaError> {
        let value = self.evaluate(scope)?.trunc();
        if (0.0..=LARGEST_COUNT).contains(&value) {
            return Ok(value as u64);
        }
        let message = format!("this counts something and gives {value}; must be from 0 to 2^53.");
        Err(FormulaError::at((0, message), &self.text))
    }
}

impl Program {
    fn run<'a>(&'a self, meaning: impl Fn(&str) -> Result<Item<'a>, String>) -> Result<f64, Problem> {
        let mut stack: Vec<Item> = Vec::with_capacity(self.highest);
        for &(step, position) in &self.steps {
            let at = |message: String| (position as usize, message);
            let operands = stack.len() - step.operands();
            let item = match step {
                Step::Number(number) => Item::Number(number),
                Step::Text(index) => Item::Text(&self.texts[index as usize]),
                Step::Name(index) => meaning(&self.names[index as usize]).map_err(at)?,
                Step::Negate => Item::Number(-stack[operands].number().map_err(at)?),
                Step::Operator(operator) => {
                    Item::Number(operator.apply(stack[operands], stack[operands + 1]).map_err(at)?)
                }
                Step::Function(function, _) => {
                    let values: Result<Vec<f64>, String> =
                        stack[operands..].iter().map(|item| item.number()).collect();
                    Item::Number(function.apply(&values.map_err(at)?))
                }
                Step::Choose => {
                    let holds = stack[operands].number().map_err(at)? != 0.0;
                    stack[operands + if holds { 1 } else { 2 }]
                }
            };
            stack.truncate(operands);
            stack.push(item);
        }
        stack[0].number().map_err(|message| (0, message))
    }
}

impl Step {
    /// How many values the step takes from the stack.
    fn operands(self) -> usize {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Name(_) => 0,
            Self::Negate => 1,
            Self::Operator(_) => 2,
            Self::Function(_, count) => count as usize,
            Self::Choose => 3,
        }
    }
}

impl Item<'_> {
    fn number(self) -> Result<f64, String> {
        match self {
            Self::Number(number) => Ok(number),
            Self::Text(text) => Err(format!("{} is a text; texts can only be compared.", shown(text))),
        }
    }
}

/// What the job's situation says of itself, in the order of [`situation`].
const SITUATION: [&str; 6] =
    ["num_nodes", "num_gpus_per_node", "num_gpus", "phase_iteration", "num_nodes_min", "num_nodes_max"];

/// `ExprTk`'s constants, which arguments may hide.
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
    fn at((position, message): Problem, formula: &str) -> Self {
        Self { position, message, formula: formula.into() }
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, message, formula } = self;
        write!(formatter, "{message} At character {} of the formula {}.", position + 1, shown(formula))
    }
}

impl std::error::Error for FormulaError {}
