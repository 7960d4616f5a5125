//! What the simulation must know of applications.

use serde::{Deserialize, Serialize};

/// What the simulation must know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Notice {
    /// The application is done; the job's run is forgotten.
    Done {
        /// How long it ran, by its own clock.
        seconds: f64,
    },
    /// The job waits between two iterations: its nodes may be changed.
    SchedulingPoint,
    /// Likewise, and the application asks for this many nodes.
    EvolvingRequest {
        /// As many as the job asks for, within its limits.
        tasks: u32,
    },
    /// The application cannot go on, and why; the job's run is forgotten.
    Failed(String),
}
