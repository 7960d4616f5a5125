//! Progress of jobs whose work is a time: served at a rate, which may change, until the work is done.
//!
//! The end of each run is in an addressable heap: O(log n) to start, stop, suspend or change the rate of one job.
use serde::{Deserialize, Serialize};

use crate::index::IndexedHeap;
use crate::time::Time;

/// How far the work of one run is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Work {
    /// All of it.
    total: f64,
    /// What was done at `since`.
    done: f64,
    /// Work per second; 0 while the job is suspended.
    rate: f64,
    /// When the rate changed last.
    since: f64,
}

impl Work {
    const NONE: Self = Self { total: 0.0, done: 0.0, rate: 0.0, since: 0.0 };

    /// When it will be done; at rate 1 throughout the very sum of begin and work.
    fn end(&self) -> f64 {
        if self.rate > 0.0 {
            self.since + (self.total - self.done).max(0.0) / self.rate
        } else {
            f64::INFINITY
        }
    }

    /// What is done, nothing before it begins; at rate 1 throughout the very time that has passed.
    fn done_at(&self, now: f64) -> f64 {
        self.done + (now - self.since).max(0.0) * self.rate
    }
}

/// The order of ends: by time, then by the sequence that the run was given.
pub type EndKey = (Time, u64);

/// The runs of jobs whose work is a time, by their places among the running jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FixedWork {
    runs: Vec<Work>,
    ends: IndexedHeap<EndKey>,
}

impl FixedWork {
    /// When the next run ends, and which; ties by sequence.
    #[must_use]
    pub fn next(&self) -> Option<(EndKey, u32)> {
        self.ends.peek()
    }

    /// The key of the end of a run, where it has one.
    #[must_use]
    pub fn end_key(&self, run: u32) -> Option<EndKey> {
        self.ends.key(run)
    }

    /// The runs that end by a time, in no order. O(due runs).
    #[must_use]
    pub fn due(&self, by: Time) -> Vec<(EndKey, u32)> {
        self.ends.due(&(by, u64::MAX))
    }

    /// Begins a run with this much work, served at a rate, now or later.
    pub fn start(&mut self, begin: f64, run: u32, sequence: u64, work: f64, rate: f64) {
        *self.run_mut(run) = Work { total: work, done: 0.0, rate, since: begin };
        self.schedule(run, sequence);
    }

    /// Serves a run at another rate from now on; 0 suspends it.
    pub fn set_rate(&mut self, now: f64, run: u32, sequence: u64, rate: f64) {
        let work = &mut self.runs[run as usize];
        *work = Work { done: work.done_at(now), rate, since: now, ..*work };
        self.schedule(run, sequence);
    }

    /// Ends a run: the work that it has left; 0 where it never began.
    pub fn stop(&mut self, now: f64, run: u32) -> f64 {
        self.ends.remove(run);
        let work = std::mem::replace(self.run_mut(run), Work::NONE);
        (work.total - work.done_at(now)).max(0.0)
    }

    /// Has a run end at a given time at rate 1, whatever work it has left.
    pub fn end_at(&mut self, now: f64, run: u32, sequence: u64, time: f64) {
        let work = self.run_mut(run);
        let done = work.done_at(now);
        *work = Work { total: done + (time - now), done, rate: 1.0, since: now };
        self.ends.set(run, (Time(time), sequence));
    }

    /// When a run will end; infinite while it is suspended.
    #[must_use]
    pub fn end(&self, run: u32) -> f64 {
        self.runs[run as usize].end()
    }

    /// The work that a run has left.
    #[must_use]
    pub fn left(&self, now: f64, run: u32) -> f64 {
        let work = &self.runs[run as usize];
        (work.total - work.done_at(now)).max(0.0)
    }

    /// The work that a run has done; 0 where it never began.
    #[must_use]
    pub fn done(&self, now: f64, run: u32) -> f64 {
        self.runs.get(run as usize).map_or(0.0, |work| work.done_at(now))
    }

    /// The rate at which a run is served.
    #[must_use]
    pub fn rate(&self, run: u32) -> f64 {
        self.runs[run as usize].rate
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
        assert!((progress.stop(160.0, 0) - 30.0).abs() < 1e-12);
        assert_eq!(progress.next(), None);
    }

    #[test]
    fn nothing_is_done_before_a_run_begins() {
        let mut progress = FixedWork::default();
        progress.start(10.0, 0, 0, 5.0, 1.0);
        assert_eq!((progress.done(4.0, 0), progress.left(4.0, 0), progress.end(0)), (0.0, 5.0, 15.0));
        progress.end_at(4.0, 0, 0, 4.0);
        assert_eq!(progress.next(), Some(((Time(4.0), 0), 0)));
        assert_eq!(progress.stop(4.0, 0).to_bits(), 0);
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
            progress.stop(0.0, run);
        }
        assert_eq!(runs, [2, 1, 0]);
    }
}
