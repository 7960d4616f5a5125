//! Jobs: an immutable row of a workload, and the states of a job.
use serde::{Deserialize, Serialize};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum JobState {
    /// Known, not yet submitted.
    Loaded = 0,
    /// Waiting, in the queue or on hold.
    Queued = 1,
    /// Running on its nodes.
    Running = 2,
    /// Ran its run_time.
    Completed = 3,
    /// Ended before its run_time: by the rule for time limits, a scheduler or a failure.
    Killed = 4,
    /// Could never have fit, or a job that it depends on did not complete.
    Rejected = 5,
    /// Cancelled: removed from the queue, or without a known run time and ended by the cancellation.
    Cancelled = 6,
}

impl JobState {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 7] = [
        Self::Loaded,
        Self::Queued,
        Self::Running,
        Self::Completed,
        Self::Killed,
        Self::Rejected,
        Self::Cancelled,
    ];

    /// The name of the state.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Loaded => "loaded",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Killed => "killed",
            Self::Rejected => "rejected",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns whether the job has ended and was not rejected.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Killed | Self::Cancelled)
    }
}

/// The reason for the rejection of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Rejection {
    /// It requests a resource that no node has.
    LacksResource = 1,
    /// It would not fit on the nodes of its set even without other jobs.
    NeverFits = 2,
    /// A job that it depends on did not complete.
    Dependency = 3,
    /// The policy rejects every job.
    Policy = 4,
    /// No queue admits it.
    Queue = 5,
    /// No partition that it may run in admits it.
    Partition = 6,
    /// The number of waiting and running jobs has reached a limit.
    Limit = 7,
    /// It may not use the reservation that it names, or could not end within it.
    Reservation = 8,
    /// It names something unknown to the system, or requests nodes in an unsupported way.
    Unknown = 9,
}

impl Rejection {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 9] = [
        Self::LacksResource,
        Self::NeverFits,
        Self::Dependency,
        Self::Policy,
        Self::Queue,
        Self::Partition,
        Self::Limit,
        Self::Reservation,
        Self::Unknown,
    ];

    /// The name of the reason.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LacksResource => "lacks_resource",
            Self::NeverFits => "never_fits",
            Self::Dependency => "dependency",
            Self::Policy => "policy",
            Self::Queue => "queue",
            Self::Partition => "partition",
            Self::Limit => "limit",
            Self::Reservation => "reservation",
            Self::Unknown => "unknown",
        }
    }
}

/// One row of a workload. Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The index in the workload; the last tie-breaker.
    pub row: u64,
    /// The submit time.
    pub submit_time: f64,
    /// Its true duration at rate 1, which no scheduler sees.
    pub run_time: f64,
    /// The time with which schedulers plan.
    pub requested_time: f64,
    /// The time limit of a run; infinity if it has none.
    pub time_limit: f64,
    /// Number of tasks, at least 1.
    pub tasks: u32,
    /// The request of each task: an index into the interned requests.
    pub request: u32,
}
