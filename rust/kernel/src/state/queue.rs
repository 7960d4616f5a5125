//! The waiting jobs in order, with their needs, so that the first job that may fit is found in O(log q).
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cluster::Machine;
use crate::index::ordered_index::{Least, OrderedIndex};

use super::closed::ClosedJobs;
use super::rank::Rank;
use super::request_values::RequestValues;

/// Queued jobs in order. Values: one block for each node set, with the estimate as ordered bits and the minimum amount
/// of each resource that the job needs in its node sets, or `i64::MAX` in the blocks of other sets. Then the values of
/// its request (`RequestValues`), and 0 or `i64::MAX` for each partition if there are several.
///
/// Because each set has its own block, a search skips jobs of a full set although others have free nodes.
pub type QueueIndex = OrderedIndex<Rank, Least>;

/// Return the number of queue values for partitions: 0 with a single partition.
pub(super) fn partition_values(machine: &Machine) -> usize {
    let count = machine.node_sets().partitions().count();
    if count > 1 { count } else { 0 }
}

/// Return the number of queue values of a job on a machine.
fn width_on(machine: &Machine, requests: RequestValues) -> usize {
    let blocks = machine.node_sets().count() * (machine.resources() + 1);
    blocks + requests.width() + partition_values(machine)
}

/// The waiting jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobQueue {
    /// Jobs that rules examine, in order.
    pub index: QueueIndex,
    /// Encoding of requests in their values.
    requests: RequestValues,
    /// Jobs over a limit: they have a position in the order but are kept outside it.
    pub closed: ClosedJobs,
    /// Jobs that entered the queue since the last pass.
    pub arrived: Vec<u32>,
    /// Jobs that may not start until they are released; they have no order.
    pub on_hold: BTreeSet<u32>,
}

impl JobQueue {
    /// Create an empty queue on a machine, for any requests.
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

    /// Set the encoding of requests. The queue must be empty.
    pub(super) fn tell_requests(&mut self, machine: &Machine, requests: RequestValues) {
        (self.index, self.requests) = (QueueIndex::new(width_on(machine, requests)), requests);
    }

    /// Return the encoding of requests.
    pub(super) fn requests(&self) -> RequestValues {
        self.requests
    }

    /// Return the number of waiting jobs that are not on hold.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len() + self.closed.len()
    }

    /// Return whether all waiting jobs are on hold, or there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.index.is_empty() && self.closed.is_empty()
    }

    /// Return whether no job waits, on hold or not.
    #[must_use]
    pub fn has_none_waiting(&self) -> bool {
        self.is_empty() && self.on_hold.is_empty()
    }

    /// Return the first job that rules examine.
    #[must_use]
    pub fn first(&self) -> Option<Rank> {
        self.index.first()
    }

    /// Return the first job behind `after`, in order, with matching values. `matches` is also called with the minima of
    /// ranges.
    pub fn first_matching(&self, after: Option<&Rank>, matches: &impl Fn(&[i64]) -> bool) -> Option<Rank> {
        self.index.first_matching(after, matches)
    }

    /// Return the jobs that rules examine, in order. O(q).
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        self.first_jobs(usize::MAX)
    }

    /// Return the first `most` of them. O(their number).
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
