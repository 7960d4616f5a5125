//! Hysteresis of the number of present jobs (Rumyantsev et al. 2018, III.A).
use serde::{Deserialize, Serialize};

use crate::parameter::{numbers, parameters};

use super::{KeyEvent, Seen, hysteresis};

parameters! {
    /// Goes up from a level at an arrival after which more than `high` jobs are present, and down at a departure after
    /// which at most `low` are; a pair of thresholds for each step of the ladder.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Count {
        /// A step down at a departure after which at most so many jobs are present; ascending, one for each step.
        low: Vec<f64> = vec![0.0], numbers().positional();
        /// A step up at an arrival after which more jobs are present; ascending, one for each step.
        high: Vec<f64> = vec![0.0], numbers().positional();
    }
}

impl Count {
    pub(super) fn level_after(&self, level: usize, top: usize, seen: &Seen) -> usize {
        let up = |step: usize| seen.event == KeyEvent::Arrival && seen.present as f64 > self.high[step];
        let down = |step: usize| seen.event == KeyEvent::Departure && seen.present as f64 <= self.low[step];
        hysteresis(level, top, up, down)
    }
}
