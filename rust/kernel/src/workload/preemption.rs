//! Preemption: which jobs may take the nodes of which running ones, and what becomes of these.
use serde::{Deserialize, Serialize};

/// What becomes of a job that is preempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreemptionMode {
    /// It is killed.
    Cancel,
    /// It waits again, and runs from its start.
    Requeue,
    /// It waits again, and goes on where it was.
    Suspend,
}

impl PreemptionMode {
    /// All modes, by their names.
    pub const NAMES: [(&str, Self); 3] =
        [("cancel", Self::Cancel), ("requeue", Self::Requeue), ("suspend", Self::Suspend)];
}

/// Which jobs may preempt which, by classes of jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreemptionRules {
    /// The class of each job, by slot: its tier or its quality of service.
    pub class_of: Vec<u32>,
    /// For each class those that it may preempt; no class comes back to itself that way.
    pub preempts: Vec<Vec<u32>>,
    /// For each class its importance: jobs of the least are the first victims.
    pub importance: Vec<f64>,
    /// What becomes of the victims.
    pub mode: PreemptionMode,
    /// Seconds that a job has to have run before it may be a victim.
    pub exempt_time: f64,
    /// Seconds that a victim runs on after the decision; 0 where it is suspended.
    pub grace_time: f64,
    /// Whether of one class the latest start is the first victim, and not the fewest nodes.
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

    /// Whether a job may preempt another.
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
