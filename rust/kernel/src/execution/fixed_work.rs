//! Progress of jobs with a fixed amount of work, served at a variable rate until the work is done.
//!
//! The ends of runs are in an addressable heap: O(log n) to start, stop, suspend or change the rate of one job. Runs on
//! a [`Clock`] are in that clock's heap, by service time: O(1) to change the rate of all of them.
use serde::{Deserialize, Serialize};

use crate::index::IndexedHeap;
use crate::time::Time;

use super::clock::{Clock, EndKey};

/// Progress of one run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Work {
    /// Total work.
    total: f64,
    /// Work done at `since`.
    done: f64,
    /// Work per second; 0 while the job is suspended. On a clock 1: work is service time.
    rate: f64,
    /// The time of the last change of the rate; in service time if on a clock.
    since: f64,
    /// The clock that serves the run; None if the run has its own rate.
    clock: Option<u32>,
}

impl Work {
    const NONE: Self = Self { total: 0.0, done: 0.0, rate: 0.0, since: 0.0, clock: None };

    /// The end of the run; at rate 1 throughout exactly the sum of begin and work.
    fn end(&self) -> f64 {
        if self.rate > 0.0 {
            self.since + (self.total - self.done).max(0.0) / self.rate
        } else {
            f64::INFINITY
        }
    }

    /// The work done by a time, 0 before the begin; at rate 1 throughout exactly the elapsed time.
    fn done_at(&self, now: f64) -> f64 {
        self.done + (now - self.since).max(0.0) * self.rate
    }
}

/// The runs of jobs with a fixed amount of work, by index among the running jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FixedWork {
    runs: Vec<Work>,
    ends: IndexedHeap<EndKey>,
    clocks: Vec<Clock>,
}

impl FixedWork {
    /// The end of the next run, and its number; ties by sequence number, on the same clock by service time first.
    /// O(clocks).
    #[must_use]
    pub fn next(&self) -> Option<(EndKey, u32)> {
        let mut first = self.ends.peek();
        for clock in &self.clocks {
            if let Some(next) = clock.next()
                && first.is_none_or(|first| next < first)
            {
                first = Some(next);
            }
        }
        first
    }

    /// The end of a run, if it has one.
    #[must_use]
    pub fn end_key(&self, run: u32) -> Option<EndKey> {
        match self.clock_of(run) {
            Some(clock) => self.clocks[clock as usize].end_key(run),
            None => self.ends.key(run),
        }
    }

    /// The runs that end by a time, unordered. O(due runs + clocks).
    #[must_use]
    pub fn due(&self, by: Time) -> Vec<(EndKey, u32)> {
        let mut found = self.ends.due(&(by, u64::MAX));
        for clock in &self.clocks {
            found.extend(clock.due(by));
        }
        found
    }

    /// Starts a run with this work and rate, at `begin`, which may be later than now.
    pub fn start(&mut self, begin: f64, run: u32, sequence: u64, work: f64, rate: f64) {
        self.leave_clock(run);
        *self.run_mut(run) = Work { total: work, rate, since: begin, ..Work::NONE };
        self.schedule(run, sequence);
    }

    /// Adds a clock with a rate since time 0; returns its number.
    pub fn add_clock(&mut self, rate: f64) -> u32 {
        self.clocks.push(Clock::new(rate));
        (self.clocks.len() - 1) as u32
    }

    /// A clock.
    #[must_use]
    pub fn clock(&self, clock: u32) -> &Clock {
        &self.clocks[clock as usize]
    }

    /// Changes the rate of a clock from now on. O(1).
    pub fn set_clock_rate(&mut self, now: f64, clock: u32, rate: f64) {
        self.clocks[clock as usize].set_rate(now, rate);
    }

    /// Starts a run with this work, served by a clock.
    pub fn start_on_clock(&mut self, now: f64, run: u32, sequence: u64, work: f64, clock: u32) {
        if work <= 0.0 {
            // It ends at this instant exactly, independent of the rounding of service time.
            return self.start(now, run, sequence, 0.0, 1.0);
        }
        self.ends.remove(run);
        self.leave_clock(run);
        let served_by = &mut self.clocks[clock as usize];
        served_by.restart_if_idle(now);
        let begun = served_by.service_at(now);
        let work = Work { total: work, done: 0.0, rate: 1.0, since: begun, clock: Some(clock) };
        served_by.ends.set(run, (Time(work.end()), sequence));
        *self.run_mut(run) = work;
    }

    /// Serves a run at a rate of its own from now on; rate 0 suspends it.
    pub fn set_rate(&mut self, now: f64, run: u32, sequence: u64, rate: f64) {
        let done = self.done(now, run);
        self.leave_clock(run);
        let work = &mut self.runs[run as usize];
        *work = Work { done, rate, since: now, clock: None, ..*work };
        self.schedule(run, sequence);
    }

    /// Ends a run, which may never have started.
    pub fn stop(&mut self, run: u32) {
        self.ends.remove(run);
        self.leave_clock(run);
        *self.run_mut(run) = Work::NONE;
    }

    /// Makes a run end at a given time at rate 1, whatever its remaining work.
    pub fn end_at(&mut self, now: f64, run: u32, sequence: u64, time: f64) {
        let done = self.done(now, run);
        self.leave_clock(run);
        *self.run_mut(run) = Work { total: done + (time - now), done, rate: 1.0, since: now, clock: None };
        self.ends.set(run, (Time(time), sequence));
    }

    /// The end of a run; infinity while it is suspended.
    #[must_use]
    pub fn end(&self, run: u32) -> f64 {
        let end = self.runs[run as usize].end();
        self.clock_of(run).map_or(end, |clock| self.clocks[clock as usize].time_of(end))
    }

    /// The remaining work of a run.
    #[must_use]
    pub fn left(&self, now: f64, run: u32) -> f64 {
        (self.runs[run as usize].total - self.done(now, run)).max(0.0)
    }

    /// The work done of a run; 0 if it never started.
    #[must_use]
    pub fn done(&self, now: f64, run: u32) -> f64 {
        let now = self.clock_of(run).map_or(now, |clock| self.clocks[clock as usize].service_at(now));
        self.runs.get(run as usize).map_or(0.0, |work| work.done_at(now))
    }

    /// The current rate of a run.
    #[must_use]
    pub fn rate(&self, run: u32) -> f64 {
        match self.clock_of(run) {
            Some(clock) => self.clocks[clock as usize].rate(),
            None => self.runs[run as usize].rate,
        }
    }

    /// The clock that serves a run; None if the run has its own rate.
    #[must_use]
    pub fn clock_of(&self, run: u32) -> Option<u32> {
        self.runs.get(run as usize).and_then(|work| work.clock)
    }

    fn leave_clock(&mut self, run: u32) {
        if let Some(clock) = self.clock_of(run) {
            self.clocks[clock as usize].ends.remove(run);
        }
    }

    fn run_mut(&mut self, run: u32) -> &mut Work {
        if self.runs.len() <= run as usize {
            self.runs.resize(run as usize + 1, Work::NONE);
        }
        &mut self.runs[run as usize]
    }

    fn schedule(&mut self, run: u32, sequence: u64) {
        let end = self.runs[run as usize].end();
        if end.is_finite() {
            self.ends.set(run, (Time(end), sequence));
        } else {
            self.ends.remove(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_work_served_is_the_work_given_whatever_the_rates() {
        let mut progress = FixedWork::default();
        progress.start(10.0, 0, 0, 100.0, 1.0);
        assert_eq!(progress.next(), Some(((Time(110.0), 0), 0)));
        progress.set_rate(30.0, 0, 0, 2.0);
        assert_eq!(progress.next(), Some(((Time(70.0), 0), 0)));
        progress.set_rate(40.0, 0, 0, 0.0);
        assert_eq!(progress.next(), None);
        progress.set_rate(100.0, 0, 0, 0.5);
        assert_eq!(progress.next(), Some(((Time(220.0), 0), 0)));
        assert!((progress.left(160.0, 0) - 30.0).abs() < 1e-12);
        progress.stop(0);
        assert_eq!(progress.next(), None);
    }

    #[test]
    fn nothing_is_done_before_a_run_begins() {
        let mut progress = FixedWork::default();
        progress.start(10.0, 0, 0, 5.0, 1.0);
        assert_eq!((progress.done(4.0, 0), progress.left(4.0, 0), progress.end(0)), (0.0, 5.0, 15.0));
        progress.end_at(4.0, 0, 0, 4.0);
        assert_eq!(progress.next(), Some(((Time(4.0), 0), 0)));
        assert_eq!(progress.left(4.0, 0).to_bits(), 0);
    }

    #[test]
    fn ends_at_one_time_come_by_sequence() {
        let mut progress = FixedWork::default();
        progress.start(0.0, 0, 9, 5.0, 1.0);
        progress.start(0.0, 1, 2, 5.0, 1.0);
        progress.start(2.0, 2, 1, 1.0, 1.0);
        let mut runs = Vec::new();
        while let Some((_, run)) = progress.next() {
            runs.push(run);
            progress.stop(run);
        }
        assert_eq!(runs, [2, 1, 0]);
    }

    #[test]
    fn runs_on_a_clock_are_served_as_it_runs_and_may_leave_it() {
        let mut progress = FixedWork::default();
        let clock = progress.add_clock(2.0);
        progress.start_on_clock(10.0, 0, 7, 100.0, clock);
        progress.start_on_clock(10.0, 1, 3, 100.0, clock);
        assert_eq!(progress.next(), Some(((Time(60.0), 3), 1)));
        progress.set_clock_rate(20.0, clock, 4.0);
        assert_eq!((progress.done(25.0, 0), progress.left(25.0, 0), progress.rate(0)), (40.0, 60.0, 4.0));
        assert_eq!(progress.due(Time(40.0)).len(), 2);
        progress.set_rate(25.0, 1, 3, 0.5);
        assert_eq!((progress.end(1), progress.end(0)), (145.0, 40.0));
        assert_eq!(progress.next(), Some(((Time(40.0), 7), 0)));
        progress.end_at(30.0, 0, 7, 31.0);
        assert_eq!(progress.end_key(0), Some((Time(31.0), 7)));
        assert_eq!(Time(progress.left(30.0, 0)), Time(1.0));
        progress.stop(0);
        progress.start_on_clock(30.0, 2, 1, 0.0, clock);
        assert_eq!(progress.next(), Some(((Time(30.0), 1), 2)));
    }
}
