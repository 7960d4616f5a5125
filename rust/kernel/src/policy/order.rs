//! Who is next: the key by which queued jobs are sorted, smallest first.
//!
//! Sources: `wfp3` and `unicef` from Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on
//! Blue Gene/P systems" (CLUSTER 2009); `f1`–`f4` from Carastan-Santos and de Camargo, "Obtaining dynamic scheduling
//! policies with simulation and machine learning" (SC'17). Logarithms come from `libm`, the same on every platform.
use crate::random::mix;
use crate::workload::jobs::Job;

use super::expression::Expression;

/// The names a formula may use, before the workload's own columns.
pub const FORMULA_NAMES: [&str; 7] =
    ["now", "wait_time", "submit_time", "requested_time", "tasks", "processors", "estimate"];

/// The order of the queue.
#[derive(Clone, Debug)]
pub enum Order {
    /// First come, first served.
    Fcfs,
    /// Shortest requested time first.
    Sjf,
    /// Longest requested time first.
    Ljf,
    /// Smallest area first: requested time × processors.
    Saf,
    /// Largest area first.
    Laf,
    /// Fewest processors first.
    Smallest,
    /// Most processors first.
    Largest,
    /// WFP3.
    Wfp3,
    /// UNICEF.
    Unicef,
    /// F1.
    F1,
    /// F2.
    F2,
    /// F3.
    F3,
    /// F4.
    F4,
    /// At random, from a seed.
    Random(u64),
    /// By keys that somebody outside gives before a pass; they may change with time.
    Outside,
    /// By a formula over [`FORMULA_NAMES`] and further columns.
    Formula(Expression),
}

/// What a key is computed from.
pub struct Candidate<'a> {
    /// The job.
    pub job: &'a Job,
    /// Its request in processors.
    pub processors: f64,
    /// The present time.
    pub now: f64,
}

impl Order {
    /// Whether keys change with time, so that they are computed at every pass.
    #[must_use]
    pub fn is_dynamic(&self) -> bool {
        match self {
            Self::Wfp3 | Self::Unicef | Self::Outside => true,
            Self::Formula(formula) => formula.uses(0) || formula.uses(1),
            _ => false,
        }
    }

    /// The key; `column` gives the values of further columns. Not a number counts as 0, and −0 as 0.
    pub fn key(&self, candidate: &Candidate<'_>, column: impl Fn(usize) -> f64) -> f64 {
        let Candidate { job, processors, now } = *candidate;
        let requested = job.estimate;
        let wait = now - job.submit_time;
        let age = || libm::log10(job.submit_time.max(1.0));
        let key = match self {
            Self::Fcfs | Self::Outside => 0.0,
            Self::Sjf => requested,
            Self::Ljf => -requested,
            Self::Saf => requested * processors,
            Self::Laf => -(requested * processors),
            Self::Smallest => processors,
            Self::Largest => -processors,
            Self::Wfp3 => {
                let quotient = wait / requested;
                -(quotient * quotient * quotient * processors)
            }
            Self::Unicef => -(wait / (libm::log2(processors) * requested)),
            Self::F1 => libm::log10(requested.max(1.0)) * processors + 870.0 * age(),
            Self::F2 => requested.sqrt() * processors + 25_600.0 * age(),
            Self::F3 => requested * processors + 6_860_000.0 * age(),
            Self::F4 => requested * processors.sqrt() + 530_000.0 * age(),
            Self::Random(seed) => mix(*seed, job.row) as f64,
            Self::Formula(formula) => formula.evaluate(|index| match index {
                0 => now,
                1 => wait,
                2 => job.submit_time,
                3 => job.requested_time,
                4 => f64::from(job.tasks),
                5 => processors,
                6 => job.estimate,
                _ => column(index - FORMULA_NAMES.len()),
            }),
        };
        if key.is_nan() { 0.0 } else { key + 0.0 }
    }
}
