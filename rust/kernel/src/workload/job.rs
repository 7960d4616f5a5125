//! What a job is: a row that never changes, and the names of the states in which it can be.
use serde::{Deserialize, Serialize};

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum JobState {
    /// Known, not yet submitted.
    Loaded = 0,
    /// Waiting, in the queue or on hold.
    Queued = 1,
    /// Holding its nodes.
    Running = 2,
    /// Ran its run_time.
    Completed = 3,
    /// Ended before its run_time was over: by the wall time rule, a scheduler or a failure.
    Killed = 4,
    /// Could never have fitted, or a job that it depends on did not complete.
    Rejected = 5,
    /// Was cancelled: it left the queue, or has no run time of its own and ran until then.
    Cancelled = 6,
}

impl JobState {
    /// All of them, in the order of their numbers.
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

    /// Whether the job is over and was not rejected.
    #[must_use]
    pub fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Killed | Self::Cancelled)
    }
}

/// Why a job was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Rejection {
    /// It asks for a resource that no node has.
    LacksResource = 1,
    /// It would not fit on the nodes of its set on the empty system.
    NeverFits = 2,
    /// A job that it depends on did not complete.
    Dependency = 3,
    /// The policy rejects every job.
    Policy = 4,
    /// Its queue does not admit it, or no queue does.
    Queue = 5,
    /// No partition that it may run in admits it.
    Partition = 6,
    /// As many jobs as a limit allows wait and run already.
    Limit = 7,
    /// It may not use the reservation that it names, or could not end within it.
    Reservation = 8,
    /// It names what the system does not have, or asks for nodes in a way that is not modelled.
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
    /// The place in the workload; the last tie-breaker.
    pub row: u64,
    /// When it is submitted.
    pub submit_time: f64,
    /// Its true duration at rate 1, which no scheduler sees.
    pub run_time: f64,
    /// What schedulers plan with.
    pub requested_time: f64,
    /// How long it may run; infinite where it has no limit.
    pub time_limit: f64,
    /// Number of tasks, at least 1.
    pub tasks: u32,
    /// What each task asks: an index into the interned requests.
    pub request: u32,
}
