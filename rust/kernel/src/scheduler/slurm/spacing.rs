//! Calls of the main loop that come too soon after the latest are put off, and several become one (`sched_min_interval`).
use serde::{Deserialize, Serialize};

/// Shorter intervals put nothing off: Slurm's usual one is 2 µs.
const SHORTEST: f64 = 0.01;

/// When the latest call was, and which is put off.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spacing {
    /// Seconds from one call to the next, at least.
    interval: f64,
    latest: f64,
    /// Whether the call that is put off looks at the whole queue.
    put_off: Option<bool>,
}

impl Spacing {
    pub fn new(interval: f64) -> Self {
        let interval = if interval < SHORTEST { 0.0 } else { interval };
        Self { interval, latest: f64::NEG_INFINITY, put_off: None }
    }

    /// Whether a call that comes now is put off.
    pub fn puts_off(&mut self, now: f64, is_full: bool) -> bool {
        let is_soon = self.put_off.is_some() || now < self.latest + self.interval;
        if is_soon {
            self.put_off = Some(is_full || self.put_off == Some(true));
        }
        is_soon
    }

    /// When the call that is put off is made.
    pub fn next(&self) -> Option<f64> {
        self.put_off.map(|_| self.latest + self.interval)
    }

    /// Makes the call that was put off; whether it looks at the whole queue.
    pub fn take(&mut self) -> Option<bool> {
        self.put_off.take()
    }

    /// A call was made.
    pub fn called(&mut self, now: f64) {
        self.latest = now;
    }
}
