//! Filling nodes with the tasks of one job.
use crate::cluster::{Availability, NodeTasks, PlacementRequest};

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
}
