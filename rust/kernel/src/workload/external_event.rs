//! External events (S18): actions of users and administrators, and faults, each at a given time.
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Treatment of jobs on nodes that are removed or fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evacuation {
    /// Keep running.
    Stay,
    /// Release the nodes and wait again.
    Requeue,
    /// Kill the jobs.
    Kill,
}

/// The quantity that a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LimitedQuantity {
    /// Number of running jobs.
    RunningJobs,
    /// Number of waiting and running jobs.
    SubmittedJobs,
    /// Requested time of a job, seconds.
    Time,
    /// Amount held by running jobs: of the resource with this index, or the number of nodes if the index is the number
    /// of resources.
    Amount(u32),
    /// Amount of a resource that running jobs may still use, minutes.
    RunningMinutes(u32),
    /// Amount of a resource that runs have used and may still use, minutes.
    TotalMinutes(u32),
}

impl LimitedQuantity {
    /// The quantity with this name. `place` is the index of a resource, or the number of resources for `nodes`.
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

/// An external event. Jobs are given by slot, limits and reservations by number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExternalEvent {
    /// A waiting job leaves the queue permanently.
    Cancel(u32),
    /// A running job is killed.
    Kill(u32),
    /// A running job ends, whatever its run_time.
    End(u32),
    /// A running job is requeued.
    Requeue(u32),
    /// A waiting job is held outside the queue.
    Hold(u32),
    /// A held job returns to the queue.
    Release(u32),
    /// Changes the requested_time of a job, seconds.
    SetRequestedTime {
        /// The job.
        job: u32,
        /// The new requested time, seconds.
        seconds: f64,
    },
    /// Sets a fixed priority of a job; None restores the priority of the order.
    SetPriority {
        /// The job.
        job: u32,
        /// The negative of the job's key.
        priority: Option<f64>,
    },
    /// Closes nodes: they accept no further job.
    CloseNodes {
        /// The nodes.
        nodes: Vec<Range<u32>>,
        /// Treatment of the jobs on the nodes.
        jobs: Evacuation,
    },
    /// Opens nodes: they accept jobs again.
    OpenNodes(Vec<Range<u32>>),
    /// Changes a limit of a quantity; None removes it.
    SetLimit {
        /// The limit.
        limit: u32,
        /// The limited quantity.
        quantity: LimitedQuantity,
        /// The new limit.
        value: Option<f64>,
    },
    /// A reservation becomes known.
    Reserve(u32),
    /// A reservation is withdrawn.
    Unreserve(u32),
    /// Stops the scheduler: no pass runs until it is started again.
    StopScheduler,
    /// Starts the scheduler again.
    StartScheduler,
}

/// An event and its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimedEvent {
    /// Time of the event, seconds.
    pub time: f64,
    /// The event.
    pub event: ExternalEvent,
}

/// The kinds of events by name; the number of a kind is its index.
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

/// Arguments of an event.
#[derive(Clone, Debug, Default)]
pub struct EventSubject {
    /// Slot of a job.
    pub job: Option<u32>,
    /// Nodes.
    pub nodes: Vec<Range<u32>>,
    /// A requested_time, a priority, or the value of a limit.
    pub value: Option<f64>,
    /// A limit, and its quantity.
    pub limit: Option<(u32, LimitedQuantity)>,
    /// A reservation of the machine.
    pub reservation: Option<u32>,
    /// True if jobs on nodes that go down are killed.
    pub kills: bool,
}

impl ExternalEvent {
    /// The event with this name; None if the name is unknown or a submission, or a required argument is missing.
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
