//! Sets of nodes as bitmaps.
use serde::{Deserialize, Serialize};

use super::words::{WORD, ones_of};

/// A set of nodes of a machine. An operation on one node is O(1), any other O(nodes / 64); both operands belong to one
/// machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeBits(Vec<u64>);

impl NodeBits {
    /// Create an empty set for a machine with this many nodes.
    #[must_use]
    pub fn none(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(WORD)])
    }

    /// Create the set of all nodes of a machine with this many nodes.
    #[must_use]
    pub fn full(nodes: usize) -> Self {
        let mut words = vec![u64::MAX; nodes.div_ceil(WORD)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), nodes % WORD) {
            *last = (1 << rest) - 1;
        }
        Self(words)
    }

    /// Create the set of these nodes.
    #[must_use]
    pub fn of(nodes: usize, members: impl IntoIterator<Item = u32>) -> Self {
        let mut bits = Self::none(nodes);
        for node in members {
            bits.insert(node);
        }
        bits
    }

    /// Add a node.
    #[inline]
    pub fn insert(&mut self, node: u32) {
        self.0[node as usize / WORD] |= 1 << (node as usize % WORD);
    }

    /// Add or remove a node.
    #[inline]
    pub fn set(&mut self, node: u32, is_member: bool) {
        let word = &mut self.0[node as usize / WORD];
        *word = *word & !(1 << (node as usize % WORD)) | u64::from(is_member) << (node as usize % WORD);
    }

    /// Return the word with this index: 64 nodes.
    #[inline]
    #[must_use]
    pub fn word(&self, place: u32) -> u64 {
        self.0[place as usize]
    }

    /// Return the word with this index for modification.
    #[inline]
    pub fn word_mut(&mut self, place: u32) -> &mut u64 {
        &mut self.0[place as usize]
    }

    /// Remove a node.
    #[inline]
    pub fn remove_node(&mut self, node: u32) {
        self.0[node as usize / WORD] &= !(1 << (node as usize % WORD));
    }

    /// Return whether the set contains a node; false for one beyond the nodes of the set.
    #[inline]
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0.get(node as usize / WORD).is_some_and(|word| word >> (node as usize % WORD) & 1 == 1)
    }

    /// Return the number of nodes in the set.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Return the size of the intersection with another set.
    #[inline]
    #[must_use]
    pub fn count_in(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).map(|(own, other)| (own & other).count_ones() as usize).sum()
    }

    /// Intersect with another set.
    #[inline]
    pub fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }

    /// Remove the nodes of another set.
    #[inline]
    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= !other);
    }

    /// Add the nodes of another set.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Return whether this is a subset of another set.
    #[inline]
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }

    /// Return whether the sets intersect.
    #[inline]
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    /// Return whether some of these nodes are in `next` but not in both `free` and `here`.
    #[inline]
    #[must_use]
    pub fn gains(&self, free: &Self, here: &Self, next: &Self) -> bool {
        let words = self.0.iter().zip(&next.0).zip(free.0.iter().zip(&here.0));
        words.into_iter().any(|((own, next), (free, here))| own & next & !(free & here) != 0)
    }

    /// Return whether the set contains `length` adjacent nodes, at least one.
    #[must_use]
    pub fn has_run(&self, length: u32) -> bool {
        let mut run = 0;
        for &word in &self.0 {
            let mut left = word;
            let mut bits = WORD as u32;
            while bits > 0 {
                let ones = (!left).trailing_zeros().min(bits);
                run += ones;
                if run >= length {
                    return true;
                }
                if ones == bits {
                    break;
                }
                left >>= ones;
                bits -= ones;
                let zeros = left.trailing_zeros().min(bits);
                run = 0;
                left = left.checked_shr(zeros).unwrap_or(0);
                bits -= zeros;
            }
        }
        run >= length
    }

    /// Iterate over the nodes by index.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().zip(0..).flat_map(|(&word, place)| members(word, place))
    }

    /// Iterate over the intersection with another set by index.
    #[inline]
    pub fn iter_within<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> + 'a {
        self.0.iter().zip(&other.0).zip(0..).flat_map(|((own, other), place)| members(own & other, place))
    }
}

/// Return the nodes of a word.
fn members(word: u64, place: u32) -> impl Iterator<Item = u32> {
    ones_of(word).map(move |bit| place * WORD as u32 + bit as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_over_words() {
        let bits = NodeBits(vec![0b0111 | 1 << 63, 0b11, u64::MAX, 1]);
        assert!(bits.has_run(65) && !bits.has_run(66));
        let bits = NodeBits(vec![0b0111 | 1 << 63, 0b11]);
        assert!(bits.has_run(3) && !bits.has_run(4));
        assert!(NodeBits::full(128).has_run(128) && !NodeBits::full(127).has_run(128));
        assert!(!NodeBits::none(64).has_run(1));
    }

    #[test]
    fn no_node_beyond_the_last_one_is_in_a_set() {
        let mut bits = NodeBits::of(66, [0, 65]);
        assert!(bits.contains(65) && !bits.contains(66) && !bits.contains(128));
        bits.remove_node(65);
        assert_eq!(bits, NodeBits::of(66, [0]));
    }
}
