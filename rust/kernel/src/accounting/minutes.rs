//! What jobs use over time, as limits count it: what running jobs may still use (Slurm's `GrpTRESRunMins`), and what runs
//! have used and may still use (`GrpTRESMins` under `safe`, without decay).
//!
//! Times are whole microseconds, so that sums are exact in any order. To count a run in or out costs O(log r) for r running
//! jobs of a group; to ask O(1), and O(jobs beyond their limits) for what running jobs may still use.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

const MICROSECONDS_PER_MINUTE: i128 = 60_000_000;

/// A time in whole microseconds, half to even; the greatest number where it is infinite.
#[must_use]
pub fn microseconds(seconds: f64) -> i64 {
    (seconds * 1e6).round_ties_even() as i64
}

/// What is allowed of each resource in minutes, `i64::MAX` for no limit; empty where none is limited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinuteCaps {
    /// What running jobs may still use.
    pub running: Vec<i64>,
    /// What runs may have used, and may still use.
    pub total: Vec<i64>,
}

/// From when to when a job holds what it holds, if it runs to its limit, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// When it took this.
    pub since: i64,
    /// When it reaches its limit.
    pub until: i64,
}

impl Span {
    /// What a job uses that keeps to its limit.
    fn whole(self, amount: i64) -> i128 {
        used(amount, self.since, self.until.max(self.since))
    }
}

/// What a job that is to start would use.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The present time, microseconds.
    pub now: i64,
    /// For how long it may run, microseconds.
    pub time: i64,
}

/// What the runs of one group have used and may still use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minutes {
    of_resource: Vec<Sums>,
    /// What running jobs hold, by when they reach their limits, and slot.
    running: BTreeMap<(i64, u32), Vec<i64>>,
}

/// The sums of one resource, amounts × microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sums {
    /// Past runs by what they used, running jobs as if they kept to their limits.
    total: i128,
    /// What running jobs hold.
    held: i64,
    /// The same, each times the time at which it reaches its limit.
    until: i128,
}

impl Minutes {
    /// A job holds these amounts from now on.
    pub fn begin(&mut self, slot: u32, held: &[i64], span: Span) {
        self.of_resource.resize(held.len().max(self.of_resource.len()), Sums::default());
        for (sums, &held) in self.of_resource.iter_mut().zip(held) {
            sums.total += span.whole(held);
            sums.held += held;
            sums.until += i128::from(held) * i128::from(span.until);
        }
        self.running.insert((span.until, slot), held.to_vec());
    }

    /// A job gives them back.
    pub fn end(&mut self, slot: u32, span: Span, now: i64) {
        let Some(held) = self.running.remove(&(span.until, slot)) else { return };
        for (sums, &held) in self.of_resource.iter_mut().zip(&held) {
            sums.total += used(held, span.since, now) - span.whole(held);
            sums.held -= held;
            sums.until -= i128::from(held) * i128::from(span.until);
        }
    }

    /// Whether nothing runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.of_resource.iter().all(|sums| sums.held == 0 && sums.until == 0)
    }

    /// Whether a job would bring the group beyond what is allowed; `need` gives what it asks of each resource.
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

    /// What running jobs may still use: none of those that are beyond their limits.
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
