//! Hysteresis of the number of present jobs (Rumyantsev et al. 2018, III.A).
use serde::{Deserialize, Serialize};

use super::{KeyEvent, Seen, hysteresis};

/// Goes up from a level at an arrival after which more than `high` jobs are present, and down at a departure after
/// which at most `low` are; a pair of thresholds for each step of the ladder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Ascending, each at most the `high` of its step.
    pub low: Vec<u64>,
    /// Ascending.
    pub high: Vec<u64>,
}

impl Count {
    pub(super) fn level_after(&self, level: usize, top: usize, seen: &Seen) -> usize {
        let up = |step: usize| seen.event == KeyEvent::Arrival && seen.present > self.high[step];
        let down = |step: usize| seen.event == KeyEvent::Departure && seen.present <= self.low[step];
        hysteresis(level, top, up, down)
    }
}
