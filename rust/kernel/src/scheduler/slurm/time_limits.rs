//! When the controller ends jobs that are over their time limits: it looks at them at times of its own (S25).
use serde::{Deserialize, Serialize};

use super::clock::drawn;
use super::entries::whole_minutes;
use super::settings::SlurmSettings;

/// Seconds from one look at the limits to the next.
const PERIOD: f64 = 30.0;
/// What numbers the draw of the phase.
const LIMIT_PHASE: u64 = 0x53;

/// The times of these looks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct TimeLimits {
    phase: f64,
    /// Seconds that jobs may run beyond their limits.
    over: f64,
}

impl TimeLimits {
    pub fn new(settings: &SlurmSettings, seed: u64) -> Self {
        let phase = settings.limit_phase.unwrap_or_else(|| drawn(seed, LIMIT_PHASE) * PERIOD);
        Self { phase, over: settings.over_time_limit }
    }

    /// When a job that has started then, and asks for so many seconds, is ended unless it ends before; now or later.
    pub fn end_of(&self, start: f64, requested_time: f64, now: f64) -> f64 {
        if requested_time.is_infinite() {
            return f64::INFINITY;
        }
        let due = now.max(start.floor() + whole_minutes(requested_time) + self.over);
        let number = ((due - self.phase) / PERIOD).ceil();
        let at = |number: f64| self.phase + number * PERIOD;
        // The quotient was rounded.
        [number - 1.0, number]
            .map(at)
            .into_iter()
            .find(|&time| time >= due)
            .unwrap_or_else(|| at(number + 1.0))
    }
}
