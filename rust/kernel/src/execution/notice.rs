//! Notices of applications to the simulation.

use serde::{Deserialize, Serialize};

/// A notice to the simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    /// The application has ended; the job's run is removed.
    Done {
        /// Run time of the application by its own clock, seconds.
        seconds: f64,
    },
    /// The job waits between two iterations: its nodes may be changed.
    SchedulingPoint,
    /// Like a scheduling point, and the application requests this number of nodes.
    EvolvingRequest {
        /// Number of requested nodes, within the limits of the job.
        tasks: u32,
    },
    /// The application cannot continue, for this reason; the job's run is removed.
    Failed(String),
}
