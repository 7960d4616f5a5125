//! Node sets: the nodes to which a query for free resources is restricted.
//!
//! A set is a list of ranges: membership costs O(log r) for r ranges, a walk O(r + nodes found). A system without named
//! sets has only the set of the whole machine, and has no cost for others.
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The number of a node set of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeSetId(pub(super) u32);

impl NodeSetId {
    /// The whole machine.
    pub const ALL: Self = Self(0);

    /// The index of the set in the list of the scenario.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The block of the set in a list of `width` values per set.
    #[must_use]
    pub fn block(self, width: usize) -> Range<usize> {
        self.index() * width..(self.index() + 1) * width
    }
}

/// A set of nodes: ascending ranges that neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSet {
    ranges: Vec<Range<u32>>,
}

impl NodeSet {
    /// Creates the set of the nodes of these ranges, which may overlap and come in any order.
    #[must_use]
    pub fn new(ranges: impl IntoIterator<Item = Range<u32>>) -> Self {
        let mut given: Vec<Range<u32>> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        given.sort_unstable_by_key(|range| range.start);
        let mut ranges: Vec<Range<u32>> = Vec::with_capacity(given.len());
        for range in given {
            match ranges.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => ranges.push(range),
            }
        }
        Self { ranges }
    }

    /// Returns whether a node is in the set.
    #[must_use]
    pub fn contains(&self, node: u32) -> bool {
        self.end_of_range(node).is_some()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The end of the range that contains a node; None if the node is not in the set.
    #[must_use]
    pub fn end_of_range(&self, node: u32) -> Option<u32> {
        let at = self.ranges.partition_point(|range| range.end <= node);
        self.ranges.get(at).filter(|range| range.start <= node).map(|range| range.end)
    }

    /// Returns whether all nodes of the set are in the other set.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.ranges.iter().all(|range| {
            let at = other.ranges.partition_point(|wide| wide.end <= range.start);
            other.ranges.get(at).is_some_and(|wide| wide.start <= range.start && range.end <= wide.end)
        })
    }

    /// Returns whether the two sets share a node. O(ranges).
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mut first, mut second) = (self.ranges.iter(), other.ranges.iter());
        let (mut one, mut two) = (first.next(), second.next());
        while let (Some(x), Some(y)) = (one, two) {
            if x.start < y.end && y.start < x.end {
                return true;
            }
            if x.end <= y.end { one = first.next() } else { two = second.next() }
        }
        false
    }

    /// The ranges at or after `from`; a range that contains `from` begins there.
    pub fn ranges_from(&self, from: u32) -> impl Iterator<Item = Range<u32>> {
        let at = self.ranges.partition_point(|range| range.end <= from);
        self.ranges[at..].iter().map(move |range| range.start.max(from)..range.end)
    }
}
