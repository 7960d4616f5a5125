//! Hysteresis of the workload: the remaining work of the present jobs (Rumyantsev et al. 2018, III.C).
use serde::{Deserialize, Serialize};

use crate::parameter::{numbers, parameters, switch};

use super::{Seen, hysteresis};

parameters! {
    /// Goes up from a level if the workload is more than `high` after an arrival or departure, and down if it is at
    /// most `low`, also at the time at which it decreases to `low`; a pair of thresholds for each step of the ladder.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Workload {
        /// A step down if the workload is at most this; ascending, one for each step.
        low: Vec<f64> = vec![0.0], numbers().positional();
        /// A step up if the workload is more than this after an arrival or departure; ascending, one for each step.
        high: Vec<f64> = vec![0.0], numbers().positional();
        /// True to count the work of a job once for each of its processors.
        weighted: bool = false, switch();
        /// True to use the paper's formula for the time of the step down, which assumes one job in service.
        printed: bool = false, switch();
    }
}

impl Workload {
    pub(super) fn level_after(&self, level: usize, top: usize, seen: &Seen) -> usize {
        hysteresis(level, top, |step| seen.workload > self.high[step], |step| seen.workload <= self.low[step])
    }
}
