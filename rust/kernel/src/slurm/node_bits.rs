//! Sets of nodes as bits: what Slurm keeps for each instant of its plan.
use serde::{Deserialize, Serialize};

use crate::index::ones_of;

/// Some of the nodes of a machine. All operations O(nodes / 64); both sides are of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeBits(Vec<u64>);

impl NodeBits {
    /// No node of a machine of so many.
    #[must_use]
    pub fn none(nodes: usize) -> Self {
        Self(vec![0; nodes.div_ceil(64)])
    }

    /// All nodes of a machine of so many.
    #[must_use]
    pub fn full(nodes: usize) -> Self {
        let mut words = vec![u64::MAX; nodes.div_ceil(64)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), nodes % 64) {
            *last = (1 << rest) - 1;
        }
        Self(words)
    }

    /// These nodes.
    #[must_use]
    pub fn of(nodes: usize, members: impl IntoIterator<Item = u32>) -> Self {
        let mut bits = Self::none(nodes);
        for node in members {
            bits.insert(node);
        }
        bits
    }

    /// Adds a node.
    #[inline]
    pub fn insert(&mut self, node: u32) {
        self.0[node as usize / 64] |= 1 << (node % 64);
    }

    /// Adds a node, or takes it away.
    #[inline]
    pub fn set(&mut self, node: u32, is_member: bool) {
        let word = &mut self.0[node as usize / 64];
        *word = *word & !(1 << (node % 64)) | u64::from(is_member) << (node % 64);
    }

    /// 64 nodes from a multiple of 64 on.
    #[inline]
    pub(super) fn word(&self, place: u32) -> u64 {
        self.0[place as usize]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn word_mut(&mut self, place: u32) -> &mut u64 {
        &mut self.0[place as usize]
    }

    /// Whether a node is one of them.
    #[inline]
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.0[node as usize / 64] >> (node % 64) & 1 == 1
    }

    /// How many they are.
    #[inline]
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many of them are in the other set.
    #[inline]
    #[must_use]
    pub fn count_in(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).map(|(own, other)| (own & other).count_ones() as usize).sum()
    }

    /// Leaves those that are in the other set too.
    #[inline]
    pub fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }

    /// Takes away those of the other set.
    #[inline]
    pub fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= !other);
    }

    /// Adds those of the other set.
    #[inline]
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    /// Whether all of them are in the other set.
    #[inline]
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(own, other)| own & !other == 0)
    }

    /// Whether some of them are in the other set.
    #[inline]
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(own, other)| own & other != 0)
    }

    /// Whether some of these nodes are in `next` that are not both in `free` and `here`.
    #[inline]
    #[must_use]
    pub fn gains(&self, free: &Self, here: &Self, next: &Self) -> bool {
        let words = self.0.iter().zip(&next.0).zip(free.0.iter().zip(&here.0));
        words.into_iter().any(|((own, next), (free, here))| own & next & !(free & here) != 0)
    }

    /// Them, by index.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().zip(0..).flat_map(|(&word, place)| members(word, place))
    }

    /// Those that are in the other set too, by index.
    #[inline]
    pub fn iter_within<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> + 'a {
        self.0.iter().zip(&other.0).zip(0..).flat_map(|((own, other), place)| members(own & other, place))
    }
}

/// The nodes of a word.
fn members(word: u64, place: u32) -> impl Iterator<Item = u32> {
    ones_of(word).map(move |bit| place * 64 + bit as u32)
}
