//! Limits: how much the jobs of a user, an account, a queue or any other group of jobs may have at a time.
//!
//! A limit is counted by one counter for each group that it is counted for. Every job names its counters, in lists that
//! jobs share. To count a job in or out, and to ask whether it is within its limits, costs O(its counters × resources).
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// What one counter allows. Amounts: one for each resource, then the number of nodes; `i64::MAX` for no limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cap {
    /// The limit that it is of, by number; several counters share one.
    pub limit: u32,
    /// Jobs that may run.
    pub running: u32,
    /// Jobs that may wait or run.
    pub submitted: u32,
    /// What running jobs may hold.
    pub amounts: Vec<i64>,
    /// Whether a job over the limit holds up those behind it.
    pub blocks: bool,
}

/// The limits of a scenario, and the counters of its jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    caps: Vec<Cap>,
    some_block: bool,
    /// By counter: whether it limits amounts.
    has_amounts: Vec<bool>,
    /// By slot: the place of its list of counters.
    of_job: Vec<u32>,
    lists: Vec<Vec<u32>>,
    /// By slot: the least number of nodes that the job takes.
    least_nodes: Vec<u32>,
}

impl Limits {
    /// `caps` by counter; for each slot the place of its list of counters, and its least number of nodes.
    #[must_use]
    pub fn new(caps: Vec<Cap>, of_job: Vec<u32>, lists: Vec<Vec<u32>>, least_nodes: Vec<u32>) -> Self {
        let some_block = caps.iter().any(|cap| cap.blocks);
        let has_amounts = caps.iter().map(|cap| cap.amounts.iter().any(|&most| most < i64::MAX)).collect();
        Self { caps, some_block, has_amounts, of_job, lists, least_nodes }
    }

    /// Whether a job over some limit holds up those behind it.
    #[must_use]
    pub fn some_block(&self) -> bool {
        self.some_block
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

    /// The number of a job's list of counters: jobs of one list count alike.
    #[must_use]
    pub fn list_of(&self, slot: u32) -> u32 {
        self.of_job.get(slot as usize).copied().unwrap_or_default()
    }

    /// Splits the lists so that jobs of one list also have the same value of this. O(jobs).
    pub fn split_lists(&mut self, value: impl Fn(u32) -> u64) {
        let (mut numbers, mut lists) = (HashMap::new(), Vec::new());
        // Jobs that follow each other are often alike.
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

    /// What a counter allows.
    #[must_use]
    pub fn cap(&self, counter: u32) -> &Cap {
        &self.caps[counter as usize]
    }

    /// The least number of nodes that a job takes.
    #[must_use]
    pub fn least_nodes(&self, slot: u32) -> i64 {
        self.least_nodes.get(slot as usize).copied().map_or(1, i64::from)
    }
}

/// What the jobs of one counter have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Count {
    running: u32,
    submitted: u32,
    /// Counted where the cap limits amounts.
    amounts: Vec<i64>,
}

/// What the jobs have that limits count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitCounts {
    counts: Vec<Count>,
}

impl LimitCounts {
    /// Nothing, of so many amounts.
    #[must_use]
    pub fn new(limits: &Limits, amounts: usize) -> Self {
        let nothing = Count { amounts: vec![0; amounts], ..Count::default() };
        Self { counts: vec![nothing; limits.caps.len()] }
    }

    /// A job is submitted (1), or neither waits nor runs any more (−1).
    pub fn submit(&mut self, limits: &Limits, slot: u32, sign: i32) {
        for &counter in limits.counters(slot) {
            let count = &mut self.counts[counter as usize].submitted;
            *count = count.saturating_add_signed(sign);
        }
    }

    /// A job takes what it holds (1), or gives it back (−1).
    pub fn hold(&mut self, limits: &Limits, slot: u32, held: &[i64], sign: i32) {
        for &counter in limits.counters(slot) {
            let count = &mut self.counts[counter as usize];
            count.running = count.running.saturating_add_signed(sign);
            if !limits.has_amounts[counter as usize] {
                continue;
            }
            for (amount, held) in count.amounts.iter_mut().zip(held) {
                *amount += held * i64::from(sign);
            }
        }
    }

    /// The first of a job's counters by which it may not be submitted.
    #[must_use]
    pub fn refuses_submission(&self, limits: &Limits, slot: u32) -> Option<u32> {
        let is_full =
            |&counter: &u32| self.counts[counter as usize].submitted >= limits.cap(counter).submitted;
        limits.counters(slot).iter().copied().find(is_full)
    }

    /// The first of a job's counters by which it may not start; `need` gives what it asks of each amount.
    #[must_use]
    pub fn refuses_start(&self, limits: &Limits, slot: u32, need: impl Fn(usize) -> i64) -> Option<u32> {
        let is_over = |&counter: &u32| {
            let (count, cap) = (&self.counts[counter as usize], limits.cap(counter));
            let mut amounts = count.amounts.iter().zip(&cap.amounts).enumerate();
            let is_beyond = |(amount, (used, most)): (usize, (&i64, &i64))| {
                *most < i64::MAX && used.saturating_add(need(amount)) > *most
            };
            let may_be_beyond = limits.has_amounts[counter as usize];
            count.running >= cap.running || (may_be_beyond && amounts.any(is_beyond))
        };
        limits.counters(slot).iter().copied().find(is_over)
    }
}
