//! Jobs over a limit, kept outside the queue order, by the counter that closed them and by kind.
//!
//! Jobs of one kind have equal chances to start, and their relative order is constant: of the jobs closed by a counter,
//! the first of each kind represents all. So a closed job needs no key before it is opened, and a calculation of
//! priorities costs nothing for it. Closing or opening a job costs O(log kinds of its counter), unless jobs are opened
//! out of order: then O(closed jobs of the kind).
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

use super::rank::Rank;

/// Pseudo-counter of jobs that could not end within the reservation that they use.
pub const BEYOND_RESERVATION: u32 = u32::MAX;

/// Pseudo-counter of victims that wait for the job for which they gave up their nodes.
pub const VICTIM: u32 = u32::MAX - 1;

/// Marks a job without counter.
const OPEN: u32 = u32::MAX - 2;

/// Properties that give jobs equal chances and a constant relative order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind {
    /// Index of the list of counters; jobs of one list have equal priority factors.
    pub list: u32,
    /// Request in the first node set.
    pub request: u32,
    /// Index of the list of requests in all node sets.
    pub alternatives: u32,
    /// Number of tasks.
    pub tasks: u32,
    /// The estimate, as ordered bits.
    pub estimate: i64,
    /// The requested time, as ordered bits.
    pub requested_time: i64,
    /// The time limit, as ordered bits.
    pub time_limit: i64,
    /// A unique number for a job with a priority that may overtake others of its kind; otherwise 0.
    pub apart: u32,
}

/// The closed jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClosedJobs {
    /// By counter; the last entry is for the pseudo-counters. The ranks of one kind are in order.
    groups: Vec<BTreeMap<Kind, VecDeque<Rank>>>,
    /// By slot: the counter that closed the job.
    counter_of: SharedColumn<u32>,
    count: usize,
    /// Kept to reuse the memory.
    #[serde(skip)]
    vacant: Vec<VecDeque<Rank>>,
}

impl ClosedJobs {
    /// Create the collection for this many counters, without closed jobs.
    #[must_use]
    pub fn new(counters: usize) -> Self {
        Self { groups: vec![BTreeMap::new(); counters + 1], ..Self::default() }
    }

    /// Share the per-job data with the next clone.
    pub fn share(&mut self) {
        self.counter_of.share();
    }

    /// Return the number of closed jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Return whether no job is closed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Return whether a job is closed.
    #[must_use]
    pub fn contains(&self, job: u32) -> bool {
        self.counter_of(job).is_some()
    }

    /// Return all closed jobs, in no particular order.
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        self.groups.iter().flat_map(BTreeMap::values).flatten().map(|place| place.job).collect()
    }

    /// Close a job by a counter. `place` must order jobs of one kind as the queue does.
    pub(super) fn close(&mut self, counter: u32, kind: Kind, place: Rank) {
        self.counter_of.extend_to(place.job as usize + 1, &OPEN);
        *self.counter_of.get_mut(place.job as usize) = counter;
        self.count += 1;
        let at = self.group(counter);
        let vacant = &mut self.vacant;
        let places = self.groups[at].entry(kind).or_insert_with(|| vacant.pop().unwrap_or_default());
        // Most jobs are closed in queue order, or are the first one again after having been opened.
        if places.back().is_none_or(|last| *last < place) {
            places.push_back(place);
        } else {
            let behind = places.partition_point(|each| *each < place);
            places.insert(behind, place);
        }
    }

    /// Open a job of this kind and place. Return false if this counter had not closed it.
    pub(super) fn open(&mut self, counter: u32, kind: &Kind, place: &Rank) -> bool {
        let at = self.group(counter);
        let Some(places) = self.groups[at].get_mut(kind) else { return false };
        if places.front() == Some(place) {
            places.pop_front();
        } else {
            let Ok(found) = places.binary_search(place) else { return false };
            places.remove(found);
        }
        if places.is_empty() {
            self.vacant.extend(self.groups[at].remove(kind));
        }
        *self.counter_of.get_mut(place.job as usize) = OPEN;
        self.count -= 1;
        true
    }

    /// Return the place of the first job of a kind that this counter closed.
    pub(super) fn first(&self, counter: u32, kind: &Kind) -> Option<Rank> {
        self.groups[self.group(counter)].get(kind)?.front().copied()
    }

    /// Append the first job of each kind that this counter closed, or all of them, to `found`.
    pub(super) fn firsts(&self, counter: u32, all: bool, found: &mut Vec<(Kind, Rank)>) {
        for (kind, places) in &self.groups[self.group(counter)] {
            let taken = if all { places.len() } else { 1 };
            found.extend(places.iter().take(taken).map(|place| (*kind, *place)));
        }
    }

    /// Return whether this counter closed no job.
    pub(super) fn has_none_of(&self, counter: u32) -> bool {
        self.groups[self.group(counter)].is_empty()
    }

    /// Return the counter that closed a job.
    pub(super) fn counter_of(&self, job: u32) -> Option<u32> {
        let is_known = self.count > 0 && (job as usize) < self.counter_of.len();
        is_known.then(|| *self.counter_of.get(job as usize)).filter(|&counter| counter != OPEN)
    }

    fn group(&self, counter: u32) -> usize {
        if counter >= VICTIM { self.groups.len() - 1 } else { counter as usize }
    }
}
