//! Small sets of nodes of a large machine: the nonzero words of [`NodeBits`].
use serde::{Deserialize, Serialize};

use crate::index::NodeBits;

/// The nodes of a job. All operations are O(nodes of the job), at most O(nodes of the machine / 64).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseNodes(Vec<(u32, u64)>);

impl SparseNodes {
    /// Create the set of these nodes, in any order.
    #[must_use]
    pub fn of(members: impl IntoIterator<Item = u32>) -> Self {
        let mut words: Vec<(u32, u64)> = Vec::new();
        for node in members {
            let (place, bit) = (node / 64, 1 << (node % 64));
            match words.last_mut() {
                Some((last, word)) if *last == place => *word |= bit,
                _ => words.push((place, bit)),
            }
        }
        if !words.is_sorted_by(|one, next| one.0 < next.0) {
            words.sort_unstable_by_key(|&(place, _)| place);
            words.dedup_by(|next, kept| {
                let is_same = kept.0 == next.0;
                kept.1 |= if is_same { next.1 } else { 0 };
                is_same
            });
        }
        Self(words)
    }

    /// Return whether the sets intersect.
    #[inline]
    #[must_use]
    pub fn meets(&self, other: &NodeBits) -> bool {
        self.0.iter().any(|&(place, word)| word & other.word(place) != 0)
    }

    /// Return the size of the intersection with another set.
    #[must_use]
    pub fn count_in(&self, other: &NodeBits) -> usize {
        self.0.iter().map(|&(place, word)| (word & other.word(place)).count_ones() as usize).sum()
    }

    /// Add these nodes to another set.
    pub fn add_to(&self, other: &mut NodeBits) {
        for &(place, word) in &self.0 {
            *other.word_mut(place) |= word;
        }
    }

    /// Add those of these nodes that are in a third set to another set.
    pub fn add_to_within(&self, other: &mut NodeBits, third: &NodeBits) {
        for &(place, word) in &self.0 {
            *other.word_mut(place) |= word & third.word(place);
        }
    }
}
