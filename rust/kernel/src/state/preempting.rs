//! How far preemption is: for which job others have just been preempted, what became of these, and when running jobs may be
//! victims.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// How far preemption is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PreemptionState {
    /// The job for which others have just been preempted.
    pub started_for: Option<u32>,
    /// Those that were preempted in this pass: they wait again, or end, when it is over.
    pub victims: Vec<u32>,
    /// When running jobs have run long enough to be victims, until a pass at that time.
    exemptions: BTreeSet<(Time, u32)>,
}

impl PreemptionState {
    /// When the next running job may be a victim. O(log n), n running jobs.
    #[must_use]
    pub fn next_exemption(&self) -> Time {
        self.exemptions.first().map_or(Time::NEVER, |&(time, _)| time)
    }

    /// A job starts, which may be a victim from this time on.
    pub fn begin_exemption(&mut self, job: u32, end: f64) {
        self.exemptions.insert((Time(end), job));
    }

    /// A job gives back its nodes.
    pub fn end_exemption(&mut self, job: u32, end: f64) {
        self.exemptions.remove(&(Time(end), job));
    }

    /// A pass looks at all jobs that may be victims now.
    pub fn pass_exemptions(&mut self, now: f64) {
        while self.exemptions.first().is_some_and(|&(time, _)| time <= Time(now)) {
            self.exemptions.pop_first();
        }
    }
}
