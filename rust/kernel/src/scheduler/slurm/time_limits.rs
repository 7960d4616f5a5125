//! When the controller ends jobs that are over their time limits: it looks at them at times of its own (S25).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;

use super::clock::drawn;
use super::settings::SlurmSettings;

/// Seconds from one look at the limits to the next.
const PERIOD: f64 = 30.0;
const MINUTE: f64 = 60.0;
/// What numbers the draw of the phase.
const LIMIT_PHASE: u64 = 0x53;

/// The times of these looks, and how far jobs may run beyond their limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TimeLimits {
    phase: f64,
    /// Seconds beyond the limit, unless the job's partition says otherwise.
    over: f64,
    /// The same for the jobs that hold nodes, where partitions have some.
    over_of: BTreeMap<u32, f64>,
    /// When the grace times of jobs are over that were chosen for preemption.
    notices: BTreeMap<u32, f64>,
}

impl TimeLimits {
    pub fn new(settings: &SlurmSettings, seed: u64) -> Self {
        let phase = settings.limit_phase.unwrap_or_else(|| drawn(seed, LIMIT_PHASE) * PERIOD);
        Self { phase, over: settings.over_time_limit, over_of: BTreeMap::new(), notices: BTreeMap::new() }
    }

    /// A job starts with this of its requests.
    pub fn starts(&mut self, scenario: &Scenario, job: u32, request: u32) {
        let place = scenario.alternatives(job).iter().position(|&each| each == request);
        if let Some(over) = place.and_then(|place| scenario.attributes.over_time_limit(job, place)) {
            self.over_of.insert(job, over);
        }
    }

    /// A job is chosen for preemption, and runs on until then, or until a look after that.
    pub fn notice(&mut self, job: u32, end: f64) {
        self.notices.insert(job, end);
    }

    /// When the grace time of a job is over; None where it is not chosen for preemption.
    pub fn notice_end(&self, job: u32) -> Option<f64> {
        self.notices.get(&job).copied()
    }

    /// Whether some job runs on for its grace time.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Jobs run on no more.
    pub fn forget_notices(&mut self, jobs: &[u32]) {
        if !self.notices.is_empty() {
            for job in jobs {
                self.notices.remove(job);
            }
        }
    }

    /// Jobs hold nodes no more.
    pub fn end(&mut self, jobs: &[u32]) {
        self.forget_notices(jobs);
        if !self.over_of.is_empty() {
            for job in jobs {
                self.over_of.remove(job);
            }
        }
    }

    /// Seconds that a running job may run beyond its limit.
    pub fn over(&self, job: u32) -> f64 {
        self.over_of.get(&job).copied().unwrap_or(self.over)
    }

    /// When a job that has started then, and asks for so many seconds, is ended unless it ends before; now or later.
    pub fn end_of(&self, job: u32, start: f64, time_limit: f64, now: f64) -> f64 {
        if time_limit.is_infinite() {
            return f64::INFINITY;
        }
        self.look_from(now.max(start.floor() + whole_minutes(time_limit) + self.over(job)))
    }

    /// The first look, later than now, by which a grace time is over.
    pub fn look_after(&self, end: f64, now: f64) -> f64 {
        let look = self.look_from(end.max(now));
        if look > now { look } else { look + PERIOD }
    }

    /// The first look at this time or later.
    fn look_from(&self, due: f64) -> f64 {
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

/// Seconds, rounded up to minutes; one at least.
pub(super) fn whole_minutes(seconds: f64) -> f64 {
    (seconds / MINUTE).ceil().max(1.0) * MINUTE
}
