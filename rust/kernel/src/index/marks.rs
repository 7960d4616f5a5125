//! Marks on ids `0, 1, …`, all removed in O(1).

use serde::{Deserialize, Serialize};

/// Marks that are removed all at once, by starting a new generation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Marks {
    generation: u32,
    of: Vec<u32>,
}

impl Marks {
    /// Removes all marks, and allows marks on ids below `count`.
    pub fn clear(&mut self, count: usize) {
        self.of.resize(count.max(self.of.len()), 0);
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.of.fill(0);
            self.generation = 1;
        }
    }

    /// Marks an id; returns whether it was not marked yet.
    pub fn mark(&mut self, at: u32) -> bool {
        let fresh = self.of[at as usize] != self.generation;
        self.of[at as usize] = self.generation;
        fresh
    }

    /// Removes the mark of an id.
    pub fn unmark(&mut self, at: u32) {
        // 0 is never a generation.
        self.of[at as usize] = 0;
    }

    /// Returns whether an id is marked.
    #[must_use]
    pub fn has(&self, at: u32) -> bool {
        self.of[at as usize] == self.generation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_last_until_they_are_cleared() {
        let mut marks = Marks::default();
        marks.clear(2);
        assert!(marks.mark(1));
        assert!(!marks.mark(1));
        assert!(marks.has(1) && !marks.has(0));
        marks.unmark(1);
        assert!(!marks.has(1) && marks.mark(1));
        marks.clear(3);
        assert!(marks.mark(1) && marks.mark(2));
    }

    #[test]
    fn a_generation_that_wraps_around_leaves_no_mark() {
        let mut marks = Marks { generation: u32::MAX, of: vec![1, u32::MAX] };
        marks.clear(2);
        assert!(marks.mark(0) && marks.mark(1));
    }
}
