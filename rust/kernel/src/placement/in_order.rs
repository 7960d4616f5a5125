//! Filling nodes in a given order: from its head, its end, or the heads of its blocks (S22).
//!
//! O(k log n) from the head and from the end, O(f log n) for windows and blocks, for f feasible nodes. For blocks of
//! equal nodes that a job uses entirely, O(k) and, for each of b blocks, O(n / 4096).
use crate::cluster::{Availability, NodeOrder};
use crate::index::CountedBits;

use super::blocks::Blocks;
use super::filling::Filling;

/// A feasible node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) place: u32,
    pub(super) node: u32,
    pub(super) slots: u64,
}

impl<A: Availability> Filling<'_, A> {
    /// Fills nodes from the head.
    pub(super) fn in_order(&mut self, order: &NodeOrder) {
        let mut from = 0;
        while self.left > 0
            && let Some(next) = self.candidate(order, from)
        {
            self.fill(next.node);
            from = next.place + 1;
        }
    }

    /// Fills the last sufficient nodes, in order.
    pub(super) fn last_in_order(&mut self, order: &NodeOrder) {
        let (mut until, mut slots, mut nodes) = (order.end(), 0_u64, Vec::new());
        while slots < u64::from(self.left)
            && let Some(place) = self.room.previous_place(order, until, self.want.request)
        {
            until = place;
            if let Some(node) = order.node_at(place) {
                slots += u64::from(self.room.slots(node, self.want.request));
                nodes.push(node);
            }
        }
        for node in nodes.into_iter().rev() {
            self.fill(node);
        }
    }

    /// Fills nodes from the head, or from the end if the job needs at least this number of nodes from the head.
    pub(super) fn dual_end_by_nodes(&mut self, order: &NodeOrder, threshold: f64) {
        let tasks = self.left;
        self.in_order(order);
        if self.placement.len() as f64 >= threshold {
            self.placement.clear();
            self.left = tasks;
            self.last_in_order(order);
        }
    }

    /// Fills the heads of the blocks into which the feasible nodes, or all nodes, are cut.
    ///
    /// Uses the number of nodes that the head of the order would need; one more at a time while the chosen nodes admit
    /// too few tasks.
    pub(super) fn blocks(&mut self, order: &NodeOrder, cut: Blocks) {
        let room = self.room;
        if let Some(places) = room.whole_places(self.want.request) {
            return self.blocks_of_whole(order, cut, places);
        }
        let list = self.candidates(order);
        let before = |place: usize| list.partition_point(|each| (each.place as usize) < place);
        let Some(mut count) = sufficient(list.iter(), u64::from(self.left)) else { return };
        loop {
            let heads = cut.heads(order.nodes() as usize, list.len(), count, before);
            let chosen = || heads.iter().flat_map(|head| &list[head.clone()]);
            if sufficient(chosen(), u64::from(self.left)).is_some() {
                for each in chosen() {
                    self.fill(each.node);
                }
                return;
            }
            count += 1;
        }
    }

    /// Like `blocks`, if each node of the list admits the same number of tasks, and the list is counted: O(n / 4096)
    /// for each block.
    fn blocks_of_whole(&mut self, order: &NodeOrder, cut: Blocks, places: &CountedBits) {
        let first = places.from_number(0).next().and_then(|place| order.node_at(place as u32));
        let each = first.map_or(0, |node| self.room.slots(node, self.want.request));
        let list = places.count();
        if each == 0 || self.left.div_ceil(each) as usize > list {
            return;
        }
        let before = |place: usize| places.count_before(place);
        for head in cut.heads(order.nodes() as usize, list, self.left.div_ceil(each) as usize, before) {
            for place in places.from_number(head.start).take(head.len()) {
                if let Some(node) = order.node_at(place as u32) {
                    self.put(node, each);
                }
            }
        }
    }

    /// Fills the first sufficient window of nodes that are consecutive in the order.
    pub(super) fn first_window_in_order(&mut self, order: &NodeOrder) {
        let needed = u64::from(self.left);
        let (mut window, mut slots) = (Vec::new(), 0_u64);
        let mut end = 0;
        while let Some(next) = self.candidate(order, end) {
            if next.place > end {
                window.clear();
                slots = 0;
            }
            end = next.place + 1;
            slots += next.slots;
            window.push(next);
            if slots < needed {
                continue;
            }
            // Without the last node the window had too few slots, so its start is minimal.
            for each in window {
                self.fill(each.node);
            }
            return;
        }
    }

    fn candidate(&self, order: &NodeOrder, from: u32) -> Option<Candidate> {
        let place = self.room.next_place(order, from, self.want.request)?;
        let node = order.node_at(place)?;
        Some(Candidate { place, node, slots: u64::from(self.room.slots(node, self.want.request)) })
    }

    /// All feasible nodes, in order.
    pub(super) fn candidates(&self, order: &NodeOrder) -> Vec<Candidate> {
        let mut list = Vec::new();
        let mut from = 0;
        while let Some(next) = self.candidate(order, from) {
            from = next.place + 1;
            list.push(next);
        }
        list
    }
}

/// Number of first candidates that suffice for the tasks; None if all do not.
fn sufficient<'a>(candidates: impl Iterator<Item = &'a Candidate>, tasks: u64) -> Option<usize> {
    let mut slots = 0;
    for (at, each) in candidates.enumerate() {
        slots += each.slots;
        if slots >= tasks {
            return Some(at + 1);
        }
    }
    None
}
