//! The clock: float64 seconds with a total order.
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// Seconds since the workload's origin. Ordered totally, so that it can be a key.
///
/// Inputs are numbers (the gates see to that), so the numeric order is total.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Time(pub f64);

impl Time {
    /// Later than everything that happens.
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

// Times are compared all day: the machine's own comparisons of numbers cost the least.
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

/// The bits of a non-negative time as an integer of the same order.
#[must_use]
pub fn ordered_bits(seconds: f64) -> i64 {
    seconds.to_bits() as i64
}

/// The time whose [`ordered_bits`] these are.
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
}
