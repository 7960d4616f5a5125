//! When priorities are calculated, and since when jobs have been eligible.
//!
//! Priorities stand still between calculations, so the queue is sorted at most once in a period, and only for a pass
//! that may start a job: O(q log q). Periods that end while nothing happens are taken as one.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

/// The calculations of priorities.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calculation {
    /// Seconds from one to the next; 0 where there is one at every pass.
    period: f64,
    /// When the first is, seconds.
    origin: f64,
    /// How many there have been.
    done: f64,
    /// When the latest was, seconds.
    latest: f64,
    /// Whether the keys of waiting jobs are of an earlier one.
    is_stale: bool,
    /// By slot: since when each job has been eligible, seconds.
    eligible: SharedColumn<f64>,
    /// By slot: the call of the scheduler from which on each job ages; None if jobs age from when they are eligible.
    called: Option<SharedColumn<FirstCall>>,
}

/// The first call of a scheduler that had an eligible job in its queue.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct FirstCall {
    /// When it was, seconds; infinite before it.
    time: f64,
    /// Since when the job had been eligible, seconds.
    eligible: f64,
}

/// Calculations that are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Due {
    /// When the first of them was due, seconds.
    pub first: f64,
    /// How many more there are.
    pub more: f64,
    /// When the last of them was due, seconds.
    pub last: f64,
}

impl Calculation {
    /// Calculations every `period` seconds from the origin on, of so many jobs.
    #[must_use]
    pub fn new(period: f64, origin: f64, jobs: usize) -> Self {
        let mut eligible = SharedColumn::default();
        eligible.extend_to(jobs, &origin);
        Self { period, origin, done: 0.0, latest: origin, is_stale: false, eligible, called: None }
    }

    /// Lets jobs age from the first call of the scheduler on that has them in its queue, or from when they are eligible. Jobs
    /// that wait already had such a call.
    pub fn age_by_calls(&mut self, by_calls: bool) {
        let before = |&eligible| FirstCall { time: f64::NEG_INFINITY, eligible };
        self.called = by_calls.then(|| self.eligible.iter().map(before).collect());
    }

    /// Lets the next clone share what is kept of single jobs.
    pub fn share(&mut self) {
        self.eligible.share();
        if let Some(called) = &mut self.called {
            called.share();
        }
    }

    /// Whether there is one at every pass.
    #[must_use]
    pub fn is_at_every_pass(&self) -> bool {
        self.period == 0.0
    }

    /// Whether the keys of waiting jobs are of an earlier calculation.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// The keys of all waiting jobs are of the latest calculation.
    pub fn keys_are_new(&mut self) {
        self.is_stale = false;
    }

    /// Takes the calculations that are due by a time.
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

    /// Priorities are calculated as of this time.
    pub fn calculate(&mut self, time: f64) {
        self.latest = time;
        self.is_stale = true;
    }

    /// A job is eligible from now on.
    pub fn begin(&mut self, job: u32, now: f64) {
        *self.eligible.get_mut(job as usize) = now;
        if let Some(called) = &mut self.called {
            *called.get_mut(job as usize) = FirstCall { time: f64::INFINITY, eligible: now };
        }
    }

    /// A call of the scheduler has a job in its queue for the first time since it has been eligible.
    pub fn called(&mut self, job: u32, eligible: f64, now: f64) {
        if let Some(called) = &mut self.called {
            *called.get_mut(job as usize) = FirstCall { time: now, eligible };
        }
    }

    /// Since when a job has been eligible, seconds.
    #[must_use]
    pub fn eligible_since(&self, job: u32) -> f64 {
        *self.eligible.get(job as usize)
    }

    /// For how long a job had been eligible at the latest calculation; negative where it was not. If jobs age by calls: in
    /// whole seconds, and 0 if no call came before the calculation.
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
        // Job 0 waited before.
        let eligible = |calculation: &Calculation| [0, 1].map(|job| calculation.eligible_for(job).to_bits());
        assert_eq!(eligible(&calculation), [10.0, 0.0].map(f64::to_bits));
        calculation.calculate(20.5);
        assert_eq!(eligible(&calculation), [20.0, 17.0].map(f64::to_bits));
        calculation.begin(1, 20.5);
        calculation.calculate(30.5);
        assert_eq!(eligible(&calculation)[1], 0.0_f64.to_bits());
    }
}
