//! Time integrals of the queue and the machine.
use crate::state::View;

use super::total::Total;

/// Time integrals of the queue and the machine, from the first submission to the last change of a job's state.
#[derive(Clone, Debug)]
pub struct OverTime {
    begun: Option<f64>,
    last: f64,
    /// Number of waiting jobs, including held ones.
    queued: u64,
    /// Amounts requested by waiting jobs.
    waiting: Vec<i64>,
    /// Amounts held by running jobs.
    used: Vec<i64>,
    capacity: Vec<i64>,
    queue: Total,
    longest: u64,
    lost: Vec<Total>,
}

impl OverTime {
    /// Creates integrals for a machine of these total capacities.
    #[must_use]
    pub fn new(capacity: Vec<i64>) -> Self {
        let resources = capacity.len();
        Self {
            begun: None,
            last: 0.0,
            queued: 0,
            waiting: vec![0; resources],
            used: vec![0; resources],
            capacity,
            queue: Total::default(),
            longest: 0,
            lost: vec![Total::default(); resources],
        }
    }

    /// A job begins to wait.
    pub fn comes(&mut self, view: View<'_>, job: u32) {
        self.pass(view);
        self.queued += 1;
        self.wait_for(view, job, 1);
    }

    /// A waiting job leaves the queue.
    pub fn leaves(&mut self, view: View<'_>, job: u32) {
        self.pass(view);
        self.queued -= 1;
        self.wait_for(view, job, -1);
    }

    /// A job is allocated its nodes.
    pub fn takes(&mut self, view: View<'_>, job: u32) {
        self.pass(view);
        self.use_for(view, job, 1);
    }

    /// A job releases its nodes.
    pub fn gives_back(&mut self, view: View<'_>, job: u32) {
        self.pass(view);
        self.use_for(view, job, -1);
    }

    /// Integrates over the time since the last change.
    fn pass(&mut self, view: View<'_>) {
        let now = view.now();
        if self.begun.is_none() {
            (self.begun, self.last) = (Some(view.scenario.first_submission), now);
        }
        let duration = now - self.last;
        if duration <= 0.0 {
            return;
        }
        self.last = now;
        self.longest = self.longest.max(self.queued);
        if self.queued == 0 {
            return;
        }
        self.queue.add(self.queued as f64 * duration);
        let amounts = self.capacity.iter().zip(&self.used).zip(&self.waiting);
        for (lost, ((&capacity, &used), &waiting)) in self.lost.iter_mut().zip(amounts) {
            lost.add((capacity - used).min(waiting) as f64 * duration);
        }
    }

    fn wait_for(&mut self, view: View<'_>, job: u32, sign: i64) {
        for (resource, waiting) in self.waiting.iter_mut().enumerate() {
            *waiting = waiting.saturating_add(sign * view.need(job, resource));
        }
    }

    fn use_for(&mut self, view: View<'_>, job: u32, sign: i64) {
        for (resource, used) in self.used.iter_mut().enumerate() {
            *used += sign * view.need(job, resource);
        }
    }

    /// Seconds from the first submission to the last change.
    pub fn span(&self) -> Option<f64> {
        self.begun.map(|begun| self.last - begun)
    }

    /// The greatest number of waiting jobs.
    pub fn longest(&self) -> Option<u64> {
        self.begun.map(|_| self.longest.max(self.queued))
    }

    /// The mean number of waiting jobs.
    pub fn mean_queue(&self) -> Option<f64> {
        share(self.queue, 1, self.span())
    }

    /// The share of each resource that was idle while jobs that requested it waited.
    pub fn lost(&self) -> Vec<Option<f64>> {
        self.shares(&self.lost, self.span())
    }

    /// Divides the integrals of amounts over time by the capacity of each resource times `time`, seconds.
    pub fn shares(&self, totals: &[Total], time: Option<f64>) -> Vec<Option<f64>> {
        totals.iter().zip(&self.capacity).map(|(&total, &capacity)| share(total, capacity, time)).collect()
    }
}

fn share(total: Total, capacity: i64, time: Option<f64>) -> Option<f64> {
    time.filter(|&time| time > 0.0 && capacity > 0).map(|time| total.value() / (capacity as f64 * time))
}
