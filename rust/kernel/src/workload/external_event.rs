//! External events (S18): what users, administrators and faults do, each at its instant.
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What becomes of the jobs on nodes that are taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evacuation {
    /// They stay.
    Stay,
    /// They give up their nodes and wait again.
    Requeue,
    /// They are killed.
    Kill,
}

/// What a limit limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitedQuantity {
    /// Jobs that run.
    RunningJobs,
    /// Jobs that wait or run.
    SubmittedJobs,
    /// The time for which a job may ask, seconds.
    Time,
    /// What running jobs hold: of a resource by its place, or behind these the number of nodes.
    Amount(u32),
    /// What running jobs may still use of a resource, minutes.
    RunningMinutes(u32),
    /// What runs have used and may still use of a resource, minutes.
    TotalMinutes(u32),
}

impl LimitedQuantity {
    /// The quantity with this name; one of a resource has its place, `nodes` the number of resources.
    #[must_use]
    pub fn named(name: &str, place: u32) -> Option<Self> {
        Some(match name {
            "running_jobs" => Self::RunningJobs,
            "submitted_jobs" => Self::SubmittedJobs,
            "time" => Self::Time,
            "nodes" | "resources" => Self::Amount(place),
            "running_minutes" => Self::RunningMinutes(place),
            "total_minutes" => Self::TotalMinutes(place),
            _ => return None,
        })
    }
}

/// What happens. Jobs are named by their slots, limits and reservations by their numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExternalEvent {
    /// A waiting job leaves the queue for good.
    Cancel(u32),
    /// A running job is killed.
    Kill(u32),
    /// The run of a job is over, whatever its run_time.
    End(u32),
    /// A running job waits again.
    Requeue(u32),
    /// A waiting job waits outside the queue.
    Hold(u32),
    /// A job that is held waits in the queue again.
    Release(u32),
    /// A job has another requested_time, seconds.
    SetRequestedTime {
        /// The job.
        job: u32,
        /// Seconds.
        seconds: f64,
    },
    /// A job has a fixed priority; None: that of the order again.
    SetPriority {
        /// The job.
        job: u32,
        /// The negative of its key.
        priority: Option<f64>,
    },
    /// Nodes take no further job.
    CloseNodes {
        /// Which.
        nodes: Vec<Range<u32>>,
        /// What becomes of the jobs there.
        jobs: Evacuation,
    },
    /// Nodes take jobs again.
    OpenNodes(Vec<Range<u32>>),
    /// A limit allows another amount of what it limits; None: any.
    SetLimit {
        /// The limit.
        limit: u32,
        /// What of it.
        quantity: LimitedQuantity,
        /// How much.
        value: Option<f64>,
    },
    /// A reservation of the machine is known from now on.
    Reserve(u32),
    /// A reservation of the machine is given up.
    Unreserve(u32),
    /// No pass is made until the scheduler is started again.
    StopScheduler,
    /// Passes are made again.
    StartScheduler,
}

/// An event and its instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedEvent {
    /// When, seconds.
    pub time: f64,
    /// What.
    pub event: ExternalEvent,
}

/// The kinds of events by their names; a kind's number is its place.
pub const EVENT_NAMES: [&str; 20] = [
    "submit",
    "cancel",
    "kill",
    "end",
    "requeue",
    "hold",
    "release",
    "requested_time",
    "priority",
    "drain",
    "resume",
    "remove",
    "add",
    "down",
    "up",
    "limit",
    "reserve",
    "unreserve",
    "scheduler_stop",
    "scheduler_start",
];

/// What an event may be about.
#[derive(Clone, Debug, Default)]
pub struct EventSubject {
    /// A job's slot.
    pub job: Option<u32>,
    /// Nodes.
    pub nodes: Vec<Range<u32>>,
    /// A requested_time, a priority, or what a limit allows.
    pub value: Option<f64>,
    /// A limit, and what of it.
    pub limit: Option<(u32, LimitedQuantity)>,
    /// A reservation of the machine.
    pub reservation: Option<u32>,
    /// Whether jobs on nodes that go down are killed.
    pub kills: bool,
}

impl ExternalEvent {
    /// The event with this name; None where there is none, it needs what the subject does not have, or it is a submission.
    #[must_use]
    pub fn named(name: &str, subject: EventSubject) -> Option<Self> {
        let EventSubject { job, nodes, value, limit, reservation, kills } = subject;
        let evacuation = if kills { Evacuation::Kill } else { Evacuation::Requeue };
        Some(match name {
            "cancel" => Self::Cancel(job?),
            "kill" => Self::Kill(job?),
            "end" => Self::End(job?),
            "requeue" => Self::Requeue(job?),
            "hold" => Self::Hold(job?),
            "release" => Self::Release(job?),
            "requested_time" => Self::SetRequestedTime { job: job?, seconds: value? },
            "priority" => Self::SetPriority { job: job?, priority: value },
            "drain" | "remove" => Self::CloseNodes { nodes, jobs: Evacuation::Stay },
            "down" => Self::CloseNodes { nodes, jobs: evacuation },
            "resume" | "add" | "up" => Self::OpenNodes(nodes),
            "limit" => {
                let (limit, quantity) = limit?;
                Self::SetLimit { limit, quantity, value }
            }
            "reserve" => Self::Reserve(reservation?),
            "unreserve" => Self::Unreserve(reservation?),
            "scheduler_stop" => Self::StopScheduler,
            "scheduler_start" => Self::StartScheduler,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_but_that_of_submissions_is_an_event() {
        for name in EVENT_NAMES {
            let limit = Some((0, LimitedQuantity::Time));
            let (job, value, reservation) = (Some(0), Some(1.0), Some(0));
            let subject = EventSubject { job, value, limit, reservation, ..EventSubject::default() };
            assert_eq!(ExternalEvent::named(name, subject).is_some(), name != "submit", "{name}");
            let lacks_subject = ExternalEvent::named(name, EventSubject::default()).is_none();
            let is_about_others = ["drain", "remove", "down", "resume", "add", "up"].contains(&name)
                || name.starts_with("scheduler");
            assert_eq!(lacks_subject, !is_about_others, "{name}");
        }
    }
}
