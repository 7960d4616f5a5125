//! The discrete-event kernel of batchlab.
//!
//! The kernel models jobs, nodes, policies and time, and does not depend on Python. A module may use only modules
//! listed before it; a test checks this.

/// A digest of the kernel's sources, by which a build recognises the snapshots that it can read.
pub const SOURCES: &str = env!("BATCHLAB_SOURCES");

pub mod time;

pub mod parameter;
pub mod random;
pub mod resident;
pub mod spelling;
pub mod stopwatch;

pub mod queueing;

pub mod index;

pub mod expression;

pub mod workload;

pub mod cluster;
pub mod platform;
pub mod sharing;
pub mod slurm;

pub mod application;

pub mod execution;

pub mod accounting;

pub mod control;

pub mod scenario;

pub mod decision;
pub mod placement;
pub mod priority;

pub mod state;

pub mod measures;
pub mod record;
pub mod scheduler;

pub mod simulation;

pub mod replay;
pub mod stream;

#[cfg(test)]
mod tests;
