//! Marks on numbered things, all taken off in O(1).

use serde::{Deserialize, Serialize};

/// Marks that are all taken off at once, by starting a new generation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Marks {
    generation: u32,
    of: Vec<u32>,
}

impl Marks {
    /// Takes all marks off; from now on there are at least `count` things.
    pub(super) fn clear(&mut self, count: usize) {
        self.of.resize(count.max(self.of.len()), 0);
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.of.fill(0);
            self.generation = 1;
        }
    }

    /// Marks; whether it was not marked yet.
    pub(super) fn mark(&mut self, at: u32) -> bool {
        let fresh = self.of[at as usize] != self.generation;
        self.of[at as usize] = self.generation;
        fresh
    }
}
