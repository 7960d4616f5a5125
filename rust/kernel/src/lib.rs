//! The discrete-event kernel of batchlab.
//!
//! It knows jobs, nodes, policies and time, and nothing of Python. The modules stand in the order in which they
//! may use one another: `time, random, stopwatch, event, index, spelling < expression < workload, cluster,
//! platform, sharing, application < execution, policy < record < simulation < replay, stream`; `workload` stands left of
//! `cluster`.
pub mod time;

pub mod event;
pub mod index;
pub mod random;
pub mod spelling;
pub mod stopwatch;

pub mod expression;

pub mod workload;

pub mod cluster;
pub mod platform;
pub mod sharing;

pub mod application;

pub mod execution;
pub mod policy;

pub mod record;

pub mod simulation;

pub mod replay;
pub mod stream;
