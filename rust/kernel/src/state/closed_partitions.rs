//! The partitions closed in a pass, and their nodes (S11).
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSet, PlacementRequest};
use crate::placement::Allocator;

use super::View;

/// Partitions that are closed for the rest of a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClosedPartitions {
    /// By partition; empty if none is closed.
    closed: Vec<bool>,
    /// Nodes of the closed partitions: jobs of other partitions cannot use them either.
    nodes: NodeSet,
    /// True if an open partition has lost nodes.
    cuts: bool,
}

impl ClosedPartitions {
    /// Open all partitions for the next pass.
    pub fn clear(&mut self) {
        if !self.closed.is_empty() {
            *self = Self::default();
        }
    }

    /// Returns whether no partition is closed.
    #[must_use]
    pub fn has_none(&self) -> bool {
        self.closed.is_empty()
    }

    /// Returns whether all partitions are closed.
    #[must_use]
    pub fn has_all(&self) -> bool {
        !self.closed.is_empty() && self.closed.iter().all(|&closed| closed)
    }

    /// The nodes of the closed partitions.
    #[must_use]
    pub fn nodes(&self) -> &NodeSet {
        &self.nodes
    }

    /// Returns whether a partition is closed.
    #[must_use]
    pub fn has(&self, partition: u32) -> bool {
        self.closed.get(partition as usize).is_some_and(|&closed| closed)
    }

    /// Return the open partitions; none if no partition was closed.
    pub fn open(&self) -> impl Iterator<Item = usize> {
        (0..self.closed.len()).filter(|&partition| !self.closed[partition])
    }

    /// Returns whether all partitions of a job are closed.
    #[must_use]
    pub fn shut_out(&self, view: View<'_>, job: u32) -> bool {
        let partition = |&request: &u32| view.scenario.requests.get(request).in_partition;
        !self.has_none() && view.scenario.alternatives(job).iter().map(partition).all(|each| self.has(each))
    }

    /// Returns the requests of a job in its open partitions, without closed nodes.
    pub fn requests<'a>(
        &'a self,
        view: View<'a>,
        job: u32,
    ) -> impl Iterator<Item = PlacementRequest<'a>> + Clone {
        let closed = self.cuts.then_some(&self.nodes);
        let alternatives = view.scenario.alternatives(job).iter();
        let wants = alternatives.map(move |&request| view.placement_request_of(job, request));
        wants
            .filter(|want| !self.has(want.request.in_partition))
            .map(move |want| PlacementRequest { closed, ..want })
    }

    /// Closes the partitions of a job. A job with several partitions closes those in which it would fit if they were empty.
    pub fn close(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) {
        let is_one = view.scenario.alternatives(job).len() == 1;
        for want in view.placement_requests(job) {
            let partition = want.request.in_partition;
            if !self.has(partition) && (is_one || allocator.fits_when_empty(&view.state.machine, &want)) {
                self.close_one(view, partition);
            }
        }
        self.close_those_without_nodes(view);
    }

    /// Closes the partitions of a job and all partitions that are connected with them.
    pub fn close_connected(&mut self, view: View<'_>, job: u32) {
        let partitions = view.scenario.node_sets.partitions();
        let connected = view.connected_of(job);
        for partition in 0..partitions.count() as u32 {
            if connected.contains(&partitions.connected_with(partition)) {
                self.close_one(view, partition);
            }
        }
        self.close_those_without_nodes(view);
    }

    fn close_one(&mut self, view: View<'_>, partition: u32) {
        let partitions = view.scenario.node_sets.partitions();
        self.closed.resize(partitions.count(), false);
        self.closed[partition as usize] = true;
        if let Some(own) = partitions.nodes(partition) {
            self.nodes = NodeSet::new(self.nodes.ranges_from(0).chain(own.ranges_from(0)));
        }
    }

    /// Close partitions that have only closed nodes. O(partitions · ranges).
    fn close_those_without_nodes(&mut self, view: View<'_>) {
        let partitions = view.scenario.node_sets.partitions();
        self.cuts = false;
        for (number, closed) in self.closed.iter_mut().enumerate().filter(|(_, closed)| !**closed) {
            if let Some(own) = partitions.nodes(number as u32) {
                *closed = own.is_within(&self.nodes);
                self.cuts |= !*closed && own.overlaps(&self.nodes);
            }
        }
    }
}
