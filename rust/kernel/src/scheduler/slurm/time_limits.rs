//! Times at which the controller ends jobs over their time limits: it checks the limits periodically (S25).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;
use crate::slurm::{LIMIT_PERIOD, SlurmParameters};

use super::clock::drawn;

const MINUTE: f64 = 60.0;
/// Stream number of the random phase.
const LIMIT_PHASE: u64 = 0x53;

/// Times of the checks, and tolerances beyond the limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct TimeLimits {
    phase: f64,
    /// Default tolerance beyond the limit, seconds (`OverTimeLimit`).
    over: f64,
    /// Tolerances of running jobs whose partition sets one.
    over_of: BTreeMap<u32, f64>,
    /// End of the grace time of each job chosen for preemption.
    notices: BTreeMap<u32, f64>,
}

impl TimeLimits {
    pub fn new(parameters: &SlurmParameters, seed: u64) -> Self {
        let phase = parameters.limit_phase.unwrap_or_else(|| drawn(seed, LIMIT_PHASE) * LIMIT_PERIOD);
        Self { phase, over: parameters.over_time_limit, over_of: BTreeMap::new(), notices: BTreeMap::new() }
    }

    /// Record that a job starts with this request.
    pub fn starts(&mut self, scenario: &Scenario, job: u32, request: u32) {
        let place = scenario.alternatives(job).iter().position(|&each| each == request);
        if let Some(over) = place.and_then(|place| scenario.attributes.over_time_limit(job, place)) {
            self.over_of.insert(job, over);
        }
    }

    /// Record that a running job may exceed its limit by so many seconds.
    pub fn tolerates(&mut self, job: u32, over: f64) {
        self.over_of.insert(job, over);
    }

    /// Return whether that is known of a job.
    pub fn has_tolerance(&self, job: u32) -> bool {
        self.over_of.contains_key(&job)
    }

    /// Forget it of all jobs but these.
    pub fn keep(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.over_of.retain(|&job, _| is_kept(job));
    }

    /// Record that a job is chosen for preemption: it runs until the first check at or after `end`.
    pub fn notice(&mut self, job: u32, end: f64) {
        self.notices.insert(job, end);
    }

    /// Return the end of a job's grace time, or None if it is not chosen for preemption.
    pub fn notice_end(&self, job: u32) -> Option<f64> {
        self.notices.get(&job).copied()
    }

    /// Return whether any job runs in its grace time.
    pub fn has_notices(&self) -> bool {
        !self.notices.is_empty()
    }

    /// Remove the grace times of these jobs.
    pub fn forget_notices(&mut self, jobs: &[u32]) {
        if !self.notices.is_empty() {
            for job in jobs {
                self.notices.remove(job);
            }
        }
    }

    /// Forget jobs that no longer hold nodes.
    pub fn end(&mut self, jobs: &[u32]) {
        self.forget_notices(jobs);
        if !self.over_of.is_empty() {
            for job in jobs {
                self.over_of.remove(job);
            }
        }
    }

    /// Return how many seconds a running job may exceed its limit.
    pub fn over(&self, job: u32) -> f64 {
        self.over_of.get(&job).copied().unwrap_or(self.over)
    }

    /// Return when the controller ends a job with this start and time limit, at `now` or later, if the job does not end
    /// before.
    pub fn end_of(&self, job: u32, start: f64, time_limit: f64, now: f64) -> f64 {
        if time_limit.is_infinite() {
            return f64::INFINITY;
        }
        self.look_from(now.max(start.floor() + whole_minutes(time_limit) + self.over(job)))
    }

    /// Return the first check after `now` at which a grace time is over.
    pub fn look_after(&self, end: f64, now: f64) -> f64 {
        let look = self.look_from(end.max(now));
        if look > now { look } else { look + LIMIT_PERIOD }
    }

    /// Return the first check at this time or later.
    fn look_from(&self, due: f64) -> f64 {
        let number = ((due - self.phase) / LIMIT_PERIOD).ceil();
        let at = |number: f64| self.phase + number * LIMIT_PERIOD;
        // The quotient is rounded: check its neighbours.
        [number - 1.0, number]
            .map(at)
            .into_iter()
            .find(|&time| time >= due)
            .unwrap_or_else(|| at(number + 1.0))
    }
}

/// Round seconds up to whole minutes, at least one.
pub(super) fn whole_minutes(seconds: f64) -> f64 {
    (seconds / MINUTE).ceil().max(1.0) * MINUTE
}
