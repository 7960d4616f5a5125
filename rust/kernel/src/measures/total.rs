//! Sums of many numbers.

/// A sum with compensation of rounding errors (Neumaier's variant of Kahan's algorithm).
#[derive(Clone, Copy, Debug, Default)]
pub struct Total {
    sum: f64,
    lost: f64,
}

impl Total {
    /// Adds a number.
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - sum) + value } else { (value - sum) + self.sum };
        self.sum = sum;
    }

    /// The sum so far.
    #[must_use]
    pub fn value(self) -> f64 {
        self.sum + self.lost
    }
}
