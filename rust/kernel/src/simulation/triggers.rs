//! Reasons of calls of a scheduler, and the rules that delay calls.
use serde::{Deserialize, Serialize};

use crate::time::{IntervalClock, Time};

use super::agenda::{TriggerKind, TriggerRules};

/// Why a scheduler is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trigger {
    /// An event at this instant.
    #[default]
    Instant,
    /// The period has ended.
    Periodic,
    /// This job was submitted.
    Submission(u32),
    /// This job ran to its end.
    Completion(u32),
    /// This job was killed at its limit.
    Kill(u32),
    /// This job is at a scheduling point.
    SchedulingPoint(u32),
    /// This job requests this many tasks.
    EvolvingRequest(u32, u32),
    /// This job is about to be resized.
    Reconfiguration(u32),
}

impl Trigger {
    /// Return the name, the job, and the number of requested tasks.
    #[must_use]
    pub fn described(self) -> (&'static str, Option<u32>, Option<u32>) {
        match self {
            Self::Instant => ("instant", None, None),
            Self::Periodic => ("periodic", None, None),
            Self::Submission(job) => ("submit", Some(job), None),
            Self::Completion(job) => ("finalise", Some(job), None),
            Self::Kill(job) => ("kill", Some(job), None),
            Self::SchedulingPoint(job) => ("scheduling_point", Some(job), None),
            Self::EvolvingRequest(job, tasks) => ("evolving_request", Some(job), Some(tasks)),
            Self::Reconfiguration(job) => ("reconfiguration", Some(job), None),
        }
    }
}

/// Time of the next periodic call, and time of the last call.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TriggerClock {
    /// Periodic calls, if there are any.
    periodic: Option<IntervalClock>,
    /// End of the minimum interval if a call was delayed within it.
    held_back: Time,
    latest: f64,
}

impl TriggerClock {
    /// Create the clock before the first call. Periodic calls begin one interval after the origin, or at the first
    /// multiple that is not before the first submission, if that is later.
    #[must_use]
    pub fn new(rules: Option<&TriggerRules>, first_submission: f64) -> Self {
        let timed = rules.filter(|rules| rules.interval.is_finite());
        let periodic = timed.map(|rules| {
            let origin = rules.since.unwrap_or(first_submission);
            let passed = ((first_submission - origin) / rules.interval).ceil();
            IntervalClock::new(origin, rules.interval, passed.max(1.0))
        });
        Self { periodic, held_back: Time::NEVER, latest: f64::NEG_INFINITY }
    }

    /// Return when the next call without an event is due.
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.periodic.map_or(self.held_back, |periodic| self.held_back.min(Time(periodic.next())))
    }

    /// Return whether a call without an event is due now, and advance the clock.
    pub fn is_due(&mut self, now: Time) -> bool {
        let due = self.next_time() <= now;
        if let Some(periodic) = &mut self.periodic {
            periodic.pass(now.0);
        }
        if self.held_back <= now {
            self.held_back = Time::NEVER;
        }
        due
    }

    /// Return whether the scheduler is called for this reason now. A call within the minimum interval is delayed, and
    /// replaced by a periodic call at its end; an evolving request is never delayed.
    pub fn asks(&mut self, rules: &TriggerRules, trigger: Trigger, now: f64) -> bool {
        let is_about = |kind| rules.about.contains(&kind);
        let wanted = match trigger {
            Trigger::Submission(_) => is_about(TriggerKind::Submission),
            Trigger::Completion(_) | Trigger::Kill(_) => is_about(TriggerKind::Completion),
            Trigger::SchedulingPoint(_) => is_about(TriggerKind::SchedulingPoint),
            Trigger::Reconfiguration(_) => {
                is_about(TriggerKind::Reconfiguration) && !is_about(TriggerKind::SchedulingPoint)
            }
            Trigger::EvolvingRequest(..) | Trigger::Periodic | Trigger::Instant => true,
        };
        let free = self.latest + rules.minimum_interval;
        if wanted && now < free && !matches!(trigger, Trigger::EvolvingRequest(..)) {
            self.held_back = Time(free);
            return false;
        }
        if wanted {
            self.latest = now;
        }
        wanted
    }
}
