//! Amounts of ranks: the distribution of a total over them.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::formula::{Formula, FormulaError};
use super::scope::Scope;

/// An amount for every rank: operations, bytes or seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// The total S.
    pub total: Formula,
    /// The distribution over the n ranks.
    pub pattern: Pattern,
}

/// The distribution of a total S over n ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Pattern {
    /// S for every rank.
    Uniform,
    /// S / n for every rank.
    AllRanks,
    /// S for rank 0.
    RootOnly,
    /// S / ⌈n/2⌉ for ranks 0, 2, …
    EvenRanks,
    /// S / ⌊n/2⌋ for ranks 1, 3, …
    OddRanks,
    /// Explicit amounts, without a total.
    Vector(Vec<f64>),
}

/// The reason why a model has no amounts for a job.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelError {
    /// The formula has no value.
    Formula(FormulaError),
    /// The formula's value is not an amount: negative or not finite.
    Amount(f64),
    /// Explicit amounts for another number of ranks than the job has.
    Ranks {
        /// Number of given amounts.
        given: usize,
        /// Number of amounts that the job needs.
        needed: usize,
    },
    /// A pattern not supported for nodes with several GPUs.
    Pattern,
}

impl Pattern {
    /// The patterns of a total with their names.
    const NAMES: [(&str, Self); 5] = [
        ("uniform", Self::Uniform),
        ("all_ranks", Self::AllRanks),
        ("root_only", Self::RootOnly),
        ("even_ranks", Self::EvenRanks),
        ("odd_ranks", Self::OddRanks),
    ];

    /// The pattern of a total with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|(known, pattern)| (known == name).then_some(pattern))
    }
}

impl Payload {
    /// The amount of every rank.
    pub fn of_ranks(&self, ranks: u32, scope: &Scope) -> Result<Vec<f64>, ModelError> {
        let count = ranks as usize;
        if let Pattern::Vector(amounts) = &self.pattern {
            return explicit(amounts, count).map(<[f64]>::to_vec);
        }
        let total = amount(&self.total, scope)?;
        let n = f64::from(ranks);
        let share = |rank: usize| match self.pattern {
            Pattern::Uniform => total,
            Pattern::AllRanks => total / n,
            Pattern::RootOnly if rank == 0 => total,
            Pattern::EvenRanks if rank.is_multiple_of(2) => total / f64::from(ranks.div_ceil(2)),
            Pattern::OddRanks if !rank.is_multiple_of(2) => total / f64::from(ranks / 2),
            _ => 0.0,
        };
        Ok((0..count).map(share).collect())
    }
}

/// The value of a formula that is an amount.
pub(super) fn amount(formula: &Formula, scope: &Scope) -> Result<f64, ModelError> {
    let value = formula.evaluate(scope)?;
    if value.is_finite() && value >= 0.0 { Ok(value) } else { Err(ModelError::Amount(value)) }
}

/// Returns explicit amounts, if there are as many as needed.
pub(super) fn explicit(amounts: &[f64], needed: usize) -> Result<&[f64], ModelError> {
    if amounts.len() == needed {
        Ok(amounts)
    } else {
        Err(ModelError::Ranks { given: amounts.len(), needed })
    }
}

impl From<FormulaError> for ModelError {
    fn from(error: FormulaError) -> Self {
        Self::Formula(error)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Formula(error) => error.fmt(formatter),
            Self::Amount(value) => write!(formatter, "the amount is {value}; must be a finite number >= 0."),
            Self::Ranks { given, needed } => {
                write!(formatter, "{given} amounts are given; the job needs {needed}.")
            }
            Self::Pattern => write!(
                formatter,
                "with several GPUs per node the pattern must be all_to_all, ring, ring_clockwise or \
                 ring_counter_clockwise."
            ),
        }
    }
}

impl std::error::Error for ModelError {}
