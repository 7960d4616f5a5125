//! Service time: the integral of a server's rate. Runs on a shared clock end by service time, so that a change of their
//! rate costs O(1), independent of their number.
use serde::{Deserialize, Serialize};

use crate::index::IndexedHeap;
use crate::time::Time;

/// The order of ends: by time, then by the sequence number of the run.
pub type EndKey = (Time, u64);

/// A clock of service time, and the ends of its runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Clock {
    /// Service per second; 0 while nothing is served.
    rate: f64,
    /// The service time at `since`, counted from the last time at which the clock had no run.
    service: f64,
    /// The time of the last change of the rate, or of the last restart.
    since: f64,
    /// The ends of runs, in service time.
    pub(super) ends: IndexedHeap<EndKey>,
}

impl Clock {
    /// Creates a clock with a rate since time 0; at rate 1 service time equals time.
    #[must_use]
    pub fn new(rate: f64) -> Self {
        Self { rate, service: 0.0, since: 0.0, ends: IndexedHeap::default() }
    }

    /// The present rate.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The service time at a time not before the last change.
    #[must_use]
    pub fn service_at(&self, now: f64) -> f64 {
        self.service + (now - self.since) * self.rate
    }

    /// The time at which the clock reaches a service time that is not past; infinity at rate 0.
    #[must_use]
    pub fn time_of(&self, service: f64) -> f64 {
        if self.rate > 0.0 {
            // An end that rounding places before the last change is due immediately.
            self.since + (service - self.service).max(0.0) / self.rate
        } else {
            f64::INFINITY
        }
    }

    /// Restarts at 0 if the clock has no run, so that service times stay small and their differences exact.
    pub(super) fn restart_if_idle(&mut self, now: f64) {
        if self.ends.is_empty() {
            self.service = 0.0;
            self.since = now;
        }
    }

    /// Changes the rate from now on.
    pub fn set_rate(&mut self, now: f64, rate: f64) {
        self.service = self.service_at(now);
        self.since = now;
        self.rate = rate;
    }

    /// The end of the next run, and its number; ties by service time, then by sequence number.
    #[must_use]
    pub fn next(&self) -> Option<(EndKey, u32)> {
        self.ends.peek().map(|((service, sequence), run)| ((self.time(service), sequence), run))
    }

    /// The end of a run, if it has one.
    pub(super) fn end_key(&self, run: u32) -> Option<EndKey> {
        self.ends.key(run).map(|(service, sequence)| (self.time(service), sequence))
    }

    /// The runs that end by a time, unordered. O(due runs).
    pub(super) fn due(&self, by: Time) -> Vec<(EndKey, u32)> {
        let found = self.ends.due_where(|&(service, _)| self.time(service) <= by);
        found.into_iter().map(|((service, sequence), run)| ((self.time(service), sequence), run)).collect()
    }

    fn time(&self, service: Time) -> Time {
        Time(self.time_of(service.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_rate_1_service_time_is_time() {
        let clock = Clock::new(1.0);
        assert_eq!(Time(clock.service_at(0.1)), Time(0.1));
        assert_eq!(Time(clock.time_of(1e9 + 0.3)), Time(1e9 + 0.3));
    }

    #[test]
    fn a_change_of_the_rate_moves_every_end() {
        let mut clock = Clock::new(2.0);
        clock.ends.set(0, (Time(20.0), 0));
        clock.ends.set(1, (Time(14.0), 1));
        assert_eq!(clock.next(), Some(((Time(7.0), 1), 1)));
        clock.set_rate(5.0, 0.0);
        assert_eq!(clock.next(), Some(((Time::NEVER, 1), 1)));
        clock.set_rate(8.0, 0.5);
        assert_eq!(clock.end_key(0), Some((Time(28.0), 0)));
        assert_eq!(clock.due(Time(16.0)), [((Time(16.0), 1), 1)]);
    }

    #[test]
    fn it_starts_anew_only_where_it_serves_nothing() {
        let mut clock = Clock::new(2.0);
        clock.ends.set(0, (Time(20.0), 0));
        clock.restart_if_idle(5.0);
        assert_eq!(Time(clock.service_at(6.0)), Time(12.0));
        clock.ends.remove(0);
        clock.restart_if_idle(5.0);
        assert_eq!(Time(clock.service_at(6.0)), Time(2.0));
    }

    #[test]
    fn what_rounding_puts_in_the_past_is_due_now() {
        let mut clock = Clock::new(1.0);
        clock.set_rate(3.0, 0.7);
        assert_eq!(Time(clock.time_of(2.999_999_999)), Time(3.0));
    }
}
