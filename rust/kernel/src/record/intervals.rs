//! Times during which jobs kept the same nodes.
use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;
use crate::index::SharedColumn;
use crate::state::View;

/// Times during which jobs kept the same nodes, and which are over; in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AllocationIntervals {
    /// The job.
    pub job: SharedColumn<u32>,
    /// Since when it had these nodes, seconds.
    pub start_time: SharedColumn<f64>,
    /// Until when, seconds.
    pub end_time: SharedColumn<f64>,
    /// Where the nodes of each interval end in `nodes`.
    pub until: SharedColumn<usize>,
    /// The nodes that the jobs had, one interval after the other.
    pub nodes: SharedColumn<NodeTasks>,
    /// How much of each resource each held in all, one interval after the other.
    pub held: SharedColumn<i64>,
}

impl AllocationIntervals {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.job.share();
        self.start_time.share();
        self.end_time.share();
        self.until.share();
        self.nodes.share();
        self.held.share();
    }

    /// Records what a running job has had since then, which is about to end.
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

/// Runs that were cut short and whose jobs went back to the queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interruptions {
    /// The runs; one whose job was resized has the nodes that it had at last.
    pub runs: AllocationIntervals,
    /// When each began its work, its launch over; seconds.
    pub work_start: SharedColumn<f64>,
    /// When each ended its work, as it was suspended or cut short; seconds.
    pub work_end: SharedColumn<f64>,
    /// Work of each that need not be done again.
    pub saved: SharedColumn<f64>,
}

impl Interruptions {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.runs.share();
        self.work_start.share();
        self.work_end.share();
        self.saved.share();
    }

    /// Records a running job that is about to be interrupted.
    pub fn add(&mut self, view: View<'_>, job: u32, saved: f64) {
        self.runs.add(view, job, view.state.jobs.start_time(job));
        let end = view.state.suspension(job).map_or(view.now(), |each| each.since);
        self.work_start.push(view.work_begin(job).min(end));
        self.work_end.push(end);
        self.saved.push(saved);
    }
}
