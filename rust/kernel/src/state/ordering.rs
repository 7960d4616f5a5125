//! The positions of waiting jobs in the queue: their keys, and changes of the keys.
use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::accounting::Multifactor;
use crate::priority::{Candidate, Priority, multifactor};
use crate::scenario::Scenario;
use crate::time::{Time, ordered_bits};
use crate::workload::{JobState, PlaceAttributes};

use super::queue::partition_values;
use super::{QueueIndex, Rank, State};

impl State {
    /// Return the rank of a queued job, with its stored key.
    #[must_use]
    pub fn rank_of(&self, scenario: &Scenario, job: u32) -> Rank {
        let row = scenario.job(job);
        Rank {
            tier: Reverse(scenario.attributes.tier(job)),
            key: Time(self.jobs.key(job)),
            submit_time: Time(row.submit_time),
            row: row.row,
            job,
        }
    }

    /// Add a job to the queue that is eligible from now on.
    pub fn enqueue(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        if let Some(calculation) = &mut self.calculation {
            calculation.begin(job, self.now);
        }
        self.enqueue_again(scenario, priority, job);
    }

    /// Add a job to the queue that may have been eligible before.
    pub fn enqueue_again(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        self.rekey(scenario, priority, job);
        self.insert(scenario, job);
        self.jobs.set_state(job, JobState::Queued);
        self.queue.arrived.push(job);
    }

    /// Put a submitted job on hold, outside the queue.
    pub fn put_on_hold(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        self.rekey(scenario, priority, job);
        self.jobs.set_state(job, JobState::Queued);
        self.queue.on_hold.insert(job);
    }

    pub(super) fn rekey(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        let key = self.key_of(scenario, priority, job);
        self.jobs.set_key(job, key);
    }

    /// Return the rank that a job with this remaining work, waiting or not, has under a priority rule now.
    #[must_use]
    pub fn rank_by(&self, scenario: &Scenario, priority: &Priority, job: u32, work: f64) -> Rank {
        let key = self.key_with(scenario, priority, job, work);
        Rank { key: Time(key), ..self.rank_of(scenario, job) }
    }

    /// Return the remaining work of a waiting job; its estimate if an application determines its run time.
    #[must_use]
    pub fn work_left(&self, scenario: &Scenario, job: u32) -> f64 {
        let carried = scenario.application_job(job);
        if carried.is_some_and(|carried| carried.application.is_some()) {
            return self.jobs.estimate(job);
        }
        self.jobs.work_left(job)
    }

    /// Return the key of a job under the rule now, unless its priority is fixed.
    fn key_of(&self, scenario: &Scenario, priority: &Priority, job: u32) -> f64 {
        self.key_with(scenario, priority, job, self.work_left(scenario, job))
    }

    /// Return the key of a job with this remaining work.
    fn key_with(&self, scenario: &Scenario, priority: &Priority, job: u32, work: f64) -> f64 {
        self.unless_fixed(job, priority.key(&self.candidate(scenario, job, work)))
    }

    /// Return the multifactor key of a waiting job in one of its partitions, unless its priority is fixed.
    #[must_use]
    pub fn key_in(&self, scenario: &Scenario, rule: &Multifactor, job: u32, place: &PlaceAttributes) -> f64 {
        let candidate = self.candidate(scenario, job, self.work_left(scenario, job));
        self.unless_fixed(job, -f64::from(multifactor(rule, &candidate, Some(place))))
    }

    /// Collect the inputs of a job's key, with this remaining work.
    fn candidate<'a>(&self, scenario: &'a Scenario, job: u32, work: f64) -> Candidate<'a> {
        let (mut eligible_for, mut fair_share) = (0.0, 0.0);
        if let Some(calculation) = &self.calculation {
            eligible_for = calculation.eligible_for(job);
            if let (Some(usage), Some(accounts)) = (&self.usage, &scenario.accounts) {
                fair_share = usage.fair_share(accounts, job);
            }
        }
        let (estimate, requested_time) = self.jobs.times_known(job);
        let (time_limit, now) = (self.jobs.time_limit(job), self.now);
        Candidate { scenario, job, estimate, requested_time, time_limit, work, now, eligible_for, fair_share }
    }

    /// Return the key, or minus the fixed priority of a job.
    fn unless_fixed(&self, job: u32, key: f64) -> f64 {
        // Adding 0 turns −0 into 0.
        self.fixed_priorities.get(&job).map_or(key, |priority| -priority) + 0.0
    }

    pub(super) fn insert(&mut self, scenario: &Scenario, job: u32) {
        let mut values = std::mem::take(&mut self.values);
        let (width, sets) = (self.machine.resources() + 1, self.machine.node_sets().count());
        let (estimate, tasks) = (ordered_bits(self.jobs.estimate(job)), scenario.job(job).tasks);
        let alternatives = scenario.alternatives(job);
        values.clear();
        values.resize(sets * width, i64::MAX);
        for &request in alternatives {
            let request = scenario.requests.get(request);
            let block = &mut values[request.nodes.block(width)];
            block[0] = estimate;
            for (need, &amount) in block[1..].iter_mut().zip(&request.amounts) {
                *need = amount.saturating_mul(i64::from(tasks));
            }
        }
        self.queue.requests().list(&mut values, alternatives, estimate, tasks);
        if partition_values(&self.machine) > 0 {
            self.list_partitions(scenario, job, &mut values);
        }
        self.queue.index.insert(self.rank_of(scenario, job), &values);
        self.values = values;
    }

    /// Append a value for each partition: 0 if the job may run there. With several partitions, only those that could
    /// hold it alone count.
    fn list_partitions(&mut self, scenario: &Scenario, job: u32, values: &mut Vec<i64>) {
        let (before, alternatives) = (values.len(), scenario.alternatives(job));
        values.resize(before + partition_values(&self.machine), i64::MAX);
        for &request in alternatives {
            let tasks = u64::from(scenario.job(job).tasks);
            if alternatives.len() == 1 || tasks <= self.most_tasks(scenario, request) {
                values[before + scenario.requests.get(request).in_partition as usize] = 0;
            }
        }
    }

    /// Remove a waiting job from the queue, on hold or not.
    pub fn leave_queue(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        if !self.queue.on_hold.remove(&job) {
            self.take_out(scenario, priority, job);
            self.queue.arrived.retain(|&arrived| arrived != job);
            self.open_next_like(scenario, priority, job);
        }
    }

    /// Remove a queued job from the queue order or from the closed jobs.
    pub(super) fn take_out(&mut self, scenario: &Scenario, priority: &Priority, job: u32) {
        if !self.forget_closed(scenario, priority, job) {
            self.queue.index.remove(&self.rank_of(scenario, job));
        }
    }

    /// Sort the queue by the current keys of the rule. O(q log q); O(q) if the order does not change.
    ///
    /// Closed jobs get their keys when they are opened, unless keys change in each pass: then they are opened now.
    pub fn refresh_priorities(&mut self, scenario: &Scenario, priority: &Priority) {
        if priority.changes_with_time() {
            self.open_all(scenario, priority);
        }
        self.sort_queue(|state, job| state.key_of(scenario, priority, job));
    }

    /// Sort the queue by given keys, one per queued job in the current order. No job may be closed.
    pub fn sort_queue_by(&mut self, keys: &[f64]) {
        let mut keys = keys.iter();
        self.sort_queue(|state, job| state.unless_fixed(job, keys.next().copied().unwrap_or_default()));
    }

    /// Sort the queue by the keys that `key` returns for its jobs.
    fn sort_queue(&mut self, mut key: impl FnMut(&Self, u32) -> f64) {
        let mut index = std::mem::replace(&mut self.queue.index, QueueIndex::new(0));
        index.rekey(|rank| {
            let key = key(self, rank.job);
            self.jobs.set_key(rank.job, key);
            Rank { key: Time(key), ..*rank }
        });
        self.queue.index = index;
    }

    /// Set the run time that schedulers assume for a queued job; keys set by an external order stay.
    pub fn set_queued_estimate(&mut self, scenario: &Scenario, priority: &Priority, job: u32, estimate: f64) {
        self.change_place(scenario, priority, job, |state| state.jobs.set_estimate(job, estimate));
    }

    /// Set the requested time of a waiting or running job; its estimate stays.
    pub fn set_requested_time(&mut self, scenario: &Scenario, priority: &Priority, job: u32, seconds: f64) {
        self.change_place(scenario, priority, job, |state| state.jobs.set_requested_time(job, seconds));
    }

    /// Fix the priority of a waiting or running job; None returns it to the order.
    pub fn fix_priority(&mut self, scenario: &Scenario, priority: &Priority, job: u32, fixed: Option<f64>) {
        self.change_place(scenario, priority, job, |state| state.fix_ahead(job, fixed));
    }

    /// Fix the priority of a job that is not in the queue; None returns it to the order.
    pub fn fix_ahead(&mut self, job: u32, fixed: Option<f64>) {
        match fixed {
            Some(value) => self.fixed_priorities.insert(job, value),
            None => self.fixed_priorities.remove(&job),
        };
    }

    /// Return the jobs that are not yet submitted, and are held or have a fixed priority.
    #[must_use]
    pub fn ahead(&self) -> BTreeSet<u32> {
        let is_to_come = |job: &u32| self.jobs.state(*job) == JobState::Loaded;
        let fixed = self.fixed_priorities.keys().copied().filter(is_to_come);
        self.held_ahead.iter().copied().chain(fixed).collect()
    }

    /// Return the fixed priority of a job, or None.
    #[must_use]
    pub fn fixed_priority(&self, job: u32) -> Option<f64> {
        self.fixed_priorities.get(&job).copied()
    }

    /// Forget the fixed priority of a job that is over.
    pub fn forget_priority(&mut self, job: u32) {
        if !self.fixed_priorities.is_empty() {
            self.fixed_priorities.remove(&job);
        }
    }

    /// Apply a change that affects the queue position of a job, and update the position if the job is queued.
    fn change_place(
        &mut self,
        scenario: &Scenario,
        priority: &Priority,
        job: u32,
        change: impl FnOnce(&mut Self),
    ) {
        let is_in_order = self.jobs.state(job) == JobState::Queued && !self.queue.on_hold.contains(&job);
        if is_in_order {
            self.open_next_like(scenario, priority, job);
            self.take_out(scenario, priority, job);
        }
        change(self);
        if is_in_order {
            if priority.is_external() {
                let key = self.unless_fixed(job, self.jobs.key(job));
                self.jobs.set_key(job, key);
            } else {
                self.rekey(scenario, priority, job);
            }
            self.insert(scenario, job);
        }
    }
}
