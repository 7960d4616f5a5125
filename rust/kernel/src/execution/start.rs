//! The times from which the end of a job with an application is computed.
use serde::{Deserialize, Serialize};

/// The start of a job, and the seconds of its run before its application began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Start of the job, seconds.
    pub time: f64,
    /// Seconds from the start until the application began.
    pub before: f64,
}

impl Start {
    /// The end of a job with an application of this duration: its start plus its run time, rounded once.
    #[must_use]
    pub fn end_after(self, seconds: f64) -> f64 {
        self.time + (self.before + seconds)
    }
}
