//! The options of a reader.

/// What to do with a job that ran longer than it asked for (S3).
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

/// What to do with a job that breaks a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Invalid {
    /// Leave it out, and note its line and the reason.
    #[default]
    Drop,
    /// End with an error.
    Raise,
}

/// Which field says how many processors a job gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProcessorField {
    /// Field 8, else field 5.
    #[default]
    Requested,
    /// Field 5, else field 8.
    Allocated,
}

/// How a log is read; the default is that of `read_swf`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SwfOptions {
    /// Jobs that ran longer than they asked for.
    pub overrun: Overrun,
    /// Jobs that break a rule.
    pub invalid: Invalid,
    /// The field that a job's processors come from.
    pub processors: ProcessorField,
    /// Whether jobs ask for memory: field 10, else field 7.
    pub use_memory: bool,
    /// Whether jobs that were cancelled before they started wait until they are cancelled; if not, they take their run time.
    pub log_events: bool,
}
