//! The options of a reader.

/// Treatment of a job that ran longer than it requested (S3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overrun {
    /// Raise `requested_time` to `run_time`: the real system let it run.
    #[default]
    Extend,
    /// Cut `run_time` to `requested_time`.
    Cut,
    /// Keep both.
    Keep,
}

/// Treatment of a job that breaks a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// Drop the job, and note its line and the reason.
    #[default]
    Drop,
    /// Return an error.
    Raise,
}

/// The field with the number of processors of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessorField {
    /// Field 8; field 5 if unknown.
    #[default]
    Requested,
    /// Field 5; field 8 if unknown.
    Allocated,
}

/// Options of reading a log; the default is that of `read_swf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwfOptions {
    /// Jobs that ran longer than they requested.
    pub overrun: Overrun,
    /// Jobs that break a rule.
    pub invalid: Invalid,
    /// The field with the number of processors.
    pub processors: ProcessorField,
    /// True if jobs request memory: field 10; field 7 if unknown.
    pub use_memory: bool,
    /// True if jobs that were cancelled before they started wait until they are cancelled; false if they have their run
    /// time.
    pub log_events: bool,
}
