//! Equal nodes with few units of one resource, by load: a bitmap of nodes for each free amount.
//!
//! A change of a node costs O(1). A visit costs O(levels), and for each level that has nodes O(n / 4096) and the nodes visited.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::index::{WORD, ones_of};

use super::node_set::NodeSetId;
use super::node_sets::NodeSets;
use super::request::Request;

/// With more units of the resource, a search tree is cheaper.
const MOST_UNITS: i64 = 256;
/// The level of a node that accepts no job.
const NOWHERE: u32 = u32::MAX;

/// Nodes of one free amount, idle or not.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Level {
    count: u32,
    nodes: Vec<u64>,
    /// Bitmap of the words of `nodes` that are not 0.
    words: Vec<u64>,
}

/// All nodes by free amount of the one resource. Two levels per amount: nodes with jobs, then idle nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoadLevels {
    levels: Vec<Level>,
    level_of: Vec<u32>,
}

impl LoadLevels {
    /// Creates levels for a number of nodes of one capacity, still without any node; None if the capacity has too many
    /// units.
    pub(super) fn new(nodes: usize, capacity: i64) -> Option<Self> {
        if !(1..=MOST_UNITS).contains(&capacity) {
            return None;
        }
        let words = nodes.div_ceil(WORD);
        let level = Level { count: 0, nodes: vec![0; words], words: vec![0; words.div_ceil(WORD)] };
        Some(Self { levels: vec![level; 2 * (capacity as usize + 1)], level_of: vec![NOWHERE; nodes] })
    }

    /// Moves a node to the level of its values: its free amount, and 1 if it is idle, −1 if it is drained, otherwise 0.
    pub(super) fn put(&mut self, node: u32, values: &[i64]) {
        let &[free, state] = values else { return };
        let most = self.levels.len() as i64 / 2 - 1;
        let level = if state < 0 { NOWHERE } else { 2 * free.clamp(0, most) as u32 + u32::from(state > 0) };
        let before = std::mem::replace(&mut self.level_of[node as usize], level);
        if before == level {
            return;
        }
        if before != NOWHERE {
            self.levels[before as usize].remove(node as usize);
        }
        if level != NOWHERE {
            self.levels[level as usize].add(node as usize);
        }
    }

    /// Visits the nodes of the request's set with slots, busiest or least busy first, then by index, until `visit`
    /// returns false.
    pub(super) fn visit(
        &self,
        sets: &NodeSets,
        request: &Request,
        busiest_first: bool,
        visit: &mut dyn FnMut(u32) -> bool,
    ) {
        let amounts = self.levels.len() / 2;
        let least = usize::try_from(request.amounts[0]).unwrap_or(0).min(amounts);
        for step in 0..amounts - least {
            let free = if busiest_first { least + step } else { amounts - 1 - step };
            if !self.visit_level(free, sets, request, visit) {
                return;
            }
        }
    }

    fn visit_level(
        &self,
        free: usize,
        sets: &NodeSets,
        request: &Request,
        visit: &mut dyn FnMut(u32) -> bool,
    ) -> bool {
        let (busy, idle) = (&self.levels[2 * free], &self.levels[2 * free + 1]);
        if idle.count == 0 && (request.exclusive || busy.count == 0) {
            return true;
        }
        let both = if request.exclusive { [idle, idle] } else { [busy, idle] };
        let visit_range = |range: Range<u32>| {
            let range = range.start as usize..range.end as usize;
            visit_both(both, range, visit)
        };
        if request.nodes == NodeSetId::ALL {
            return std::iter::once(0..self.level_of.len() as u32).all(visit_range);
        }
        sets.ranges_from(request.nodes, 0).all(visit_range)
    }
}

impl Level {
    fn add(&mut self, node: usize) {
        self.count += 1;
        self.nodes[node / WORD] |= 1 << (node % WORD);
        self.words[node / WORD / WORD] |= 1 << (node / WORD % WORD);
    }

    fn remove(&mut self, node: usize) {
        self.count -= 1;
        let word = &mut self.nodes[node / WORD];
        *word &= !(1 << (node % WORD));
        if *word == 0 {
            self.words[node / WORD / WORD] &= !(1 << (node / WORD % WORD));
        }
    }
}

/// Visits the nodes of two levels within a range that is not empty, by index; returns whether all were visited.
fn visit_both(both: [&Level; 2], range: Range<usize>, visit: &mut dyn FnMut(u32) -> bool) -> bool {
    let words = range.start / WORD..range.end.div_ceil(WORD);
    for block in words.start / WORD..words.end.div_ceil(WORD) {
        let some = within(both[0].words[block] | both[1].words[block], block, &words);
        for word in ones_of(some).map(|bit| block * WORD + bit) {
            let nodes = within(both[0].nodes[word] | both[1].nodes[word], word, &range);
            if !ones_of(nodes).all(|bit| visit((word * WORD + bit) as u32)) {
                return false;
            }
        }
    }
    true
}

/// Clears the bits of a word outside a range of all bits.
fn within(word: u64, at: usize, range: &Range<usize>) -> u64 {
    let first = at * WORD;
    let from = if range.start > first { u64::MAX << (range.start - first) } else { u64::MAX };
    let until = if range.end < first + WORD { !(u64::MAX << (range.end - first)) } else { u64::MAX };
    word & from & until
}
