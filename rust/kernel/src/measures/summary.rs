//! The aggregates of a run.
use crate::workload::Rejection;

use super::measured::COLUMNS;

/// Mean and quantiles of a measure; None if it has no values.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Described {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median, 95th and 99th percentile, maximum.
    pub quantiles: Option<[f64; 4]>,
}

/// All aggregates of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Jobs still queued, still running, completed, killed and cancelled.
    pub states: [u64; 5],
    /// Jobs that ran, and ended.
    pub ran: u64,
    /// Number of rejected jobs by reason.
    pub rejected: [u64; Rejection::ALL.len()],
    /// Wait, turnaround, slowdown, bounded slowdown, per-processor slowdown.
    pub described: [Described; COLUMNS],
    /// Time from the first submission to the last end of the jobs that ran, seconds.
    pub makespan: Option<f64>,
    /// Share of each resource held, over the makespan.
    pub utilisation: Vec<Option<f64>>,
    /// Mean over time of the number of waiting jobs.
    pub mean_queue: Option<f64>,
    /// Greatest number of waiting jobs.
    pub longest_queue: Option<u64>,
    /// Share of each resource idle while jobs that requested it waited.
    pub lost: Vec<Option<f64>>,
    /// The interrupted runs; None if no run was interrupted.
    pub interrupted: Option<Interrupted>,
}

/// Interrupted runs, with jobs that waited again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interrupted {
    /// Number of runs.
    pub runs: u64,
    /// Number of jobs.
    pub jobs: u64,
    /// Work that must be repeated, seconds.
    pub lost_time: f64,
}
