//! Randomised control: coins at arrivals and departures (Rumyantsev et al. 2018, II).
use serde::{Deserialize, Serialize};

use crate::parameter::{numbers, parameters, probability, seed};
use crate::random::mix;

use super::KeyEvent;

parameters! {
    /// One level up at an arrival with probability `up`, down at a departure with probability `down`.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    pub struct Randomised {
        /// Probability of a step up at an arrival.
        up: f64 = 0.5, probability().positional();
        /// Probability of a step down at a departure.
        down: f64 = 0.5, probability().positional();
        /// Random numbers in [0, 1) for arrivals and departures, in their order.
        coins: Vec<f64> = Vec::new(), numbers().by_default("drawn");
        /// Seed of the drawn numbers.
        seed: Option<u64> = None, seed().by_default("that of the run");
    }
}

impl Randomised {
    /// The coin of an arrival or departure, by number: in [0, 1).
    #[must_use]
    pub fn coin(&self, number: u64) -> f64 {
        let given = usize::try_from(number).ok().and_then(|at| self.coins.get(at));
        // A float64 in [0, 1) can represent the upper 53 bits only.
        given
            .copied()
            .unwrap_or_else(|| (mix(self.seed.unwrap_or(0), number) >> 11) as f64 / (1_u64 << 53) as f64)
    }

    pub(super) fn level_after(&self, level: usize, top: usize, event: KeyEvent, coin: f64) -> usize {
        match event {
            KeyEvent::Arrival if coin < self.up => (level + 1).min(top),
            KeyEvent::Departure if coin < self.down => level.saturating_sub(1),
            _ => level,
        }
    }
}
