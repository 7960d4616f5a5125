//! Hysteresis of the workload: the work that the jobs there have left (Rumyantsev et al. 2018, III.C).
use serde::{Deserialize, Serialize};

use super::{Seen, hysteresis};

/// Up from a level where the workload is more than `high` after an arrival or departure, down where it is at most `low`, and at
/// the very time when it comes down to that; a pair of thresholds for each step of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Ascending, each at most the `high` of its step.
    pub low: Vec<f64>,
    /// Ascending.
    pub high: Vec<f64>,
    /// Whether the work of a job counts once for each of its processors.
    pub weighted: bool,
    /// Whether the time of the descent is that of the paper's formula, which has the workload fall at the rate of one job.
    pub printed: bool,
}

impl Workload {
    pub(super) fn level_after(&self, level: usize, top: usize, seen: &Seen) -> usize {
        hysteresis(level, top, |step| seen.workload > self.high[step], |step| seen.workload <= self.low[step])
    }
}
