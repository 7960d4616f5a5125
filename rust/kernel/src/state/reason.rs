//! Why jobs wait (S15).
use std::collections::HashMap;

use crate::cluster::NodeSet;
use crate::workload::Awaited;

use super::{BEYOND_RESERVATION, ClosedPartitions, VICTIM, View};

/// Why a submitted job has not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Reason {
    /// An earlier job waits for nodes that it may use.
    Priority,
    /// It is the first job waiting for its nodes, and they are not free.
    Resources,
    /// It would not fit on the current capacity of its nodes even if no job ran.
    Unavailable,
    /// It is on hold.
    Held,
    /// Its dependencies are not satisfied.
    Dependency,
    /// Its begin time is in the future.
    BeginTime,
    /// The limit of concurrent tasks of its array is reached.
    ArrayLimit,
    /// It could not end within the reservation that it uses.
    Reservation,
    /// It is over this limit.
    Limit(u32),
}

impl Reason {
    /// Reasons with a fixed name, in the order of their numbers.
    pub const NAMED: [(&str, Self); 8] = [
        ("priority", Self::Priority),
        ("resources", Self::Resources),
        ("unavailable", Self::Unavailable),
        ("held", Self::Held),
        ("dependency", Self::Dependency),
        ("begin_time", Self::BeginTime),
        ("array_limit", Self::ArrayLimit),
        ("reservation", Self::Reservation),
    ];

    /// Return the number of the reason: its index in [`Self::NAMED`], or that length plus the number of the limit.
    #[must_use]
    pub fn number(self) -> u32 {
        if let Self::Limit(limit) = self {
            return Self::NAMED.len() as u32 + limit;
        }
        Self::NAMED.iter().position(|&(_, reason)| reason == self).unwrap_or_default() as u32
    }
}

impl View<'_> {
    /// Return why each waiting job waits: queued jobs in order, then jobs on hold by slot.
    ///
    /// O(q · node sets), and O(nodes) for each request if part of the machine is unavailable.
    #[must_use]
    pub fn reasons(self) -> Vec<(u32, Reason)> {
        let queued = self.state.queue.jobs();
        let waits = vec![false; self.scenario.node_sets.count()];
        let mut line = Line { view: self, waits, held_up: ClosedPartitions::default() };
        let mut fits = HashMap::new();
        let mut reasons: Vec<(u32, Reason)> = queued
            .iter()
            .map(|&job| match self.over_limit(job) {
                Some((BEYOND_RESERVATION, _)) => (job, Reason::Reservation),
                Some((VICTIM, _)) => (job, Reason::Priority),
                Some((counter, blocks)) => {
                    if blocks {
                        line.held_up.close_connected(self, job);
                    }
                    (job, Reason::Limit(self.limit_of(counter)))
                }
                None if !self.may_ever_fit(job, &mut fits) => (job, Reason::Unavailable),
                None => (job, line.takes(job)),
            })
            .collect();
        reasons.extend(self.state.queue.on_hold.iter().map(|&job| (job, self.need_of(job))));
        reasons
    }

    /// Return the limit of a counter.
    #[must_use]
    pub fn limit_of(self, counter: u32) -> u32 {
        self.scenario.limits.as_ref().map_or(0, |limits| limits.cap(counter).limit)
    }

    /// Return why a job is not in the queue.
    #[must_use]
    pub fn need_of(self, job: u32) -> Reason {
        let conditions = self.scenario.conditions.as_ref().zip(self.state.conditions.as_ref());
        match conditions.and_then(|(given, state)| state.need_of(given, job, self.now())) {
            None => Reason::Held,
            Some(Awaited::Others) => Reason::Dependency,
            Some(Awaited::Begin) => Reason::BeginTime,
            Some(Awaited::Place) => Reason::ArrayLimit,
        }
    }

    /// Return whether a job would fit on the capacity of its nodes if no job ran; `known` caches the most tasks of each
    /// request.
    fn may_ever_fit(self, job: u32, known: &mut HashMap<u32, u64>) -> bool {
        let machine = &self.state.machine;
        if !machine.has_unavailable() {
            return true;
        }
        let (tasks, nothing) = (u64::from(self.scenario.job(job).tasks), NodeSet::default());
        self.scenario.alternatives(job).iter().any(|&request| {
            let most = known
                .entry(request)
                .or_insert_with(|| machine.most_tasks_offered(self.scenario.requests.get(request), &nothing));
            *most >= tasks
        })
    }
}

/// The jobs processed so far that wait for nodes.
struct Line<'a> {
    view: View<'a>,
    /// By node set: whether some job waits for it.
    waits: Vec<bool>,
    /// Partitions in which an earlier job blocks all.
    held_up: ClosedPartitions,
}

impl Line<'_> {
    /// Add the next job. Return `Resources` if it is the first one for its nodes.
    fn takes(&mut self, job: u32) -> Reason {
        let scenario = self.view.scenario;
        let sets = &scenario.node_sets;
        let own = |request: &u32| scenario.requests.get(*request).nodes;
        let alternatives = scenario.alternatives(job);
        let is_behind = alternatives
            .iter()
            .map(own)
            .any(|set| sets.ids().any(|other| self.waits[other.index()] && sets.overlap(set, other)));
        for set in alternatives.iter().map(own) {
            self.waits[set.index()] = true;
        }
        if is_behind || self.held_up.shut_out(self.view, job) { Reason::Priority } else { Reason::Resources }
    }
}
