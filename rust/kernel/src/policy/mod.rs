//! Formulas over jobs.
pub mod expression;
