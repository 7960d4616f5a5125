//! The waiting jobs: in order, with what they need, so that the first job that may fit is found in O(log q).
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cluster::Machine;
use crate::index::ordered_index::{Least, OrderedIndex};

use super::closed::ClosedJobs;
use super::rank::Rank;
use super::request_values::RequestValues;

/// Queued jobs in order; values: one block for each node set, with the estimate as ordered bits and then the least amount
/// of each resource that the job needs in its own sets, and `i64::MAX` in all other blocks. Behind these stand what tells its
/// request (`RequestValues`), and 0 or `i64::MAX` for each partition, where there are several.
///
/// With a block of its own for each set, a search skips jobs of a full set although others have free nodes.
pub type QueueIndex = OrderedIndex<Rank, Least>;

/// How many of a queued job's values say in which partitions it may run: for one partition none.
pub(super) fn partition_values(machine: &Machine) -> usize {
    let count = machine.node_sets().partitions().count();
    if count > 1 { count } else { 0 }
}

/// How many values a queued job has on a machine.
fn width_on(machine: &Machine, requests: RequestValues) -> usize {
    let blocks = machine.node_sets().count() * (machine.resources() + 1);
    blocks + requests.width() + partition_values(machine)
}

/// The jobs that wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobQueue {
    /// Those that rules look at, in order.
    pub index: QueueIndex,
    /// How their values tell their requests.
    requests: RequestValues,
    /// Those that are over a limit, which have a place in the order but stand outside it.
    pub closed: ClosedJobs,
    /// Those that entered the queue since the last pass.
    pub arrived: Vec<u32>,
    /// Those that may not be started until they are released; they are in no order.
    pub on_hold: BTreeSet<u32>,
}

impl JobQueue {
    /// An empty queue on a machine, for any requests.
    #[must_use]
    pub fn new(machine: &Machine) -> Self {
        let requests = RequestValues::of_any(machine.resources());
        Self {
            index: QueueIndex::new(width_on(machine, requests)),
            requests,
            closed: ClosedJobs::default(),
            arrived: Vec::new(),
            on_hold: BTreeSet::new(),
        }
    }

    /// From now on values tell requests in this way. The queue is empty.
    pub(super) fn tell_requests(&mut self, machine: &Machine, requests: RequestValues) {
        (self.index, self.requests) = (QueueIndex::new(width_on(machine, requests)), requests);
    }

    /// How the values of its jobs tell their requests.
    pub(super) fn requests(&self) -> RequestValues {
        self.requests
    }

    /// Number of jobs that are not held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len() + self.closed.len()
    }

    /// Whether no job waits that is not held.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty() && self.closed.is_empty()
    }

    /// Whether no job waits, held or not.
    #[must_use]
    pub fn has_none_waiting(&self) -> bool {
        self.is_empty() && self.on_hold.is_empty()
    }

    /// The first job that rules look at.
    #[must_use]
    pub fn first(&self) -> Option<Rank> {
        self.index.first()
    }

    /// The first job behind `after`, in order, whose values match; `matches` is also asked of the minima of ranges.
    pub fn first_matching(&self, after: Option<&Rank>, matches: &impl Fn(&[i64]) -> bool) -> Option<Rank> {
        self.index.first_matching(after, matches)
    }

    /// The jobs that rules look at, in order. O(q).
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        self.first_jobs(usize::MAX)
    }

    /// The first so many of them. O(number).
    #[must_use]
    pub fn first_jobs(&self, most: usize) -> Vec<u32> {
        let count = self.index.len().min(most);
        let mut queued = Vec::with_capacity(count);
        if count > 0 {
            self.index.visit(&mut |rank: Rank| {
                queued.push(rank.job);
                queued.len() < count
            });
        }
        queued
    }
}
