//! Formulas over a job's columns: the language of `order=expression("…")`.
//!
//! ```text
//! formula    = or ["if" or "else" formula | "?" formula ":" formula]
//! or, and    = … joined by "or", "and";  "not" before a comparison
//! comparison = sum [("<" | "<=" | ">" | ">=" | "==" | "!=") sum]
//! sum, product = … joined by "+" "-", by "*" "/" "%"
//! power      = operand ["**" power], the exponent may begin with "-"; "-" before a power
//! operand    = number | name | function "(" formula {"," formula} ")" | "(" formula ")"
//! ```
//!
//! Everything is float64. Truths are 1 and 0, and whatever is not 0 is true. `%` takes the divisor's sign, as in
//! Python. Logarithms, powers and `exp` come from `libm`, the same on every platform; the rest is exact IEEE
//! arithmetic. A formula is parsed once, in time linear in its length, to a flat postfix program; an evaluation
//! takes time linear in the program, on a stack of fixed size.
mod lexer;
mod parser;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

/// The largest stack that a formula's evaluation may need; the parser refuses what needs more.
const STACK: usize = 48;

/// A formula, ready to be evaluated.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Expression {
    program: Vec<Step>,
}

/// Why a text is no formula.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpressionError {
    /// Where, in characters from the beginning.
    pub position: usize,
    /// What is wrong there, and what to do.
    pub message: String,
}

/// One step of a program: it takes its operands from the stack, the last one on top, and leaves its value there.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
enum Step {
    Number(f64),
    Name(usize),
    One(Unary),
    Two(Binary),
    /// value, condition, otherwise: `value if condition else otherwise`
    IfElse,
    /// condition, value, otherwise: `condition ? value : otherwise`
    Choose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Unary {
    Negate,
    Not,
    Abs,
    Sqrt,
    Log,
    Log2,
    Log10,
    Exp,
    Floor,
    Ceil,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Min,
    Max,
}

impl Expression {
    /// Parses a formula over the given names.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, ExpressionError> {
        let tokens = lexer::tokens(text)?;
        Ok(Self { program: parser::program(&tokens, names)? })
    }

    /// Whether the formula depends on the name with this index.
    #[must_use]
    pub fn uses(&self, index: usize) -> bool {
        self.program.contains(&Step::Name(index))
    }

    /// The formula's value, given those of the names by their indices.
    pub fn evaluate(&self, value: impl Fn(usize) -> f64) -> f64 {
        let mut stack = [0.0; STACK];
        let mut height = 0;
        for step in &self.program {
            // The parser has counted: no program takes from an empty stack, or needs more than STACK.
            let (taken, result) = match *step {
                Step::Number(number) => (0, number),
                Step::Name(index) => (0, value(index)),
                Step::One(operation) => (1, operation.apply(stack[height - 1])),
                Step::Two(operation) => (2, operation.apply(stack[height - 2], stack[height - 1])),
                Step::IfElse => (3, select(stack[height - 2], stack[height - 3], stack[height - 1])),
                Step::Choose => (3, select(stack[height - 3], stack[height - 2], stack[height - 1])),
            };
            height -= taken;
            stack[height] = result;
            height += 1;
        }
        stack[0]
    }
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} At character {} of the formula.", self.message, self.position + 1)
    }
}

impl std::error::Error for ExpressionError {}

impl Step {
    /// How many values the step takes from the stack.
    fn operands(self) -> usize {
        match self {
            Self::Number(_) | Self::Name(_) => 0,
            Self::One(_) => 1,
            Self::Two(_) => 2,
            Self::IfElse | Self::Choose => 3,
        }
    }
}

impl Unary {
    fn apply(self, operand: f64) -> f64 {
        match self {
            Self::Negate => -operand,
            Self::Not => truth(operand == 0.0),
            Self::Abs => operand.abs(),
            Self::Sqrt => operand.sqrt(),
            Self::Log => libm::log(operand),
            Self::Log2 => libm::log2(operand),
            Self::Log10 => libm::log10(operand),
            Self::Exp => libm::exp(operand),
            Self::Floor => operand.floor(),
            Self::Ceil => operand.ceil(),
        }
    }
}

impl Binary {
    // Equality is exact, like everything that compares times here.
    #[allow(clippy::float_cmp)]
    fn apply(self, left: f64, right: f64) -> f64 {
        match self {
            Self::Add => left + right,
            Self::Subtract => left - right,
            Self::Multiply => left * right,
            Self::Divide => left / right,
            Self::Modulo => modulo(left, right),
            Self::Power => libm::pow(left, right),
            Self::Less => truth(left < right),
            Self::LessOrEqual => truth(left <= right),
            Self::Greater => truth(left > right),
            Self::GreaterOrEqual => truth(left >= right),
            Self::Equal => truth(left == right),
            Self::NotEqual => truth(left != right),
            Self::And => truth(left != 0.0 && right != 0.0),
            Self::Or => truth(left != 0.0 || right != 0.0),
            // Not f64::min and f64::max, which may give either zero of 0 and -0.
            Self::Min => select(truth(right < left), right, left),
            Self::Max => select(truth(right > left), right, left),
        }
    }
}

fn truth(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

fn select(condition: f64, value: f64, otherwise: f64) -> f64 {
    if condition == 0.0 { otherwise } else { value }
}

fn modulo(left: f64, right: f64) -> f64 {
    let rest = left % right;
    if rest != 0.0 && (rest < 0.0) != (right < 0.0) { rest + right } else { rest }
}
