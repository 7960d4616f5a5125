//! Use of jobs over time for limits: the remaining use of running jobs (Slurm's `GrpTRESRunMins`), and the past use of
//! runs plus the remaining use (`GrpTRESMins` with `safe`, without decay).
//!
//! Times are integer microseconds, so that sums are exact in any order. Adding or removing a run costs O(log r) for r
//! running jobs of a group; a query O(1), plus O(jobs beyond their time limits) for the remaining use of running jobs.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const MICROSECONDS_PER_MINUTE: i128 = 60_000_000;

/// A time in integer microseconds, rounded half to even; saturates for infinity.
#[must_use]
pub fn microseconds(seconds: f64) -> i64 {
    (seconds * 1e6).round_ties_even() as i64
}

/// Caps of each resource in minutes, `i64::MAX` for no limit; empty if no resource is limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteCaps {
    /// Remaining use of running jobs.
    pub running: Vec<i64>,
    /// Past and remaining use of runs.
    pub total: Vec<i64>,
}

/// The interval in which a job holds its amounts if it runs to its time limit, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The begin of the allocation.
    pub since: i64,
    /// The time at which the job reaches its time limit.
    pub until: i64,
}

impl Span {
    /// The use of a job that runs exactly to its time limit.
    fn whole(self, amount: i64) -> i128 {
        used(amount, self.since, self.until.max(self.since))
    }
}

/// The hypothetical use of a job that is to start.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The present time, microseconds.
    pub now: i64,
    /// The time limit of the job, microseconds.
    pub time: i64,
}

/// The past and remaining use of the runs of one group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minutes {
    of_resource: Vec<Sums>,
    /// The amounts held by running jobs, by the time of their time limit, then slot.
    running: BTreeMap<(i64, u32), Vec<i64>>,
}

/// The sums of one resource, amounts × microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    /// Past runs by their actual use, running jobs as if they ran exactly to their time limits.
    total: i128,
    /// The amounts held by running jobs.
    held: i64,
    /// The sum of the held amounts, each multiplied by the time at which its job reaches the time limit.
    until: i128,
}

impl Minutes {
    /// Adds a job that holds these amounts from now on.
    pub fn begin(&mut self, slot: u32, held: &[i64], span: Span) {
        self.of_resource.resize(held.len().max(self.of_resource.len()), Sums::default());
        for (sums, &held) in self.of_resource.iter_mut().zip(held) {
            sums.total += span.whole(held);
            sums.held += held;
            sums.until += i128::from(held) * i128::from(span.until);
        }
        self.running.insert((span.until, slot), held.to_vec());
    }

    /// Removes a job that releases its amounts.
    pub fn end(&mut self, slot: u32, span: Span, now: i64) {
        let Some(held) = self.running.remove(&(span.until, slot)) else { return };
        for (sums, &held) in self.of_resource.iter_mut().zip(&held) {
            sums.total += used(held, span.since, now) - span.whole(held);
            sums.held -= held;
            sums.until -= i128::from(held) * i128::from(span.until);
        }
    }

    /// Returns whether no job is running.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.of_resource.iter().all(|sums| sums.held == 0 && sums.until == 0)
    }

    /// Returns whether a job would exceed the caps of the group; `need` returns its requested amounts.
    pub fn is_beyond(&self, caps: &MinuteCaps, ask: Ask, need: impl Fn(usize) -> i64) -> bool {
        let exceeds = |allowed: &[i64], used: &dyn Fn(usize) -> i128| {
            allowed.iter().enumerate().any(|(resource, &minutes)| {
                let asked = i128::from(need(resource)) * i128::from(ask.time);
                minutes < i64::MAX && used(resource) + asked > i128::from(minutes) * MICROSECONDS_PER_MINUTE
            })
        };
        exceeds(&caps.running, &|resource| self.left(resource, ask.now))
            || exceeds(&caps.total, &|resource| self.sums(resource).total)
    }

    fn sums(&self, resource: usize) -> Sums {
        self.of_resource.get(resource).copied().unwrap_or_default()
    }

    /// The remaining use of running jobs; 0 for jobs beyond their time limits.
    fn left(&self, resource: usize, now: i64) -> i128 {
        let sums = self.sums(resource);
        let overdue = self.running.range(..=(now, u32::MAX));
        let beyond: i128 = overdue.map(|(&(until, _), held)| used(held[resource], until, now)).sum();
        sums.until - i128::from(sums.held) * i128::from(now) + beyond
    }
}

fn used(amount: i64, since: i64, until: i64) -> i128 {
    i128::from(amount) * (i128::from(until) - i128::from(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000;

    fn is_beyond(minutes: &Minutes, caps: &MinuteCaps, now: i64) -> bool {
        minutes.is_beyond(caps, Ask { now, time: MINUTE }, |_| 1)
    }

    #[test]
    fn what_is_left_falls_with_time_and_what_was_used_stays() {
        let mut minutes = Minutes::default();
        let span = Span { since: 0, until: 10 * MINUTE };
        minutes.begin(7, &[2], span);
        let running = MinuteCaps { running: vec![15], total: Vec::new() };
        assert!(is_beyond(&minutes, &running, 3 * MINUTE - 1));
        assert!(!is_beyond(&minutes, &running, 3 * MINUTE));
        assert!(!is_beyond(&minutes, &running, 30 * MINUTE));
        let total = |minutes| MinuteCaps { running: Vec::new(), total: vec![minutes] };
        assert!(is_beyond(&minutes, &total(20), 0) && !is_beyond(&minutes, &total(21), 0));
        minutes.end(7, span, 4 * MINUTE);
        assert!(minutes.is_idle());
        assert!(is_beyond(&minutes, &total(8), 0) && !is_beyond(&minutes, &total(9), 0));
    }

    #[test]
    fn a_job_without_a_limit_is_beyond_all() {
        let caps = MinuteCaps { running: vec![1_000_000], total: Vec::new() };
        let ask = Ask { now: 0, time: microseconds(f64::INFINITY) };
        assert!(Minutes::default().is_beyond(&caps, ask, |_| 1));
        assert!(!Minutes::default().is_beyond(&caps, ask, |_| 0));
    }
}
