//! Conditions between submission and the queue: dependencies, the begin time, and the limit of a job array.
//!
//! O(log n) per job and event for n jobs with such conditions; no cost without them.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::time::Time;

use super::dependencies::{Consequences, Dependencies, DependencyState};

/// Array number of a job that is in no array, or in one without a limit.
pub const NO_ARRAY: u32 = u32::MAX;
/// Gate number of a begin time; other gates are the numbers of needs.
const BEGIN: u32 = u32::MAX;

/// The conditions in the input.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conditions {
    /// The dependencies among jobs.
    pub dependencies: Dependencies,
    /// The earliest start by slot, seconds; empty if no job has one.
    pub begin_times: Vec<f64>,
    /// By slot, the array and the index in it; empty if no array has a limit.
    pub places: Vec<(u32, u32)>,
}

impl Conditions {
    fn begin_time(&self, job: u32) -> Option<Time> {
        self.begin_times.get(job as usize).map(|&time| Time(time))
    }

    fn place(&self, job: u32) -> Option<(u32, u32)> {
        self.places.get(job as usize).copied().filter(|&(array, _)| array != NO_ARRAY)
    }
}

/// The condition for which a job waits outside the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Other jobs.
    Others,
    /// Its begin time.
    Begin,
    /// A place in its array.
    Place,
}

/// Progress of the conditions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConditionState {
    dependencies: DependencyState,
    /// Submitted jobs that are not eligible.
    waiting: BTreeSet<u32>,
    /// Jobs that are also held by a decision, which remains in force when they become eligible.
    held: BTreeSet<u32>,
    /// Opening times of gates as (time, job, gate), and as (job, gate, time).
    gates: BTreeSet<(Time, u32, u32)>,
    gates_of: BTreeSet<(u32, u32, Time)>,
    /// Number of further tasks of each array that may be in the queue or run.
    free: SharedColumn<u32>,
    /// The jobs that have a place in their array.
    placed: BTreeSet<u32>,
    /// The jobs that wait for a place: array, index, job.
    in_line: BTreeSet<(u32, u32, u32)>,
}

impl ConditionState {
    /// Creates the initial state; `limits` are the limits of the arrays.
    #[must_use]
    pub fn new(dependencies: DependencyState, limits: &[u32]) -> Self {
        Self { dependencies, free: limits.iter().copied().collect(), ..Self::default() }
    }

    /// Prepares a clone that shares unchanged parts.
    pub fn share(&mut self) {
        self.dependencies.share();
        self.free.share();
    }

    /// Returns whether a submitted job is not eligible.
    #[must_use]
    pub fn waits(&self, job: u32) -> bool {
        self.waiting.contains(&job)
    }

    /// Returns whether a job can never start.
    #[must_use]
    pub fn can_never_start(&self, job: u32) -> bool {
        self.dependencies.can_never_start(job)
    }

    /// Holds a job that is not eligible; the hold remains in force when it becomes eligible.
    pub fn hold(&mut self, job: u32) {
        self.held.insert(job);
    }

    /// Ends such a hold; returns whether the job was held.
    pub fn release(&mut self, job: u32) -> bool {
        self.held.remove(&job)
    }

    /// Returns whether a job is held by a decision.
    #[must_use]
    pub fn is_held(&self, job: u32) -> bool {
        self.held.contains(&job)
    }

    /// The condition for which a job waits; None if it waits for none, or is held by a decision.
    #[must_use]
    pub fn need_of(&self, given: &Conditions, job: u32, now: f64) -> Option<Awaited> {
        if self.held.contains(&job) || !self.waiting.contains(&job) {
            None
        } else if !self.dependencies.is_met(job) {
            Some(Awaited::Others)
        } else if given.begin_time(job).is_some_and(|begin| begin > Time(now)) {
            Some(Awaited::Begin)
        } else {
            Some(Awaited::Place)
        }
    }

    /// The time at which the next gate opens; [`Time::NEVER`] if no gate is closed.
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.gates.first().map_or(Time::NEVER, |&(time, _, _)| time)
    }

    /// Adds a submitted job; returns whether it is eligible immediately.
    pub fn submit(&mut self, given: &Conditions, job: u32, now: Time) -> bool {
        self.waiting.insert(job);
        if let Some(begin) = given.begin_time(job).filter(|&begin| begin > now) {
            self.set_gate(begin, job, BEGIN);
        }
        self.becomes_eligible(given, job, now)
    }

    /// Returns whether a waiting job is eligible now; if so, occupies its place in its array.
    pub fn becomes_eligible(&mut self, given: &Conditions, job: u32, now: Time) -> bool {
        let is_open = self.waiting.contains(&job)
            && self.dependencies.is_met(job)
            && given.begin_time(job).is_none_or(|begin| begin <= now);
        if !is_open {
            return false;
        }
        if let Some((array, index)) = given.place(job) {
            let free = self.free.get_mut(array as usize);
            if *free == 0 {
                self.in_line.insert((array, index, job));
                return false;
            }
            *free -= 1;
            self.placed.insert(job);
        }
        self.waiting.remove(&job)
    }

    /// Records the start of a job; returns the jobs affected by it.
    pub fn started(&mut self, given: &Conditions, job: u32, now: Time) -> Vec<u32> {
        let follows = self.dependencies.started(&given.dependencies, job);
        self.taken(follows, now)
    }

    /// Records the end of a job; returns the jobs affected by it, including the next of its array.
    pub fn ended(&mut self, given: &Conditions, job: u32, completed: bool, now: Time) -> Vec<u32> {
        self.forget(given, job);
        let follows = self.dependencies.ended(&given.dependencies, job, completed);
        let mut decided = self.taken(follows, now);
        if let Some((array, _)) = given.place(job).filter(|_| self.placed.remove(&job)) {
            *self.free.get_mut(array as usize) += 1;
            let next = self.in_line.range((array, 0, 0)..(array + 1, 0, 0)).next().copied();
            if let Some(next) = next {
                self.in_line.remove(&next);
                decided.push(next.2);
            }
        }
        decided
    }

    /// Opens the due gates; returns the jobs that may be affected, in order of time and row.
    pub fn open_gates(&mut self, given: &Conditions, now: Time) -> Vec<u32> {
        let mut decided = Vec::new();
        while let Some(&(time, job, gate)) = self.gates.first().filter(|next| next.0 <= now) {
            self.gates.remove(&(time, job, gate));
            self.gates_of.remove(&(job, gate, time));
            let met =
                if gate == BEGIN { Some(job) } else { self.dependencies.meet(&given.dependencies, gate) };
            decided.extend(met);
        }
        decided
    }

    fn taken(&mut self, follows: Consequences, now: Time) -> Vec<u32> {
        for (job, need, delay) in follows.delayed {
            self.set_gate(Time(now.0 + delay), job, need);
        }
        follows.decided
    }

    fn set_gate(&mut self, time: Time, job: u32, gate: u32) {
        self.gates.insert((time, job, gate));
        self.gates_of.insert((job, gate, time));
    }

    /// Removes all conditions of a job that no longer waits.
    fn forget(&mut self, given: &Conditions, job: u32) {
        self.held.remove(&job);
        if self.waiting.remove(&job)
            && let Some((array, index)) = given.place(job)
        {
            self.in_line.remove(&(array, index, job));
        }
        while let Some(&gate) = self.gates_of.range((job, 0, Time(f64::NEG_INFINITY))..).next()
            && gate.0 == job
        {
            self.gates_of.remove(&gate);
            self.gates.remove(&(gate.2, job, gate.1));
        }
    }
}
