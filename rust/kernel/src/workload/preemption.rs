//! Preemption: which jobs may preempt which running jobs, and the treatment of the victims.
use serde::{Deserialize, Serialize};

/// Treatment of a preempted job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreemptionMode {
    /// Kill it.
    Cancel,
    /// Requeue it; it runs again from its start.
    Requeue,
    /// Suspend it; it waits again, and continues its work.
    Suspend,
}

impl PreemptionMode {
    /// All modes with their names.
    pub const NAMES: [(&str, Self); 3] =
        [("cancel", Self::Cancel), ("requeue", Self::Requeue), ("suspend", Self::Suspend)];
}

/// The rules of preemption, by classes of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreemptionRules {
    /// The class of each job, by slot: its tier or its quality of service.
    pub class_of: Vec<u32>,
    /// For each class, the classes that it may preempt; the relation has no cycle.
    pub preempts: Vec<Vec<u32>>,
    /// For each class its importance: jobs of the least important class are the first victims.
    pub importance: Vec<f64>,
    /// Treatment of the victims.
    pub mode: PreemptionMode,
    /// Seconds that a job must have run before it may be preempted.
    pub exempt_time: f64,
    /// Seconds that a victim continues to run after the decision; 0 if it is suspended.
    pub grace_time: f64,
    /// True if, within a class, the job that started last is the first victim; false if the job with the fewest nodes
    /// is.
    pub youngest_first: bool,
}

impl PreemptionRules {
    /// The number of a job's class.
    #[must_use]
    pub fn class_number(&self, slot: u32) -> u32 {
        self.class_of.get(slot as usize).copied().unwrap_or_default()
    }

    fn class(&self, slot: u32) -> usize {
        self.class_number(slot) as usize
    }

    /// The classes that a job may preempt.
    #[must_use]
    pub fn below(&self, slot: u32) -> &[u32] {
        self.preempts.get(self.class(slot)).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a job may preempt another.
    #[must_use]
    pub fn may_preempt(&self, slot: u32, other: u32) -> bool {
        self.below(slot).contains(&(self.class(other) as u32))
    }

    /// The importance of a job's class.
    #[must_use]
    pub fn importance(&self, slot: u32) -> f64 {
        self.importance.get(self.class(slot)).copied().unwrap_or_default()
    }
}
