//! Minimum time between calls of the main loop (`sched_min_interval`): earlier calls are postponed and merged.
use serde::{Deserialize, Serialize};

/// Shorter intervals postpone nothing: Slurm's default is 2 µs.
const SHORTEST: f64 = 0.01;

/// The latest call, and a postponed one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Spacing {
    /// Minimum seconds between calls.
    interval: f64,
    latest: f64,
    /// The postponed call, if any: true if it examines the whole queue.
    put_off: Option<bool>,
}

impl Spacing {
    pub fn new(interval: f64) -> Self {
        let interval = if interval < SHORTEST { 0.0 } else { interval };
        Self { interval, latest: f64::NEG_INFINITY, put_off: None }
    }

    /// Return whether a call at this time is postponed; if so, record it.
    pub fn puts_off(&mut self, now: f64, is_full: bool) -> bool {
        let is_soon = self.put_off.is_some() || now < self.latest + self.interval;
        if is_soon {
            self.put_off = Some(is_full || self.put_off == Some(true));
        }
        is_soon
    }

    /// Return the time of the postponed call.
    pub fn next(&self) -> Option<f64> {
        self.put_off.map(|_| self.latest + self.interval)
    }

    /// Remove the postponed call. Return whether it examines the whole queue.
    pub fn take(&mut self) -> Option<bool> {
        self.put_off.take()
    }

    /// Return the time of the latest call, and whether the postponed one, if any, examines the whole queue.
    pub fn remembered(&self) -> (Option<f64>, Option<bool>) {
        (Some(self.latest).filter(|time| time.is_finite()), self.put_off)
    }

    /// Continue after a call at this time, with this postponed one.
    pub fn recall(&mut self, latest: Option<f64>, put_off: Option<bool>) {
        self.latest = latest.unwrap_or(f64::NEG_INFINITY);
        self.put_off = put_off;
    }

    /// Record a call.
    pub fn called(&mut self, now: f64) {
        self.latest = now;
    }
}
