//! Jobs, what they wait for, and where they come from.
pub mod dependencies;
pub mod job;
pub mod swf;

pub use dependencies::{Dependencies, DependencyState};
pub use job::{Job, JobState, Rejection};
