//! Limits: the amounts that the jobs of a user, an account, a queue or another group may have at the same time.
//!
//! Each group of a limit has one counter. Every job has a list of counters, which jobs share. Adding or removing a job,
//! and checking it against its limits, costs O(its counters × resources).
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::workload::LimitedQuantity;

use super::minutes::{Ask, MinuteCaps, Minutes, Span};

/// The caps of one counter. Amounts: one for each resource, then the number of nodes; `i64::MAX` for no limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cap {
    /// The number of its limit; several counters share one limit.
    pub limit: u32,
    /// Maximum number of running jobs.
    pub running: u32,
    /// Maximum number of waiting and running jobs.
    pub submitted: u32,
    /// Maximum amounts held by running jobs.
    pub amounts: Vec<i64>,
    /// Maximum requested time of a job, seconds.
    pub time: f64,
    /// Maximum use over time.
    pub minutes: MinuteCaps,
    /// True if a job over the limit blocks the jobs behind it.
    pub blocks: bool,
}

impl Cap {
    /// Sets or removes the cap of a quantity; returns whether it changes.
    fn set(&mut self, quantity: LimitedQuantity, value: Option<f64>) -> bool {
        let count = value.map_or(u32::MAX, |value| value as u32);
        let amount = value.map_or(i64::MAX, |value| value as i64);
        let of = |amounts: &mut Vec<i64>, place: u32| {
            amounts.get_mut(place as usize).is_some_and(|most| std::mem::replace(most, amount) != amount)
        };
        match quantity {
            LimitedQuantity::RunningJobs => std::mem::replace(&mut self.running, count) != count,
            LimitedQuantity::SubmittedJobs => std::mem::replace(&mut self.submitted, count) != count,
            LimitedQuantity::Time => {
                let seconds = Time(value.unwrap_or(f64::INFINITY));
                Time(std::mem::replace(&mut self.time, seconds.0)) != seconds
            }
            LimitedQuantity::Amount(place) => of(&mut self.amounts, place),
            LimitedQuantity::RunningMinutes(place) => of(&mut self.minutes.running, place),
            LimitedQuantity::TotalMinutes(place) => of(&mut self.minutes.total, place),
        }
    }
}

/// The limits of a scenario, and the counters of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    caps: Vec<Cap>,
    some_block: bool,
    counts_minutes: bool,
    /// By counter: true if it limits amounts.
    has_amounts: Vec<bool>,
    /// By slot: the index of its list of counters.
    of_job: Vec<u32>,
    lists: Vec<Vec<u32>>,
    /// By slot: the least number of nodes of the job.
    least_nodes: Vec<u32>,
}

impl Limits {
    /// Creates limits from `caps` by counter and, for each slot, the index of its list of counters, and its least
    /// number of nodes.
    #[must_use]
    pub fn new(caps: Vec<Cap>, of_job: Vec<u32>, lists: Vec<Vec<u32>>, least_nodes: Vec<u32>) -> Self {
        let some_block = caps.iter().any(|cap| cap.blocks);
        let counts_minutes = caps.iter().any(|cap| cap.minutes != MinuteCaps::default());
        let has_amounts = caps.iter().map(|cap| cap.amounts.iter().any(|&most| most < i64::MAX)).collect();
        Self { caps, some_block, counts_minutes, has_amounts, of_job, lists, least_nodes }
    }

    /// Returns whether any limit blocks the jobs behind a job over the limit.
    #[must_use]
    pub fn some_block(&self) -> bool {
        self.some_block
    }

    /// Returns whether any limit counts use over time.
    #[must_use]
    pub fn counts_minutes(&self) -> bool {
        self.counts_minutes
    }

    /// Number of counters.
    #[must_use]
    pub fn counters_in_all(&self) -> usize {
        self.caps.len()
    }

    /// The counters of a job.
    #[must_use]
    pub fn counters(&self, slot: u32) -> &[u32] {
        let list = self.of_job.get(slot as usize).and_then(|&list| self.lists.get(list as usize));
        list.map_or(&[], Vec::as_slice)
    }

    /// The index of a job's list of counters: jobs with the same list count equally.
    #[must_use]
    pub fn list_of(&self, slot: u32) -> u32 {
        self.of_job.get(slot as usize).copied().unwrap_or_default()
    }

    /// Splits the lists such that jobs with the same list also have the same `value`. O(jobs).
    pub fn split_lists(&mut self, value: impl Fn(u32) -> u64) {
        let (mut numbers, mut lists) = (HashMap::new(), Vec::new());
        // Adjacent jobs are often equal.
        let mut latest = None;
        for (slot, list) in self.of_job.iter_mut().enumerate() {
            let own = (*list, value(slot as u32));
            let number = match latest {
                Some((before, number)) if before == own => number,
                _ => *numbers.entry(own).or_insert_with(|| {
                    lists.push(self.lists[own.0 as usize].clone());
                    lists.len() as u32 - 1
                }),
            };
            latest = Some((own, number));
            *list = number;
        }
        self.lists = lists;
    }

    /// The initial caps of a counter.
    #[must_use]
    pub fn cap(&self, counter: u32) -> &Cap {
        &self.caps[counter as usize]
    }

    /// Returns whether a counter limits the number of nodes.
    #[must_use]
    pub fn caps_nodes(&self, counter: u32) -> bool {
        self.cap(counter).amounts.last().is_some_and(|&most| most < i64::MAX)
    }

    /// Returns whether a counter limits the number of running jobs.
    #[must_use]
    pub fn caps_jobs(&self, counter: u32) -> bool {
        self.caps.get(counter as usize).is_none_or(|cap| cap.running < u32::MAX)
    }

    /// The least number of nodes of a job.
    #[must_use]
    pub fn least_nodes(&self, slot: u32) -> i64 {
        self.least_nodes.get(slot as usize).copied().map_or(1, i64::from)
    }
}

/// The counts of the jobs of one counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    running: u32,
    submitted: u32,
    /// Counted if the cap limits amounts.
    amounts: Vec<i64>,
    minutes: Minutes,
}

impl Count {
    fn is_idle(&self) -> bool {
        let Self { running, submitted, amounts, minutes } = self;
        *running == 0 && *submitted == 0 && amounts.iter().all(|&amount| amount == 0) && minutes.is_idle()
    }
}

/// The counts of jobs for all limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitCounts {
    counts: Vec<Count>,
    /// The current caps, after an external event has changed them.
    changed: Option<Vec<Cap>>,
}

impl LimitCounts {
    /// Creates zero counts, with this number of amounts.
    #[must_use]
    pub fn new(limits: &Limits, amounts: usize) -> Self {
        let nothing = Count { amounts: vec![0; amounts], ..Count::default() };
        Self { counts: vec![nothing; limits.caps.len()], changed: None }
    }

    /// Returns whether no job waits or runs.
    #[must_use]
    pub fn are_idle(&self) -> bool {
        self.counts.iter().all(Count::is_idle)
    }

    /// Changes a limit's cap of a quantity, or removes it; returns whether it changes. The first change costs
    /// O(counters).
    pub fn set_cap(
        &mut self,
        limits: &Limits,
        limit: u32,
        quantity: LimitedQuantity,
        value: Option<f64>,
    ) -> bool {
        let caps = self.changed.get_or_insert_with(|| limits.caps.clone());
        let mut applied = false;
        for cap in caps.iter_mut().filter(|cap| cap.limit == limit) {
            applied |= cap.set(quantity, value);
        }
        applied
    }

    /// The current cap of a counter.
    fn cap<'a>(&'a self, limits: &'a Limits, counter: u32) -> &'a Cap {
        &self.changed.as_ref().unwrap_or(&limits.caps)[counter as usize]
    }

    /// Counts a job that is submitted (1), or no longer waits or runs (−1); returns false if a count is out of range.
    pub fn submit(&mut self, limits: &Limits, slot: u32, sign: i32) -> bool {
        let mut adds_up = true;
        for &counter in limits.counters(slot) {
            adds_up &= add_to(&mut self.counts[counter as usize].submitted, sign);
        }
        adds_up
    }

    /// Counts the amounts that a job allocates (1) or releases (−1); returns false if a count is out of range.
    pub fn hold(&mut self, limits: &Limits, slot: u32, held: &[i64], sign: i32) -> bool {
        let mut adds_up = true;
        for &counter in limits.counters(slot) {
            let count = &mut self.counts[counter as usize];
            adds_up &= add_to(&mut count.running, sign);
            if !limits.has_amounts[counter as usize] {
                continue;
            }
            for (amount, held) in count.amounts.iter_mut().zip(held) {
                *amount += held * i64::from(sign);
                adds_up &= *amount >= 0;
            }
        }
        adds_up
    }

    /// Counts the use of these amounts by a job up to its time limit.
    pub fn begin_minutes(&mut self, limits: &Limits, slot: u32, held: &[i64], span: Span) {
        for &counter in limits.counters(slot) {
            self.counts[counter as usize].minutes.begin(slot, held, span);
        }
    }

    /// Replaces the use up to the time limit by the actual use of a job that ends.
    pub fn end_minutes(&mut self, limits: &Limits, slot: u32, span: Span, now: i64) {
        for &counter in limits.counters(slot) {
            self.counts[counter as usize].minutes.end(slot, span, now);
        }
    }

    /// The first of a job's counters that refuses its submission with this requested time, seconds.
    #[must_use]
    pub fn refuses_submission(&self, limits: &Limits, slot: u32, time: f64) -> Option<u32> {
        let is_refused = |&counter: &u32| {
            let cap = self.cap(limits, counter);
            self.counts[counter as usize].submitted >= cap.submitted || time > cap.time
        };
        limits.counters(slot).iter().copied().find(is_refused)
    }

    /// The first of a job's counters that refuses its start; `need` returns the requested amounts.
    #[must_use]
    pub fn refuses_start(
        &self,
        limits: &Limits,
        slot: u32,
        ask: Ask,
        need: impl Fn(usize) -> i64,
    ) -> Option<u32> {
        let is_over = |&counter: &u32| {
            let (count, cap) = (&self.counts[counter as usize], self.cap(limits, counter));
            let mut amounts = count.amounts.iter().zip(&cap.amounts).enumerate();
            let is_beyond = |(amount, (used, most)): (usize, (&i64, &i64))| {
                *most < i64::MAX && used.saturating_add(need(amount)) > *most
            };
            let may_be_beyond = limits.has_amounts[counter as usize];
            count.running >= cap.running
                || (may_be_beyond && amounts.any(is_beyond))
                || (limits.counts_minutes && count.minutes.is_beyond(&cap.minutes, ask, &need))
        };
        limits.counters(slot).iter().copied().find(is_over)
    }
}

/// Adds to a count; returns false, and changes nothing, if the result is out of range.
fn add_to(count: &mut u32, sign: i32) -> bool {
    match count.checked_add_signed(sign) {
        Some(sum) => {
            *count = sum;
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_nothing_when_all_have_left_and_say_where_more_leave_than_came() {
        let cap = Cap {
            limit: 0,
            running: 2,
            submitted: 2,
            amounts: vec![8, 4],
            time: 60.0,
            minutes: MinuteCaps { running: vec![9], total: vec![9] },
            blocks: false,
        };
        let limits = Limits::new(vec![cap], vec![0], vec![vec![0]], vec![1]);
        let mut counts = LimitCounts::new(&limits, 2);
        let span = Span { since: 0, until: 60_000_000 };
        assert!(counts.submit(&limits, 0, 1) && counts.hold(&limits, 0, &[4, 1], 1));
        counts.begin_minutes(&limits, 0, &[4], span);
        assert!(!counts.are_idle());
        counts.end_minutes(&limits, 0, span, 30_000_000);
        assert!(counts.hold(&limits, 0, &[4, 1], -1) && counts.submit(&limits, 0, -1));
        assert!(counts.are_idle());
        assert!(!counts.submit(&limits, 0, -1));
        assert!(!counts.hold(&limits, 0, &[4, 1], -1));
    }
}
