//! Few nodes of a large machine: the words of [`NodeBits`] that are not zero.
use serde::{Deserialize, Serialize};

use super::node_bits::NodeBits;

/// The nodes of a job. All operations O(nodes of the job), at most O(nodes of the machine / 64).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseNodes(Vec<(u32, u64)>);

impl SparseNodes {
    /// These nodes, in any order.
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

    /// Whether some of them are in the other set.
    #[inline]
    #[must_use]
    pub fn meets(&self, other: &NodeBits) -> bool {
        self.0.iter().any(|&(place, word)| word & other.word(place) != 0)
    }

    /// How many of them are in the other set.
    #[must_use]
    pub fn count_in(&self, other: &NodeBits) -> usize {
        self.0.iter().map(|&(place, word)| (word & other.word(place)).count_ones() as usize).sum()
    }

    /// Adds them to the other set.
    pub fn add_to(&self, other: &mut NodeBits) {
        for &(place, word) in &self.0 {
            *other.word_mut(place) |= word;
        }
    }

    /// Adds those of them that are in a third set to the other set.
    pub fn add_to_within(&self, other: &mut NodeBits, third: &NodeBits) {
        for &(place, word) in &self.0 {
            *other.word_mut(place) |= word & third.word(place);
        }
    }
}
