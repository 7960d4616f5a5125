//! The discrete-event kernel of batchlab.
//!
//! It knows jobs, nodes, policies and time, and nothing of Python. The modules stand in the order in which they
//! may use one another: `time, random, ordered_index < workload, cluster < policy < record, simulation < replay, stream`.
pub mod time;

pub mod event;
pub mod ordered_index;
pub mod random;

pub mod cluster;
pub mod workload;

pub mod policy;

pub mod record;
pub mod replay;
pub mod simulation;
pub mod stream;
