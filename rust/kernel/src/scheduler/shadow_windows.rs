//! Free nodes at EASY's shadow time for a head that needs consecutive whole nodes.
//!
//! A whole node is free for the head when all jobs on it have ended. So the head fits when the last of `tasks` adjacent
//! nodes is free, and its shadow time is the minimum of this over all windows: O(n + running jobs and their nodes). The
//! nodes free at that time form a bit set: O(n / 64) for each trial of a later job.
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeSetId, NodeTasks, PlacementRequest, Request};
use crate::index::NodeBits;
use crate::placement::Allocator;
use crate::state::View;

/// The nodes that are free at the shadow time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShadowWindows {
    free: NodeBits,
    /// Time from which each node is free for the head.
    #[serde(skip)]
    free_from: Vec<f64>,
    /// Monotonic queue of the current window: nodes that become free later than all nodes after them.
    #[serde(skip)]
    latest: VecDeque<u32>,
}

impl ShadowWindows {
    /// End running jobs until the head fits. Return this instant, or None if the head does not take whole nodes or if
    /// capacity is unavailable.
    pub fn open(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        head: &PlacementRequest<'_>,
    ) -> Option<f64> {
        if !takes_whole_neighbours(view, allocator, head) {
            return None;
        }
        self.find_when_free(view, head);
        let time = self.first_window(head.tasks);
        let free = (0..).zip(&self.free_from).filter(|&(_, &from)| from <= time);
        self.free = NodeBits::of(self.free_from.len(), free.map(|(node, _)| node));
        Some(time)
    }

    /// Compute when each node has no more jobs that exclude the head.
    fn find_when_free(&mut self, view: View<'_>, head: &PlacementRequest<'_>) {
        self.free_from.clear();
        self.free_from.resize(view.state.machine.nodes() as usize, view.now());
        view.visit_running(&mut |end| {
            if keeps_away(head.request, view.request(end.job)) {
                for part in view.state.jobs.placement(end.job) {
                    // Jobs are visited in the order of their ends: the last one wins.
                    self.free_from[part.node as usize] = end.time.0.max(view.now());
                }
            }
            true
        });
    }

    /// Return the earliest instant at which `tasks` adjacent nodes are free; infinite if there are too few nodes.
    fn first_window(&mut self, tasks: u32) -> f64 {
        let (mut earliest, mut begin) = (f64::INFINITY, 0);
        self.latest.clear();
        for (node, &from) in (0..).zip(&self.free_from) {
            if from >= earliest {
                // No window with this node is free earlier than the best one.
                self.latest.clear();
                begin = node + 1;
                continue;
            }
            while self.latest.back().is_some_and(|&before| self.free_from[before as usize] <= from) {
                self.latest.pop_back();
            }
            self.latest.push_back(node);
            if node + 1 - begin < tasks {
                continue;
            }
            if let Some(&last) = self.latest.front() {
                earliest = self.free_from[last as usize];
                // A better window must not contain this node.
                begin = last + 1;
                self.latest.pop_front();
            }
        }
        earliest
    }

    /// Return whether the head still fits if this placement is occupied beyond the shadow time. If so, record it.
    pub fn take_if_head_fits(
        &mut self,
        head: &PlacementRequest<'_>,
        request: &Request,
        placement: &[NodeTasks],
    ) -> bool {
        if !keeps_away(head.request, request) {
            return true;
        }
        let before = self.free.clone();
        for part in placement {
            self.free.remove_node(part.node);
        }
        let fits = self.free.has_run(head.tasks);
        if !fits {
            self.free = before;
        }
        fits
    }
}

/// Return whether the head cannot use a node with a task of another job.
fn keeps_away(head: &Request, other: &Request) -> bool {
    head.exclusive || other.exclusive || other.amounts[0] > 0
}

/// Return whether a job takes only consecutive nodes, each with its whole single resource, on a machine of equal nodes.
fn takes_whole_neighbours(view: View<'_>, allocator: &Allocator, head: &PlacementRequest<'_>) -> bool {
    let machine = &view.state.machine;
    allocator.takes_neighbours()
        && head.order.is_none()
        && head.calendar.is_none()
        && head.request.nodes == NodeSetId::ALL
        && machine.resources() == 1
        && !machine.has_unavailable()
        && machine.capacity().iter().all(|&capacity| capacity > 0 && capacity == head.request.amounts[0])
}
