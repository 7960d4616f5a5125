//! Free amounts of all nodes as bitmaps: for each step of the totals, resource and level, the nodes where at least this
//! amount is free.
//!
//! The minimum over a time is the conjunction of its rows. The slots of all nodes are the bits set in the planes at
//! multiples of the amount per task. A change costs O(steps · levels) for each 64 nodes of the job. Levels cannot
//! represent negative amounts: if nodes are overcommitted, the profile is converted to rows of amounts.
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cluster::node_set::NodeSetId;
use crate::cluster::node_sets::NodeSets;
use crate::cluster::request::Request;
use crate::index::WORD;

use super::grid::Grid;
use super::held::Held;

/// With more levels of all resources together, rows of amounts are cheaper.
const MOST_LEVELS: i64 = 16;

/// A longer row takes too much memory: each step has one row of up to 64 KiB.
const MOST_WORDS: usize = 8192;

/// The nodes with each free amount, for each step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Levels {
    /// Words per plane: one bit per node.
    words: usize,
    /// The first plane of each resource, which is the plane of level 1; the last element is the number of planes.
    first: Vec<usize>,
    /// The nodes of each node set.
    sets: Vec<u64>,
    /// The row of the empty machine.
    offered: Vec<u64>,
    grid: Grid<u64>,
    /// Scratch space: the amounts that a change subtracts or adds.
    #[serde(skip)]
    changes: Vec<Masked>,
}

/// An amount of a resource that changes on some nodes of one word.
#[derive(Clone, Copy, Debug)]
struct Masked {
    /// The position of the word of level 1 in a row, and the number of levels.
    at: u32,
    levels: u32,
    amount: u32,
    nodes: u64,
}

impl Levels {
    /// Creates levels of one row: the available amounts of the nodes, node-major. None if there are too many levels.
    pub(super) fn new(
        resources: usize,
        capacity: &[i64],
        offered: &[i64],
        node_sets: &NodeSets,
    ) -> Option<Self> {
        let most =
            |resource: usize| capacity.iter().skip(resource).step_by(resources).copied().max().unwrap_or(0);
        let levels: Vec<i64> = (0..resources).map(most).collect();
        if levels.iter().fold(0_i64, |sum, &levels| sum.saturating_add(levels)) > MOST_LEVELS {
            return None;
        }
        let mut first = vec![0];
        for levels in levels {
            first.push(first[first.len() - 1] + levels as usize);
        }
        let words = (offered.len() / resources).div_ceil(WORD);
        if words * first[resources] > MOST_WORDS {
            return None;
        }
        let mut row = vec![0; words * first[resources]];
        for (node, amounts) in offered.chunks_exact(resources).enumerate() {
            for (resource, &amount) in amounts.iter().enumerate() {
                for level in 0..amount as usize {
                    row[(first[resource] + level) * words + node / WORD] |= 1 << (node % WORD);
                }
            }
        }
        let grid = Grid::new(std::slice::from_ref(&row));
        let mut sets = vec![0; words * node_sets.count()];
        for set in node_sets.ids() {
            for node in node_sets.nodes_from(set, 0) {
                sets[set.index() * words + node as usize / WORD] |= 1 << (node as usize % WORD);
            }
        }
        Some(Self { words, first, sets, offered: row, grid, changes: Vec::new() })
    }

    /// The rows.
    pub(super) fn grid_mut(&mut self) -> &mut Grid<u64> {
        &mut self.grid
    }

    /// Number of resources.
    pub(super) fn resources(&self) -> usize {
        self.first.len() - 1
    }

    /// Words of a plane.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// Number of steps.
    pub(super) fn steps(&self) -> usize {
        self.grid.steps()
    }

    /// The rows, each a plane for each level of each resource.
    pub(super) fn grid(&self) -> &Grid<u64> {
        &self.grid
    }

    /// All planes of a step.
    #[inline]
    pub(super) fn row(&self, step: usize) -> &[u64] {
        self.grid.row(step)
    }

    /// The nodes of a set.
    pub(super) fn nodes_of(&self, set: NodeSetId) -> &[u64] {
        &self.sets[set.block(self.words)]
    }

    /// The planes of a resource, from level 1 on.
    pub(super) fn planes(&self, resource: usize) -> Range<usize> {
        self.first[resource]..self.first[resource + 1]
    }

    /// The number of all planes.
    pub(super) fn count(&self) -> usize {
        self.first[self.first.len() - 1]
    }

    /// The plane of the nodes where this amount (> 0) of a resource is free; None if no node ever has this amount.
    #[inline]
    pub(super) fn plane_of(&self, resource: usize, amount: i64) -> Option<usize> {
        let planes = self.planes(resource);
        usize::try_from(amount)
            .ok()
            .filter(|&amount| amount <= planes.len())
            .map(|amount| planes.start + amount - 1)
    }

    /// The nodes of a word that have slots for a number of tasks in some planes, by amounts only.
    #[inline]
    pub(super) fn with_slots(&self, planes: &[u64], request: &Request, tasks: i64, word: usize) -> u64 {
        let mut nodes = u64::MAX;
        for (resource, &amount) in request.amounts.iter().enumerate() {
            if amount > 0 {
                let plane = self.plane_of(resource, amount.saturating_mul(tasks));
                nodes &= plane.map_or(0, |plane| planes[plane * self.words + word]);
            }
        }
        nodes
    }

    /// The nodes of a word without any held amount, by some planes.
    pub(super) fn idle(&self, planes: &[u64], word: usize) -> u64 {
        let planes = self.offered.iter().zip(planes).skip(word).step_by(self.words);
        !planes.fold(0, |lost, (offered, free)| lost | offered & !free)
    }

    /// The free amount of a resource on a node, by some planes.
    pub(super) fn amount(&self, planes: &[u64], node: u32, resource: usize) -> i64 {
        let (word, bit) = (node as usize / WORD, node as usize % WORD);
        self.planes(resource).map(|plane| (planes[plane * self.words + word] >> bit & 1) as i64).sum()
    }

    /// Subtracts or adds the amounts that a job holds in all steps of a range. Returns false, and changes nothing, if
    /// levels cannot represent the result.
    pub(super) fn change(&mut self, steps: Range<usize>, held: &[Held], sign: i64) -> bool {
        let mut changes = std::mem::take(&mut self.changes);
        changes.clear();
        let has_levels = held.iter().all(|held| self.note(&mut changes, held));
        let is_done = has_levels && (sign > 0 || self.take_away(steps.clone(), &changes));
        if is_done && sign > 0 {
            self.give_back(steps, &changes);
        }
        self.changes = changes;
        is_done
    }

    /// Subtracts the amounts that a job holds in all steps of a range; those that would be negative become 0. Returns
    /// false, and changes nothing, if the job holds no resource on some node.
    pub(super) fn lower_all(&mut self, steps: Range<usize>, held: &[Held]) -> bool {
        let mut changes = std::mem::take(&mut self.changes);
        changes.clear();
        let has_levels = held.iter().all(|held| self.note(&mut changes, held));
        for change in changes.iter().filter(|_| has_levels) {
            self.grid.visit_mut(steps.clone(), |row| {
                change.lower(row, self.words);
                true
            });
        }
        self.changes = changes;
        has_levels
    }

    /// Records the amount held on one node; returns false if the job holds nothing there. O(1) if nodes come in
    /// ascending order.
    fn note(&self, changes: &mut Vec<Masked>, held: &Held) -> bool {
        let is_known = (held.plane as usize) < self.resources();
        if is_known {
            let new = self.masked(held.node, held.plane as usize, held.amount);
            match changes.iter_mut().rev().find(|other| (other.at, other.amount) == (new.at, new.amount)) {
                Some(same) => same.nodes |= new.nodes,
                None => changes.push(new),
            }
        }
        is_known
    }

    #[inline]
    fn masked(&self, node: u32, resource: usize, amount: i64) -> Masked {
        let planes = self.planes(resource);
        Masked {
            at: (planes.start * self.words + node as usize / WORD) as u32,
            levels: planes.len() as u32,
            amount: u32::try_from(amount).unwrap_or(u32::MAX),
            nodes: 1 << (node as usize % WORD),
        }
    }

    fn give_back(&mut self, steps: Range<usize>, changes: &[Masked]) {
        for change in changes {
            self.grid.visit_mut(steps.clone(), |row| {
                change.raise(row, self.words);
                true
            });
        }
    }

    /// Returns false, and changes nothing, if an amount would become negative.
    fn take_away(&mut self, steps: Range<usize>, changes: &[Masked]) -> bool {
        let first = steps.start;
        for (number, change) in changes.iter().enumerate() {
            let done = self.grid.visit_mut(steps.clone(), |row| {
                let is_there = change.is_there(row, self.words);
                if is_there {
                    change.lower(row, self.words);
                }
                is_there
            });
            if done < steps.len() {
                self.give_back(first..first + done, &changes[number..=number]);
                self.give_back(steps, &changes[..number]);
                return false;
            }
        }
        true
    }

    /// Subtracts from planes the amount that a job holds on a node; amounts that would be negative become 0.
    pub(super) fn lower(&self, planes: &mut [u64], node: u32, resource: usize, amount: i64) {
        self.masked(node, resource, amount).lower(planes, self.words);
    }
}

impl Masked {
    /// Returns whether this amount is free on all of the nodes.
    #[inline]
    fn is_there(&self, row: &[u64], words: usize) -> bool {
        self.amount <= self.levels
            && self.nodes & !row[self.at as usize + (self.amount as usize - 1) * words] == 0
    }

    /// The words of the levels in a row.
    fn levels_in<'a>(&self, row: &'a mut [u64], words: usize) -> impl Iterator<Item = &'a mut u64> {
        row[self.at as usize..].iter_mut().step_by(words).take(self.levels as usize)
    }

    #[inline]
    fn lower(&self, row: &mut [u64], words: usize) {
        if self.amount >= self.levels {
            self.levels_in(row, words).for_each(|word| *word &= !self.nodes);
            return;
        }
        let (at, amount, levels) = (self.at as usize, self.amount as usize, self.levels as usize);
        for level in 0..levels {
            let from = if level + amount < levels { row[at + (level + amount) * words] } else { 0 };
            let word = &mut row[at + level * words];
            *word = *word & !self.nodes | from & self.nodes;
        }
    }

    #[inline]
    fn raise(&self, row: &mut [u64], words: usize) {
        if self.amount >= self.levels {
            self.levels_in(row, words).for_each(|word| *word |= self.nodes);
            return;
        }
        let (at, amount) = (self.at as usize, self.amount as usize);
        for level in (0..self.levels as usize).rev() {
            let from = if level >= amount { row[at + (level - amount) * words] } else { u64::MAX };
            let word = &mut row[at + level * words];
            *word = *word & !self.nodes | from & self.nodes;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Nodes with up to three units; more nodes than a word has bits.
    const NODES: usize = 70;

    fn levels(offered: &[i64]) -> Levels {
        Levels::new(1, offered, offered, &NodeSets::whole(NODES as u32)).expect("few levels")
    }

    proptest! {
        #[test]
        fn amounts_are_what_is_not_held(
            offered in prop::collection::vec(0..4_i64, NODES),
            jobs in prop::collection::vec((prop::collection::btree_map(0..NODES as u32, 1..4_i64, 1..20), any::<bool>(), any::<bool>()), 1..12),
        ) {
            let mut levels = levels(&offered);
            let mut free = offered.clone();
            let mut running: Vec<Vec<Held>> = Vec::new();
            for (nodes, is_cut, ends) in jobs {
                let mut held: Vec<Held> = nodes.iter().map(|(&node, &amount)| Held { node, plane: 0, amount }).collect();
                if is_cut {
                    // Few jobs of many nodes fit without this filter.
                    held.retain(|held| held.amount <= free[held.node as usize]);
                }
                let fits = held.iter().all(|held| held.amount <= free[held.node as usize]);
                prop_assert_eq!(levels.change(0..1, &held, -1), fits);
                if fits {
                    for held in &held {
                        free[held.node as usize] -= held.amount;
                    }
                    running.push(held);
                }
                if ends && let Some(held) = running.pop() {
                    prop_assert!(levels.change(0..1, &held, 1));
                    for held in &held {
                        free[held.node as usize] += held.amount;
                    }
                }
                let row = levels.row(0);
                let found: Vec<i64> = (0..NODES as u32).map(|node| levels.amount(row, node, 0)).collect();
                prop_assert_eq!(&found, &free);
                for node in 0..NODES {
                    let is_idle = levels.idle(row, node / WORD) >> (node % WORD) & 1 == 1;
                    prop_assert_eq!(is_idle, free[node] == offered[node]);
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_changes_no_step() {
        let mut levels = levels(&[2; NODES]);
        levels.grid_mut().split(0);
        let one = [Held { node: 65, plane: 0, amount: 1 }];
        let both = [Held { node: 65, plane: 0, amount: 2 }];
        assert!(levels.change(1..2, &one, -1));
        assert!(!levels.change(0..2, &both, -1));
        assert_eq!([0, 1].map(|step| levels.amount(levels.row(step), 65, 0)), [2, 1]);
        assert!(!levels.change(0..1, &[Held { node: 0, plane: 1, amount: 1 }], -1));
    }
}
