//! Randomised control: coins at arrivals and departures (Rumyantsev et al. 2018, II).
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::random::mix;

use super::KeyEvent;

/// One level up at an arrival with probability `up`, down at a departure with probability `down`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Randomised {
    /// Probability at an arrival, in [0, 1].
    pub up: f64,
    /// Probability at a departure, in [0, 1].
    pub down: f64,
    /// The coin of each arrival and departure, in their order; further coins are drawn at random.
    pub coins: Arc<[f64]>,
    /// The seed of the coins.
    pub seed: u64,
}

impl Randomised {
    /// The coin of an arrival or departure, by number: in [0, 1).
    #[must_use]
    pub fn coin(&self, number: u64) -> f64 {
        let given = usize::try_from(number).ok().and_then(|at| self.coins.get(at));
        // A float64 in [0, 1) can represent the upper 53 bits only.
        given.copied().unwrap_or_else(|| (mix(self.seed, number) >> 11) as f64 / (1_u64 << 53) as f64)
    }

    pub(super) fn level_after(&self, level: usize, top: usize, event: KeyEvent, coin: f64) -> usize {
        match event {
            KeyEvent::Arrival if coin < self.up => (level + 1).min(top),
            KeyEvent::Departure if coin < self.down => level.saturating_sub(1),
            _ => level,
        }
    }
}
