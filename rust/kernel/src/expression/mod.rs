//! Formulas: one lexer, one parser and one machine for every language of formulas in the kernel.
//!
//! ```text
//! formula = operand {operator operand} ["?" formula ":" formula]
//! operand = number | name | function "(" formula {"," formula} ")" | prefix operand | "(" formula ")"
//! ```
//!
//! A [`Dialect`] says which operators and functions a language has, how strongly they bind, and what else it admits.
//! There are two: [`ORDERS`] for the order of the queue, and [`MODELS`] for the performance models of applications.
//! What names mean, the caller says, when it has a formula parsed and evaluated.
//!
//! Everything is float64; texts can be compared where the dialect has them. Truths are 1 and 0, and whatever is not 0
//! is true. Functions and powers come from `libm`, the same on every platform; the rest is exact IEEE arithmetic. A
//! formula is parsed once, in time linear in its length, to a flat postfix [`Program`]. An evaluation takes time linear
//! in the program and does all branches.
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
