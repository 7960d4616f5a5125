//! Violations of invariants that hold in every run, whatever is decided. The first one is kept and stops the run: it is
//! a defect of the kernel, and later results would be wrong.
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::cluster::Breach;
use crate::workload::JobState;

/// An impossible event of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Violation {
    /// The nodes that it took or released are inconsistent.
    Nodes(Breach),
    /// It released nodes that it does not hold.
    GaveBackTwice,
    /// The counts of its limits are inconsistent.
    Limits,
    /// It ended while it was neither queued nor running.
    EndedTwice(JobState),
}

/// The first violation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Defect {
    /// The slot of the job.
    pub job: u32,
    /// Time, seconds.
    pub time: f64,
    /// The violation.
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
