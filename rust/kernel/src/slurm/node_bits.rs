//! Sets of nodes as bit sets, which Slurm keeps for each instant of its plan.
use serde::{Deserialize, Serialize};

use crate::index::ones_of;

/// A set of nodes of a machine. All operations are O(nodes / 64); both operands belong to one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeBits(Vec<u64>);

impl NodeBits {
    /// Create an empty set for a machine with this many nodes.
    #[must_use]
    pub fn none(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)])
    }

    /// Create the set of all nodes of a machine with this many nodes.
    #[must_use]
    pub fn full(nodes: usize) -> Self {
        let mut words = vec![u64::MAX; nodes.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), nodes % 64) {
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
        self.0[node as usize / 64] |= 1 << (node % 64);
    }

    /// Add or remove a node.
    #[inline]
    pub fn set(&mut self, node: u32, is_member: bool) {
        let word = &mut self.0[node as usize / 64];
        *word = *word & !(1 << (node % 64)) | u64::from(is_member) << (node % 64);
    }

    /// Return the word with this index: 64 nodes.
    #[inline]
    pub(super) fn word(&self, place: u32) -> u64 {
        self.0[place as usize]
    }

    /// Return the word with this index for modification.
    #[inline]
    pub(super) fn word_mut(&mut self, place: u32) -> &mut u64 {
        &mut self.0[place as usize]
    }

    /// Return whether the set contains a node.
    #[inline]
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0[node as usize / 64] >> (node % 64) & 1 == 1
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
    ones_of(word).map(move |bit| place * 64 + bit as u32)
}
