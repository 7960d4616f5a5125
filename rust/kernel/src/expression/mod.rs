//! Formulas: one lexer, one parser and one machine for every formula language in the kernel.
//!
//! ```text
//! formula = operand {operator operand} ["?" formula ":" formula]
//! operand = number | name | function "(" formula {"," formula} ")" | prefix operand | "(" formula ")"
//! ```
//!
//! A [`Dialect`] defines the operators and functions of a language, their binding strengths, and its optional features.
//! There are two: [`ORDERS`] for the order of the queue, and [`MODELS`] for the performance models of applications. The
//! caller supplies the meaning of names for parsing and evaluation.
//!
//! All values are float64; texts can be compared if the dialect has them. Truth values are 1 and 0, and any value other
//! than 0 is true. Functions and powers come from `libm`, with the same results on every platform; the rest is exact
//! IEEE arithmetic. A formula is parsed once, in time linear in its length, to a flat postfix [`Program`]. An
//! evaluation takes time linear in the program, and evaluates all branches.
mod dialect;
mod error;
mod lexer;
mod models;
mod operations;
mod orders;
mod parser;
#[cfg(test)]
mod tests;
mod vm;

pub use dialect::Dialect;
pub use error::ExpressionError;
pub use models::MODELS;
pub use orders::ORDERS;
pub use vm::{Item, Program};
