//! A job that is tried against the plan of conservative as if it started now (S15).
use crate::cluster::{NodeTasks, Request};
use crate::index::NodeBits;

/// The time that a reservation holds.
#[derive(Debug)]
pub(super) struct HeldTime<'a> {
    pub(super) request: &'a Request,
    pub(super) placement: &'a [NodeTasks],
    pub(super) start: f64,
    pub(super) end: f64,
}

/// A job that would start now, on these nodes.
#[derive(Debug)]
pub struct Contender<'a> {
    pub(super) job: u32,
    pub(super) request: &'a Request,
    /// By node.
    pub(super) parts: Vec<NodeTasks>,
    nodes: NodeBits,
}

impl<'a> Contender<'a> {
    /// Create it. O(n log n), n nodes, and a bit for each node up to the last one.
    #[must_use]
    pub fn new(job: u32, request: &'a Request, placement: &[NodeTasks]) -> Self {
        let parts = sorted(placement);
        let length = parts.last().map_or(0, |last| last.node as usize + 1);
        let nodes = NodeBits::of(length, parts.iter().map(|part| part.node));
        Self { job, request, parts, nodes }
    }

    /// Return the same for a job of the same kind.
    #[must_use]
    pub fn of(mut self, job: u32) -> Self {
        self.job = job;
        self
    }

    /// Return its part on a node.
    pub(super) fn part_on(&self, node: u32) -> Option<NodeTasks> {
        if self.nodes.contains(node) { part_on(&self.parts, node) } else { None }
    }
}

/// Return parts by node.
pub(super) fn sorted(placement: &[NodeTasks]) -> Vec<NodeTasks> {
    let mut parts = placement.to_vec();
    parts.sort_unstable_by_key(|part| part.node);
    parts
}

/// Return the part on a node of parts that are sorted by node.
pub(super) fn part_on(parts: &[NodeTasks], node: u32) -> Option<NodeTasks> {
    parts.binary_search_by_key(&node, |part| part.node).ok().map(|at| parts[at])
}
