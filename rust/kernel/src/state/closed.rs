//! Jobs over a limit: out of the order of the queue, by the counter that closed them and by kind.
//!
//! Jobs of one kind have the same chance to start, and their order among themselves stays: of those that a counter closed,
//! the first of each kind stands for all. So no key of a closed job is needed before it is opened, and a calculation of
//! priorities costs nothing for it. To close or open a job costs O(log kinds of its counter), except where jobs are opened
//! in another order than their own: O(closed jobs of the kind) then.
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

use super::rank::Rank;

/// Stands for a counter where a job could not end within the reservation that it uses.
pub const OUT_OF_TIME: u32 = u32::MAX;

/// Stands for a counter where a victim waits for the job for which it gave up its nodes.
pub const FALLEN: u32 = u32::MAX - 1;

/// Stands for no counter.
const OPEN: u32 = u32::MAX - 2;

/// What jobs have in common that have the same chance, and whose order among themselves stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kind {
    /// The list of counters; jobs of one list have the same factors of the priority.
    pub list: u32,
    /// The request in the first node set.
    pub request: u32,
    /// The requests in all of the node sets.
    pub alternatives: u32,
    /// The tasks.
    pub tasks: u32,
    /// The estimate, as ordered bits.
    pub estimate: i64,
    /// The requested time, as ordered bits.
    pub requested_time: i64,
    /// The limit, as ordered bits.
    pub time_limit: i64,
    /// A number of its own for a job whose priority may overtake that of others of its kind; else 0.
    pub apart: u32,
}

/// The closed jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClosedJobs {
    /// By counter; the last one for jobs that are out of time. Places of one kind in order.
    groups: Vec<BTreeMap<Kind, VecDeque<Rank>>>,
    /// By slot: the counter that closed the job.
    counter_of: SharedColumn<u32>,
    count: usize,
    /// Kept for their memory alone.
    #[serde(skip)]
    vacant: Vec<VecDeque<Rank>>,
}

impl ClosedJobs {
    /// No job is closed by one of so many counters.
    #[must_use]
    pub fn new(counters: usize) -> Self {
        Self { groups: vec![BTreeMap::new(); counters + 1], ..Self::default() }
    }

    /// Lets the next clone share what is kept of single jobs.
    pub fn share(&mut self) {
        self.counter_of.share();
    }

    /// Number of closed jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no job is closed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a job is closed.
    #[must_use]
    pub fn contains(&self, job: u32) -> bool {
        self.counter_of(job).is_some()
    }

    /// All closed jobs, in no order.
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        self.groups.iter().flat_map(BTreeMap::values).flatten().map(|place| place.job).collect()
    }

    /// Closes a job by a counter; `place` has to order jobs of one kind as the queue does.
    pub(super) fn close(&mut self, counter: u32, kind: Kind, place: Rank) {
        self.counter_of.extend_to(place.job as usize + 1, &OPEN);
        *self.counter_of.get_mut(place.job as usize) = counter;
        self.count += 1;
        let at = self.group(counter);
        let vacant = &mut self.vacant;
        let places = self.groups[at].entry(kind).or_insert_with(|| vacant.pop().unwrap_or_default());
        // Most are closed in order, and the first again that was opened last.
        if places.back().is_none_or(|last| *last < place) {
            places.push_back(place);
        } else {
            let behind = places.partition_point(|each| *each < place);
            places.insert(behind, place);
        }
    }

    /// Opens a job of this kind and place, which this counter closed; whether it had.
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

    /// The place of the first job of a kind that this counter closed.
    pub(super) fn first(&self, counter: u32, kind: &Kind) -> Option<Rank> {
        self.groups[self.group(counter)].get(kind)?.front().copied()
    }

    /// Puts into `found` the first job of each kind that this counter closed; or all of them.
    pub(super) fn firsts(&self, counter: u32, all: bool, found: &mut Vec<(Kind, Rank)>) {
        for (kind, places) in &self.groups[self.group(counter)] {
            let taken = if all { places.len() } else { 1 };
            found.extend(places.iter().take(taken).map(|place| (*kind, *place)));
        }
    }

    /// Whether this counter closed no job.
    pub(super) fn has_none_of(&self, counter: u32) -> bool {
        self.groups[self.group(counter)].is_empty()
    }

    /// The counter that closed a job.
    pub(super) fn counter_of(&self, job: u32) -> Option<u32> {
        let is_known = self.count > 0 && (job as usize) < self.counter_of.len();
        is_known.then(|| *self.counter_of.get(job as usize)).filter(|&counter| counter != OPEN)
    }

    fn group(&self, counter: u32) -> usize {
        if counter >= FALLEN { self.groups.len() - 1 } else { counter as usize }
    }
}
