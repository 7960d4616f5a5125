//! Violations of what must hold in every run, whatever is decided. The first one is kept, and stops the run: it is a
//! defect of the kernel, and what would follow from it would be wrong.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cluster::Breach;
use crate::workload::JobState;

/// What happened to a job that cannot happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Violation {
    /// It took or gave back nodes in a way that does not add up.
    Nodes(Breach),
    /// It gave back its nodes, which it does not hold.
    GaveBackTwice,
    /// What limits count does not add up with it.
    Limits,
    /// It ended, and was neither queued nor running.
    EndedTwice(JobState),
}

/// The first violation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Defect {
    /// The slot of the job.
    pub job: u32,
    /// When, seconds.
    pub time: f64,
    /// What happened.
    pub violation: Violation,
}

impl fmt::Display for Defect {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.violation {
            Violation::Nodes(breach) => write!(out, "it {breach}"),
            Violation::GaveBackTwice => write!(out, "it gave back its nodes, and holds none"),
            Violation::Limits => write!(out, "what limits count does not add up with it"),
            Violation::EndedTwice(state) => write!(out, "it ended, and was {} already", state.name()),
        }
    }
}
