//! When an outside scheduler is asked: once an instant (S2), or event by event as `ElastiSim` does.
use crate::time::Time;

/// A kind of event that a scheduler may be asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A job entered the queue.
    Submission,
    /// A job ended, by itself or killed at its limit.
    Completion,
    /// A running job can be resized.
    SchedulingPoint,
    /// A running job is about to be resized as was decided earlier; only where scheduling points are not asked about.
    Reconfiguration,
}

/// Which events a scheduler is asked about, one by one; evolving requests always are.
#[derive(Clone, Debug, PartialEq)]
pub struct Invocations {
    /// The kinds of events.
    pub about: Vec<Asked>,
    /// Seconds from one periodic question to the next; infinite where there is none.
    pub interval: f64,
    /// Seconds within which there is no second question.
    pub minimum_interval: f64,
}

/// Why a scheduler is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cause {
    /// Something happened at this instant.
    #[default]
    Instant,
    /// The interval is over.
    Periodic,
    /// This job was submitted.
    Submission(u32),
    /// This job ran to its end.
    Completion(u32),
    /// This job was killed at its limit.
    Kill(u32),
    /// This job is at a scheduling point.
    SchedulingPoint(u32),
    /// This job asks for so many tasks.
    EvolvingRequest(u32, u32),
    /// This job is about to be resized.
    Reconfiguration(u32),
}

/// Invocations, and how far they are.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    rules: Invocations,
    /// When the interval is over.
    pub periodic: Time,
    /// When questions were held back within the minimum interval: its end.
    pub held_back: Time,
    latest: f64,
}

impl Asking {
    pub(super) fn new(rules: Invocations) -> Self {
        let periodic = if rules.interval.is_finite() { Time(rules.interval) } else { Time::NEVER };
        Self { rules, periodic, held_back: Time::NEVER, latest: f64::NEG_INFINITY }
    }

    /// When the clock alone brings the next question.
    pub(super) fn next_time(&self) -> Time {
        self.periodic.min(self.held_back)
    }

    /// Whether the clock alone brings a question now; the next ones are then set.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let due = self.next_time() <= now;
        if self.periodic <= now {
            self.periodic = Time(now.0 + self.rules.interval);
        }
        if self.held_back <= now {
            self.held_back = Time::NEVER;
        }
        due
    }

    /// Whether the scheduler is asked for this cause now. What falls within the minimum interval is held back, and
    /// answered at its end by a periodic question; an evolving request cannot wait.
    pub(super) fn asks(&mut self, cause: Cause, now: f64) -> bool {
        let wanted = match cause {
            Cause::Submission(_) => self.is_about(Asked::Submission),
            Cause::Completion(_) | Cause::Kill(_) => self.is_about(Asked::Completion),
            Cause::SchedulingPoint(_) => self.is_about(Asked::SchedulingPoint),
            Cause::Reconfiguration(_) => {
                self.is_about(Asked::Reconfiguration) && !self.is_about(Asked::SchedulingPoint)
            }
            Cause::EvolvingRequest(..) | Cause::Periodic | Cause::Instant => true,
        };
        let free = self.latest + self.rules.minimum_interval;
        if wanted && now < free && !matches!(cause, Cause::EvolvingRequest(..)) {
            self.held_back = Time(free);
            return false;
        }
        if wanted {
            self.latest = now;
        }
        wanted
    }

    fn is_about(&self, asked: Asked) -> bool {
        self.rules.about.contains(&asked)
    }
}
