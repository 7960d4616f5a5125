//! What will be free at EASY's shadow time where only consecutive nodes will do, each of them whole.
//!
//! A node that the head takes whole is free for it once all jobs there are over. So the head fits once the last of as many
//! neighbours as it has tasks is free, and its shadow time is the least of that over all windows: O(n + running jobs and their
//! nodes). What a later job leaves of the nodes free then is a row of bits: O(n / 64) for each trial.
use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeSetId, NodeTasks, PlacementRequest, Request};
use crate::index::WORD;
use crate::placement::Allocator;
use crate::state::View;

/// The nodes that will be free at the shadow time.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShadowWindows {
    free: Vec<u64>,
    /// When each node is free for the head.
    #[serde(skip)]
    free_from: Vec<f64>,
    /// The nodes of the window that ends last that no later one outlasts, the last to be free first.
    #[serde(skip)]
    latest: VecDeque<u32>,
}

impl ShadowWindows {
    /// Lets running jobs end until the head fits: that instant. None where it does not take nodes whole, or where something is
    /// unavailable.
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
        self.free.clear();
        self.free.resize(self.free_from.len().div_ceil(WORD), 0);
        for (node, &from) in self.free_from.iter().enumerate() {
            self.free[node / WORD] |= u64::from(from <= time) << (node % WORD);
        }
        Some(time)
    }

    /// From when on each node has nothing that keeps the head away.
    fn find_when_free(&mut self, view: View<'_>, head: &PlacementRequest<'_>) {
        self.free_from.clear();
        self.free_from.resize(view.state.machine.nodes() as usize, view.now());
        view.visit_running(&mut |end| {
            if keeps_away(head.request, view.request(end.job)) {
                for part in view.state.jobs.placement(end.job) {
                    // They come in the order of their ends.
                    self.free_from[part.node as usize] = end.time.0.max(view.now());
                }
            }
            true
        });
    }

    /// The earliest instant at which so many neighbours are free; infinite where there are not so many.
    fn first_window(&mut self, tasks: u32) -> f64 {
        let (mut earliest, mut begin) = (f64::INFINITY, 0);
        self.latest.clear();
        for (node, &from) in (0..).zip(&self.free_from) {
            if from >= earliest {
                // No window with this node is free earlier.
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
                // The next window has to do without it.
                begin = last + 1;
                self.latest.pop_front();
            }
        }
        earliest
    }

    /// Whether the head still fits if this placement stays taken beyond the shadow time; if so, it does.
    pub fn spare(&mut self, head: &PlacementRequest<'_>, request: &Request, placement: &[NodeTasks]) -> bool {
        if !keeps_away(head.request, request) {
            return true;
        }
        let before = self.free.clone();
        for part in placement {
            self.free[part.node as usize / WORD] &= !(1 << (part.node as usize % WORD));
        }
        let fits = has_run(&self.free, head.tasks);
        if !fits {
            self.free = before;
        }
        fits
    }
}

/// Whether the head cannot use a node on which there is a task of another job.
fn keeps_away(head: &Request, other: &Request) -> bool {
    head.exclusive || other.exclusive || other.amounts[0] > 0
}

/// Whether a job takes neighbours only, of each all that there is of the one resource, on a machine of equal nodes.
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

/// Whether so many neighbours are set, which is at least one.
fn has_run(words: &[u64], length: u32) -> bool {
    let mut run = 0;
    for &word in words {
        let mut left = word;
        let mut bits = WORD as u32;
        while bits > 0 {
            let ones = (!left).trailing_zeros().min(bits);
            run += ones;
            if run >= length {
                return true;
            }
            if ones == bits {
                break;
            }
            left >>= ones;
            bits -= ones;
            let zeros = left.trailing_zeros().min(bits);
            run = 0;
            left = left.checked_shr(zeros).unwrap_or(0);
            bits -= zeros;
        }
    }
    run >= length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_go_over_words() {
        let words = [0b0111 | 1 << 63, 0b11, u64::MAX, 1];
        assert!(has_run(&words, 65));
        assert!(!has_run(&words, 66));
        assert!(has_run(&words[..2], 3));
        assert!(!has_run(&words[..2], 4));
        assert!(has_run(&[u64::MAX, u64::MAX], 128));
        assert!(!has_run(&[0], 1));
    }
}
