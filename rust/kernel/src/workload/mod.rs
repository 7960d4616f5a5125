//! Jobs, and where they come from.
pub mod jobs;
pub mod swf;
