//! Hysteresis of the workload: the remaining work of the present jobs (Rumyantsev et al. 2018, III.C).
use serde::{Deserialize, Serialize};

use super::{Seen, hysteresis};

/// Goes up from a level if the workload is more than `high` after an arrival or departure, and down if it is at most
/// `low`, also at the time at which it decreases to `low`; a pair of thresholds for each step of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Ascending, each at most the `high` of its step.
    pub low: Vec<f64>,
    /// Ascending.
    pub high: Vec<f64>,
    /// True if the work of a job is multiplied by its processors.
    pub weighted: bool,
    /// True if the time of the descent follows the printed formula of the paper, in which the workload decreases at the
    /// rate of one job.
    pub printed: bool,
}

impl Workload {
    pub(super) fn level_after(&self, level: usize, top: usize, seen: &Seen) -> usize {
        hysteresis(level, top, |step| seen.workload > self.high[step], |step| seen.workload <= self.low[step])
    }
}
