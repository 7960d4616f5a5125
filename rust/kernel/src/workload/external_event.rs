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

/// What happens. Jobs are named by their slots.
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
pub const EVENT_NAMES: [&str; 17] = [
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
    /// A requested_time or a priority.
    pub value: Option<f64>,
    /// Whether jobs on nodes that go down are killed.
    pub kills: bool,
}

impl ExternalEvent {
    /// The event with this name; None where there is none, it needs what the subject does not have, or it is a submission.
    #[must_use]
    pub fn named(name: &str, subject: EventSubject) -> Option<Self> {
        let EventSubject { job, nodes, value, kills } = subject;
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
            let subject = EventSubject { job: Some(0), value: Some(1.0), ..EventSubject::default() };
            assert_eq!(ExternalEvent::named(name, subject).is_some(), name != "submit", "{name}");
            let lacks_job = ExternalEvent::named(name, EventSubject::default()).is_none();
            let is_about_others = ["drain", "remove", "down", "resume", "add", "up"].contains(&name)
                || name.starts_with("scheduler");
            assert_eq!(lacks_job, !is_about_others, "{name}");
        }
    }
}
