//! Filling nodes in an order of their own: from its head, its end, or the heads of its blocks (S22).
//!
//! With f feasible nodes: O(k log n) from the head and from the end, O(f log n) for blocks and windows.
use crate::cluster::{Availability, NodeOrder};

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
    pub(super) fn blocks(&mut self, order: &NodeOrder, blocks: u32, are_fixed: bool) {
        let list = self.candidates(order);
        let Some(mut count) = sufficient(list.iter(), u64::from(self.left)) else { return };
        loop {
            let chosen = if are_fixed {
                heads_of_fixed(&list, order.nodes(), count, blocks)
            } else {
                heads(&list, count, blocks)
            };
            if sufficient(chosen.iter(), u64::from(self.left)).is_some() {
                for each in chosen {
                    self.fill(each.node);
                }
                return;
            }
            count += 1;
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

/// The size of a part of so many things that are cut into `parts`: the first ones are one larger.
fn part(things: usize, parts: usize, at: usize) -> usize {
    things / parts + usize::from(at < things % parts)
}

/// Cuts list and number into as many parts: of each part of the list the head.
fn heads(list: &[Candidate], count: usize, blocks: u32) -> Vec<Candidate> {
    let blocks = blocks as usize;
    let mut chosen = Vec::with_capacity(count);
    let mut begin = 0;
    for block in 0..blocks.min(list.len()) {
        chosen.extend(&list[begin..begin + part(count, blocks, block)]);
        begin += part(list.len(), blocks, block);
    }
    chosen
}

/// The same with parts of all nodes. What a part lacks are the first nodes of the list that are left.
fn heads_of_fixed(list: &[Candidate], nodes: u32, count: usize, blocks: u32) -> Vec<Candidate> {
    let blocks = blocks as usize;
    let mut is_chosen = vec![false; list.len()];
    let (mut missing, mut at, mut end) = (count, 0, 0);
    for block in 0..blocks.min(nodes as usize) {
        let mut wanted = part(count, blocks, block);
        end += part(nodes as usize, blocks, block);
        while at < list.len() && (list[at].place as usize) < end {
            if wanted > 0 {
                is_chosen[at] = true;
                wanted -= 1;
                missing -= 1;
            }
            at += 1;
        }
    }
    for chosen in is_chosen.iter_mut().filter(|chosen| !**chosen).take(missing) {
        *chosen = true;
    }
    list.iter().zip(is_chosen).filter(|(_, chosen)| *chosen).map(|(each, _)| *each).collect()
}
