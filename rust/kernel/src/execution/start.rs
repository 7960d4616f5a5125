//! What the end of a job that carries an application is counted from.
use serde::{Deserialize, Serialize};

/// When a job started, and how many seconds of its run passed before its application began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// When the job started.
    pub time: f64,
    /// Seconds from then until its application began.
    pub before: f64,
}

impl Start {
    /// When the job ends whose application takes so many seconds: its start and run time, rounded once.
    #[must_use]
    pub fn end_after(self, seconds: f64) -> f64 {
        self.time + (self.before + seconds)
    }
}
