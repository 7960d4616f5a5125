//! Times of priority calculations, and eligible times of jobs.
//!
//! Priorities are constant between calculations, so the queue is sorted at most once per period, and only for a pass
//! that may start a job: O(q log q). Periods that end without an event in between are processed together.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

/// The schedule of priority calculations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calculation {
    /// Seconds between calculations; 0 for a calculation in each pass.
    period: f64,
    /// Time of the first calculation, seconds.
    origin: f64,
    /// Number of calculations so far.
    done: f64,
    /// Time of the latest calculation, seconds.
    latest: f64,
    /// True if the keys of waiting jobs are from an earlier calculation.
    is_stale: bool,
    /// By slot: time since which each job has been eligible, seconds.
    eligible: SharedColumn<f64>,
    /// By slot: the scheduler call from which each job ages; None if jobs age from their eligible time.
    called: Option<SharedColumn<FirstCall>>,
}

/// The first scheduler call that had an eligible job in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct FirstCall {
    /// Time of the call, seconds; infinite before it.
    time: f64,
    /// Time since which the job had been eligible, seconds.
    eligible: f64,
}

/// Calculations that are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due {
    /// Due time of the first of them, seconds.
    pub first: f64,
    /// Number of further ones.
    pub more: f64,
    /// Due time of the last of them, seconds.
    pub last: f64,
}

impl Calculation {
    /// Schedule calculations every `period` seconds from the origin, for this many jobs.
    #[must_use]
    pub fn new(period: f64, origin: f64, jobs: usize) -> Self {
        let mut eligible = SharedColumn::default();
        eligible.extend_to(jobs, &origin);
        Self { period, origin, done: 0.0, latest: origin, is_stale: false, eligible, called: None }
    }

    /// Choose whether jobs age from the first scheduler call that has them in its queue, or from their eligible time.
    /// Jobs that wait already count as called.
    pub fn age_by_calls(&mut self, by_calls: bool) {
        let before = |&eligible| FirstCall { time: f64::NEG_INFINITY, eligible };
        self.called = by_calls.then(|| self.eligible.iter().map(before).collect());
    }

    /// Share the per-job data with the next clone.
    pub fn share(&mut self) {
        self.eligible.share();
        if let Some(called) = &mut self.called {
            called.share();
        }
    }

    /// Return whether priorities are calculated in each pass.
    #[must_use]
    pub fn is_at_every_pass(&self) -> bool {
        self.period == 0.0
    }

    /// Return whether the keys of waiting jobs are from an earlier calculation.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Record that the keys of all waiting jobs are from the latest calculation.
    pub fn keys_are_new(&mut self) {
        self.is_stale = false;
    }

    /// Remove and return the calculations that are due by this time.
    pub fn take_due(&mut self, now: f64) -> Option<Due> {
        let time = |number: f64| self.origin + number * self.period;
        if self.is_at_every_pass() || time(self.done) > now {
            return None;
        }
        // The quotient may be rounded either way.
        let mut last = ((now - self.origin) / self.period).floor().max(self.done);
        while time(last) > now {
            last -= 1.0;
        }
        while time(last + 1.0) <= now {
            last += 1.0;
        }
        let due = Due { first: time(self.done), more: last - self.done, last: time(last) };
        self.done = last + 1.0;
        self.calculate(due.last);
        Some(due)
    }

    /// Record a calculation at this time.
    pub fn calculate(&mut self, time: f64) {
        self.latest = time;
        self.is_stale = true;
    }

    /// Compute the keys of waiting jobs again before the next pass, as of the latest calculation.
    pub fn recalculate(&mut self) {
        self.is_stale = true;
    }

    /// Record that a job is eligible from now on.
    pub fn begin(&mut self, job: u32, now: f64) {
        *self.eligible.get_mut(job as usize) = now;
        if let Some(called) = &mut self.called {
            *called.get_mut(job as usize) = FirstCall { time: f64::INFINITY, eligible: now };
        }
    }

    /// Record the first scheduler call that has an eligible job in its queue.
    pub fn called(&mut self, job: u32, eligible: f64, now: f64) {
        if let Some(called) = &mut self.called {
            *called.get_mut(job as usize) = FirstCall { time: now, eligible };
        }
    }

    /// Return the first scheduler call that had a job in its queue, and the time from which the job ages; None if there is
    /// none, or if jobs do not age by calls.
    #[must_use]
    pub fn first_call(&self, job: u32) -> Option<(f64, f64)> {
        let &FirstCall { time, eligible } = self.called.as_ref()?.get(job as usize);
        time.is_finite().then_some((time, eligible))
    }

    /// Return the time since which a job has been eligible, seconds.
    #[must_use]
    pub fn eligible_since(&self, job: u32) -> f64 {
        *self.eligible.get(job as usize)
    }

    /// Return how long a job had been eligible at the latest calculation; negative if it was not eligible then. If jobs
    /// age by calls: in whole seconds, and 0 if no call preceded the calculation.
    #[must_use]
    pub fn eligible_for(&self, job: u32) -> f64 {
        let Some(called) = &self.called else { return self.latest - self.eligible.get(job as usize) };
        let FirstCall { time, eligible } = *called.get(job as usize);
        if time < self.latest { self.latest.floor() - eligible.floor() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calculations_that_were_due_while_nothing_happened_are_taken_at_once() {
        let mut calculation = Calculation::new(0.1, 5.0, 1);
        assert_eq!(calculation.take_due(4.9), None);
        assert_eq!(calculation.take_due(5.0), Some(Due { first: 5.0, more: 0.0, last: 5.0 }));
        assert_eq!(calculation.take_due(5.0), None);
        let due = calculation.take_due(1e6).expect("some are due");
        assert!((due.first - 5.1).abs() < 1e-9);
        assert!(due.last <= 1e6 && due.last + 0.1 > 1e6);
        assert_eq!(calculation.take_due(1e6), None);
        assert!((calculation.eligible_for(0) - (due.last - 5.0)).abs() < 1e-9);
    }

    #[test]
    fn jobs_age_from_the_first_call_before_a_calculation() {
        let mut calculation = Calculation::new(10.0, 0.5, 2);
        calculation.age_by_calls(true);
        calculation.begin(1, 3.75);
        calculation.calculate(10.5);
        calculation.called(1, 3.75, 10.5);
        // Job 0 was waiting before `age_by_calls`.
        let eligible = |calculation: &Calculation| [0, 1].map(|job| calculation.eligible_for(job).to_bits());
        assert_eq!(eligible(&calculation), [10.0, 0.0].map(f64::to_bits));
        calculation.calculate(20.5);
        assert_eq!(eligible(&calculation), [20.0, 17.0].map(f64::to_bits));
        calculation.begin(1, 20.5);
        calculation.calculate(30.5);
        assert_eq!(eligible(&calculation)[1], 0.0_f64.to_bits());
    }
}
