//! Clocks: float64 seconds with a total order, and a clock of higher precision for events inside applications.
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Seconds since the workload's origin, with a total order, so that it can be a key.
///
/// Inputs are never NaN (they are checked), so the numeric order is total.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Time(pub f64);

impl Time {
    /// Later than every event.
    pub const NEVER: Self = Self(f64::INFINITY);
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.0 < other.0 {
            Ordering::Less
        } else if self.0 > other.0 {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }
}

// Times are compared very often: the processor's comparisons of floats are the fastest.
impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        self.0 < other.0
    }

    fn le(&self, other: &Self) -> bool {
        self.0 <= other.0
    }

    fn gt(&self, other: &Self) -> bool {
        self.0 > other.0
    }

    fn ge(&self, other: &Self) -> bool {
        self.0 >= other.0
    }
}

impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Time {}

/// Seconds since the workload's origin with twice the digits of a float64: the sum of two numbers, the second at most
/// half a unit in the last place of the first.
///
/// Added durations keep their precision: the error of 1 ns after 1.7e9 s is below 1e-14 of it, whereas float64 has
/// steps of 2.4e-7 s. Sums and differences follow Dekker, "A floating-point technique for extending the available
/// precision" (Numerische Mathematik 18, 1971).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FineTime {
    seconds: Time,
    rest: Time,
}

impl FineTime {
    /// Later than every event.
    pub const NEVER: Self = Self::at(f64::INFINITY);

    /// A float64 time.
    #[must_use]
    pub const fn at(seconds: f64) -> Self {
        Self { seconds: Time(seconds), rest: Time(0.0) }
    }

    /// The time this number of seconds later.
    #[must_use]
    pub fn after(self, seconds: f64) -> Self {
        let (sum, error) = exact_sum(self.seconds.0, seconds);
        if sum.is_infinite() {
            return Self::at(sum);
        }
        let rest = self.rest.0 + error;
        let total = sum + rest;
        Self { seconds: Time(total), rest: Time(rest - (total - sum)) }
    }

    /// Seconds elapsed since another time.
    #[must_use]
    pub fn since(self, other: Self) -> f64 {
        let (difference, error) = exact_sum(self.seconds.0, -other.seconds.0);
        difference + (error + (self.rest.0 - other.rest.0))
    }

    /// The nearest float64.
    #[must_use]
    pub fn rounded(self) -> f64 {
        self.seconds.0
    }

    /// The last float64 time not after this time.
    #[must_use]
    pub fn floor(self) -> f64 {
        if self.rest.0 < 0.0 { self.seconds.0.next_down() } else { self.seconds.0 }
    }

    /// Two integers in the order of non-negative times, which compare faster.
    #[must_use]
    pub fn ordered_bits(self) -> (i64, i64) {
        // The bits of negative floats are in reverse order.
        let rest = (self.rest.0 + 0.0).to_bits() as i64;
        (ordered_bits(self.seconds.0), if rest < 0 { rest ^ i64::MAX } else { rest })
    }

    /// The time with these [`Self::ordered_bits`].
    #[must_use]
    pub fn from_ordered_bits((seconds, rest): (i64, i64)) -> Self {
        let rest = if rest < 0 { rest ^ i64::MAX } else { rest };
        Self { seconds: Time(from_ordered_bits(seconds)), rest: Time(f64::from_bits(rest as u64)) }
    }
}

/// A clock with instants at equal intervals. Instants are computed from their numbers, so that rounding errors do not
/// accumulate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalClock {
    origin: f64,
    interval: f64,
    /// The number of the next instant.
    number: f64,
}

impl IntervalClock {
    /// Creates a clock; its next instant is `number` (finite) intervals after the origin.
    #[must_use]
    pub fn new(origin: f64, interval: f64, number: f64) -> Self {
        Self { origin, interval, number }
    }

    /// Creates a clock with its first instant at the last one not after the first submission. The origin is the first
    /// submission by default.
    #[must_use]
    pub fn from_first_submission(origin: Option<f64>, interval: f64, first_submission: f64) -> Self {
        let origin = origin.unwrap_or(first_submission);
        Self::new(origin, interval, ((first_submission - origin) / interval).floor())
    }

    /// The next instant, seconds.
    #[must_use]
    pub fn next(&self) -> f64 {
        self.origin + self.number * self.interval
    }

    /// Advances to the next instant.
    pub fn go_on(&mut self) {
        self.number += 1.0;
    }

    /// Advances beyond all instants up to `now`.
    pub fn pass(&mut self, now: f64) {
        while self.next() <= now {
            self.number = ((now - self.origin) / self.interval).floor().max(self.number + 1.0);
        }
    }
}

/// The sum of two numbers, and its rounding error (Knuth's `TwoSum`).
fn exact_sum(one: f64, other: f64) -> (f64, f64) {
    let sum = one + other;
    let part = sum - one;
    (sum, (one - (sum - part)) + (other - part))
}

/// The bits of a non-negative time as an integer in the same order.
#[must_use]
pub fn ordered_bits(seconds: f64) -> i64 {
    seconds.to_bits() as i64
}

/// The time with these [`ordered_bits`].
#[must_use]
pub fn from_ordered_bits(bits: i64) -> f64 {
    f64::from_bits(bits as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordered_bits_keep_the_order_and_come_back() {
        let times = [0.0, 1e-300, 0.5, 1.0, 86_400.0, 9e15, f64::INFINITY];
        for pair in times.windows(2) {
            assert!(ordered_bits(pair[0]) < ordered_bits(pair[1]));
            assert!(Time(pair[0]) < Time(pair[1]));
        }
        for time in times {
            assert!(Time(from_ordered_bits(ordered_bits(time))) == Time(time));
        }
    }

    #[test]
    fn what_is_added_to_a_late_time_stays_what_it_is() {
        let begin = FineTime::at(1.7e9 + 0.3);
        let mut now = begin;
        for _ in 0..1_000_000 {
            now = now.after(1e-9);
        }
        assert!((now.since(begin) / 1e-3 - 1.0).abs() < 1e-12);
        assert!(begin < now && now.floor() <= now.rounded());
        assert_eq!(Time(begin.after(f64::INFINITY).rounded()), Time::NEVER);
    }

    #[test]
    fn clocks_with_an_interval_do_not_add_up_what_rounding_takes_off() {
        let begin = 1_700_000_000.25;
        let mut clock = IntervalClock::from_first_submission(None, 0.1, begin);
        assert_eq!(Time(clock.next()), Time(begin));
        for _ in 0..1_000_000 {
            let now = clock.next();
            clock.pass(now);
            assert!(clock.next() > now);
        }
        assert_eq!(Time(clock.next()), Time(begin + 1_000_000.0 * 0.1));
        let since = IntervalClock::from_first_submission(Some(3.0), 2.0, 10.5);
        assert_eq!(Time(since.next()), Time(9.0));
    }

    #[test]
    fn fine_times_have_integers_of_the_same_order() {
        let base = FineTime::at(1e9);
        let times = [base.after(-1e-12), base.after(-1e-20), base, base.after(1e-20), base.after(1e-12)];
        for pair in times.windows(2) {
            assert!(pair[0] < pair[1] && pair[0].ordered_bits() < pair[1].ordered_bits());
        }
        for time in times {
            assert!(FineTime::from_ordered_bits(time.ordered_bits()) == time);
        }
        assert_eq!(Time(times[0].floor()), Time(1e9_f64.next_down()));
        assert_eq!(Time(times[4].floor()), Time(1e9));
    }
}
