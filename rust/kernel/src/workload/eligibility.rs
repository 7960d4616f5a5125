//! What a job waits for between its submission and the queue: other jobs, its begin time, a place in its array.
//!
//! O(log n) per job and event, n jobs that wait so; nothing where no job does.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::time::Time;

use super::dependencies::{Consequences, Dependencies, DependencyState};

/// The array of a job that is in none, or in one without a limit.
pub const NO_ARRAY: u32 = u32::MAX;
/// The gate of a begin time; other gates are the numbers of needs.
const BEGIN: u32 = u32::MAX;

/// What is given.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conditions {
    /// Which jobs wait for which.
    pub dependencies: Dependencies,
    /// The earliest start by slot, seconds; empty where no job has one.
    pub begin_times: Vec<f64>,
    /// By slot, the array and the index in it; empty where no array has a limit.
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

/// What a job waits for outside the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// Other jobs.
    Others,
    /// Its begin time.
    Begin,
    /// A place in its array.
    Place,
}

/// How far it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConditionState {
    dependencies: DependencyState,
    /// Submitted jobs that are not eligible.
    waiting: BTreeSet<u32>,
    /// Those that are held by a decision besides, also once they are eligible.
    held: BTreeSet<u32>,
    /// When gates open: the time, the job, the gate; and the same by job.
    gates: BTreeSet<(Time, u32, u32)>,
    gates_of: BTreeSet<(u32, u32, Time)>,
    /// How many more tasks of each array may be in the queue or run.
    free: SharedColumn<u32>,
    /// The jobs that have a place in their array.
    placed: BTreeSet<u32>,
    /// Those that wait for one: array, index, job.
    in_line: BTreeSet<(u32, u32, u32)>,
}

impl ConditionState {
    /// Nothing has happened; `limits` are those of the arrays.
    #[must_use]
    pub fn new(dependencies: DependencyState, limits: &[u32]) -> Self {
        Self { dependencies, free: limits.iter().copied().collect(), ..Self::default() }
    }

    /// Lets the next clone share what does not change.
    pub fn share(&mut self) {
        self.dependencies.share();
        self.free.share();
    }

    /// Whether a submitted job is not eligible.
    #[must_use]
    pub fn waits(&self, job: u32) -> bool {
        self.waiting.contains(&job)
    }

    /// Whether a job can never start.
    #[must_use]
    pub fn is_hopeless(&self, job: u32) -> bool {
        self.dependencies.is_hopeless(job)
    }

    /// Holds a job that is not eligible, also once it is.
    pub fn hold(&mut self, job: u32) {
        self.held.insert(job);
    }

    /// Ends such a hold; whether there was one.
    pub fn release(&mut self, job: u32) -> bool {
        self.held.remove(&job)
    }

    /// Whether a job is held besides.
    #[must_use]
    pub fn is_held(&self, job: u32) -> bool {
        self.held.contains(&job)
    }

    /// What a job waits for; None where it does not, or is held besides.
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

    /// When the next gate opens; [`Time::NEVER`] where none does.
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.gates.first().map_or(Time::NEVER, |&(time, _, _)| time)
    }

    /// Takes a job that is submitted; whether it is eligible at once.
    pub fn submit(&mut self, given: &Conditions, job: u32, now: Time) -> bool {
        self.waiting.insert(job);
        if let Some(begin) = given.begin_time(job).filter(|&begin| begin > now) {
            self.set_gate(begin, job, BEGIN);
        }
        self.becomes_eligible(given, job, now)
    }

    /// Whether a waiting job is eligible now; it takes its place in its array.
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

    /// A job starts: the jobs about which that decides.
    pub fn started(&mut self, given: &Conditions, job: u32, now: Time) -> Vec<u32> {
        let follows = self.dependencies.started(&given.dependencies, job);
        self.taken(follows, now)
    }

    /// A job is over: the jobs about which that decides, the next of its array among them.
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

    /// Opens the gates that are due: the jobs about which that may decide, by row.
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

    /// A job waits no more: nothing is left of what it waited for.
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
