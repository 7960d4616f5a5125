//! Filling nodes with the tasks of one job.
use crate::cluster::{Availability, NodeTasks, PlacementRequest, Ranked};
use crate::random::mix;

/// The tasks of a job that are assigned to nodes one after the other.
pub(super) struct Filling<'a, A> {
    pub(super) room: &'a A,
    pub(super) want: &'a PlacementRequest<'a>,
    pub(super) left: u32,
    pub(super) placement: &'a mut Vec<NodeTasks>,
}

impl<'a, A: Availability> Filling<'a, A> {
    pub(super) fn new(
        room: &'a A,
        want: &'a PlacementRequest<'a>,
        placement: &'a mut Vec<NodeTasks>,
    ) -> Self {
        Self { room, want, left: want.tasks, placement }
    }

    /// Returns whether all tasks have a node.
    pub(super) fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Assigns tasks to a node; returns whether any are left.
    pub(super) fn fill(&mut self, node: u32) -> bool {
        self.fill_up_to(node, u32::MAX)
    }

    /// Like `fill`, with a maximum number of tasks on the node.
    pub(super) fn fill_up_to(&mut self, node: u32, most: u32) -> bool {
        self.put(node, self.room.slots(node, self.want.request).min(most))
    }

    /// Like `fill`, for a node with a known number of slots.
    pub(super) fn put(&mut self, node: u32, slots: u32) -> bool {
        let tasks = slots.min(self.left);
        if tasks > 0 {
            self.placement.push(NodeTasks { node, tasks });
            self.left -= tasks;
        }
        self.left > 0
    }

    pub(super) fn by_index(&mut self, from: u32, until: u32) {
        if self.left > 0 {
            let (room, request) = (self.room, self.want.request);
            room.visit_slots(from..until, request, &mut |node, slots| self.put(node, slots));
        }
    }

    pub(super) fn by_load(&mut self, order: Ranked) {
        let (room, request) = (self.room, self.want.request);
        room.visit_by_load(request, order, &mut |node| self.fill(node));
    }

    pub(super) fn at_random(&mut self, seed: u64) {
        let key = mix(seed, self.want.row);
        let mut nodes = Vec::new();
        self.room.visit_slots(0..self.room.nodes(), self.want.request, &mut |node, _| {
            nodes.push((mix(key, u64::from(node)), node));
            true
        });
        // Each node takes at least one task, so no more nodes than tasks are needed.
        let most = self.left as usize;
        if most > 0 && most < nodes.len() {
            nodes.select_nth_unstable(most);
            nodes.truncate(most);
        }
        nodes.sort_unstable();
        for (_, node) in nodes {
            if !self.fill(node) {
                return;
            }
        }
    }

    /// Fills first the nodes without free critical resources, by index. The others belong to the list of the critical
    /// resource with the greatest free amount: each step takes a node from the longest list, the one with least free.
    pub(super) fn balanced(&mut self, critical: &[usize]) {
        let mut lists = vec![Vec::new(); critical.len()];
        let mut from = 0;
        while let Some(node) = self.room.next_with_slots(from, self.want.request) {
            from = node + 1;
            let mut most = (0, None);
            for (list, &resource) in critical.iter().enumerate() {
                let free = self.room.free_on(node, resource);
                if free > most.0 {
                    most = (free, Some(list));
                }
            }
            match most {
                (free, Some(list)) => lists[list].push((free, node)),
                _ if !self.fill(node) => return,
                _ => {}
            }
        }
        for list in &mut lists {
            // Nodes are popped from the end.
            list.sort_unstable_by(|a, b| b.cmp(a));
        }
        // Among lists of equal length the first is used; `max_by_key` returns the last, hence `rev`.
        while let Some((_, node)) = lists.iter_mut().rev().max_by_key(|list| list.len()).and_then(Vec::pop) {
            if !self.fill(node) {
                return;
            }
        }
    }

    /// Finds the first window of consecutive nodes with enough slots, with two pointers, and fills it.
    pub(super) fn first_window(&mut self) {
        let needed = u64::from(self.left);
        let (mut begin, mut end, mut slots) = (0, 0, 0_u64);
        let (room, request) = (self.room, self.want.request);
        room.visit_slots(0..room.nodes(), request, &mut |node, admitted| {
            if node > end || slots == 0 {
                (begin, slots) = (node, 0);
            }
            end = node + 1;
            slots += u64::from(admitted);
            slots < needed
        });
        if slots >= needed {
            // The window had too few slots before its last node, so `begin` is minimal.
            for node in begin..end {
                self.fill(node);
            }
        }
    }
}
