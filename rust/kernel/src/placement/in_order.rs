//! Filling nodes in an order of their own: from its head, its end, or the heads of its blocks (S22).
//!
//! With f feasible nodes: O(k log n) from the head and from the end, O(f log n) for windows and blocks. For blocks of equal
//! nodes that a job takes whole it is O(k) and, for each of b blocks, O(n / 4096).
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
    /// From the head.
    pub(super) fn in_order(&mut self, order: &NodeOrder) {
        let mut from = 0;
        while self.left > 0
            && let Some(next) = self.candidate(order, from)
        {
            self.fill(next.node);
            from = next.place + 1;
        }
    }

    /// The last nodes that suffice, in order.
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

    /// From the head; from the end where that takes so many nodes.
    pub(super) fn dual_end_by_nodes(&mut self, order: &NodeOrder, threshold: f64) {
        let tasks = self.left;
        self.in_order(order);
        if self.placement.len() as f64 >= threshold {
            self.placement.clear();
            self.left = tasks;
            self.last_in_order(order);
        }
    }

    /// The heads of the blocks into which the feasible nodes are cut, or those into which all nodes are.
    ///
    /// As many nodes as the head of the order would take; one more, and so on, where the chosen ones admit fewer tasks.
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

    /// The same where each node of the list admits as many tasks, and the list is counted: O(n / 4096) for each block.
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

    /// The first window of nodes that follow one another in the order and suffice.
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
            // It was not enough one node ago, so it begins as low as it can.
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

    /// All feasible nodes, in the order.
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

/// How many of the first candidates suffice for so many tasks; None where all do not.
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
