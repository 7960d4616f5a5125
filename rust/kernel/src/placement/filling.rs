//! The filling of nodes with the tasks of one job.
use crate::cluster::{Availability, NodeTasks, PlacementRequest, Ranked};
use crate::random::mix;

/// Tasks on their way to nodes.
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

    /// Whether all tasks have a node.
    pub(super) fn is_complete(&self) -> bool {
        self.left == 0
    }

    /// Puts tasks on a node; whether any are left.
    pub(super) fn fill(&mut self, node: u32) -> bool {
        self.fill_up_to(node, u32::MAX)
    }

    /// The same with so many tasks on it at most.
    pub(super) fn fill_up_to(&mut self, node: u32, most: u32) -> bool {
        self.put(node, self.room.slots(node, self.want.request).min(most))
    }

    /// The same on a node that is known to admit so many.
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
        // Each takes a task at least, so that no more of them are needed than there are tasks.
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

    /// Nodes with nothing free of the critical resources, by index; then the others, which belong each to the critical
    /// resource of which they have most free: one from the longest list after the other, least free first.
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
            // The next one is taken from the end.
            list.sort_unstable_by(|a, b| b.cmp(a));
        }
        // Of lists of one length the first is taken, and `max_by_key` gives the last.
        while let Some((_, node)) = lists.iter_mut().rev().max_by_key(|list| list.len()).and_then(Vec::pop) {
            if !self.fill(node) {
                return;
            }
        }
    }

    /// Finds the first window of consecutive nodes with enough slots, by two pointers, and fills it.
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
            // The window begins as low as it can; it was not enough one node ago, so `begin` is the lowest.
            for node in begin..end {
                self.fill(node);
            }
        }
    }
}
