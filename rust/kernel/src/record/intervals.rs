//! Intervals in which jobs held the same nodes.
use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;
use crate::index::SharedColumn;
use crate::state::View;

/// Past intervals in which jobs held the same nodes, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AllocationIntervals {
    /// The job.
    pub job: SharedColumn<u32>,
    /// Begin of the interval, seconds.
    pub start_time: SharedColumn<f64>,
    /// End of the interval, seconds.
    pub end_time: SharedColumn<f64>,
    /// The end of each interval's nodes in `nodes`.
    pub until: SharedColumn<usize>,
    /// The nodes of the jobs, one interval after the other.
    pub nodes: SharedColumn<NodeTasks>,
    /// Total amount of each resource held, one interval after the other.
    pub held: SharedColumn<i64>,
}

impl AllocationIntervals {
    /// Prepares a clone that shares the entries.
    pub fn share(&mut self) {
        self.job.share();
        self.start_time.share();
        self.end_time.share();
        self.until.share();
        self.nodes.share();
        self.held.share();
    }

    /// Records the nodes that a running job has held since a time, before the interval ends.
    pub fn add(&mut self, view: View<'_>, job: u32, since: f64) {
        self.job.push(job);
        self.start_time.push(since);
        self.end_time.push(view.now());
        self.nodes.extend(view.state.jobs.placement(job).iter().copied());
        let mut held = Vec::new();
        view.state.held(view.scenario, job, &mut held);
        self.held.extend(held);
        self.until.push(self.nodes.len());
    }
}

/// Runs that were interrupted, with jobs that returned to the queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interruptions {
    /// The runs; a run of a resized job has its last nodes.
    pub runs: AllocationIntervals,
    /// Begin of the work of each run, after its launch, seconds.
    pub work_start: SharedColumn<f64>,
    /// End of the work of each run, by suspension or interruption, seconds.
    pub work_end: SharedColumn<f64>,
    /// Work of each run that need not be repeated.
    pub saved: SharedColumn<f64>,
}

impl Interruptions {
    /// Returns whether no run was interrupted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    /// Prepares a clone that shares the entries.
    pub fn share(&mut self) {
        self.runs.share();
        self.work_start.share();
        self.work_end.share();
        self.saved.share();
    }

    /// Records a running job before it is interrupted.
    pub fn add(&mut self, view: View<'_>, job: u32, saved: f64) {
        self.runs.add(view, job, view.state.jobs.start_time(job));
        let end = view.state.suspension(job).map_or(view.now(), |each| each.since);
        self.work_start.push(view.work_begin(job).min(end));
        self.work_end.push(end);
        self.saved.push(saved);
    }
}
