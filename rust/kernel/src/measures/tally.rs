//! All measures of one run, from the notifications of its feed.
use std::collections::HashSet;
use std::io;
use std::path::Path;

use crate::state::View;
use crate::workload::JobState;

use super::aggregates::Measures;
use super::measured::Measured;
use super::over_time::OverTime;
use super::summary::Summary;

/// The measures of a run while it runs. O(1) per change of a job's state, times its resources.
#[derive(Debug)]
pub struct Tally {
    measures: Measures,
    over_time: OverTime,
    /// The resource that counts as processors in the slowdown per processor.
    core: Option<usize>,
    /// The rows of active jobs that had an interrupted run.
    cut_short: HashSet<u64>,
    held: Vec<i64>,
}

impl Tally {
    /// Creates measures for a machine of these total capacities; a temporary file is created in `directory`, if given.
    #[must_use]
    pub fn new(directory: Option<&Path>, capacity: Vec<i64>, core: Option<usize>) -> Self {
        Self {
            measures: Measures::new(directory, capacity.len()),
            over_time: OverTime::new(capacity),
            core,
            cut_short: HashSet::new(),
            held: Vec::new(),
        }
    }

    /// Records a job that entered the queue.
    pub fn enqueued(&mut self, view: View<'_>, job: u32) {
        self.over_time.comes(view, job);
    }

    /// Records a job that started.
    pub fn started(&mut self, view: View<'_>, job: u32) {
        self.over_time.leaves(view, job);
        self.over_time.takes(view, job);
    }

    /// Records a job with a run that is interrupted now; `saved` seconds of it need not be repeated.
    pub fn interrupted(&mut self, view: View<'_>, job: u32, saved: f64) {
        self.over_time.gives_back(view, job);
        view.state.held(view.scenario, job, &mut self.held);
        let is_first = self.cut_short.insert(view.scenario.job(job).row);
        self.measures.cut_short(view, job, saved, &self.held, is_first);
    }

    /// Records a job that ended or was rejected; `run_time` is without its overheads.
    pub fn finished(&mut self, view: View<'_>, job: u32, run_time: f64) -> io::Result<()> {
        let jobs = &view.state.jobs;
        view.state.held(view.scenario, job, &mut self.held);
        if let Some(reason) = jobs.rejection(job) {
            self.measures.reject(reason);
            return Ok(());
        }
        self.measures.count(jobs.state(job));
        if jobs.start_time(job).is_nan() {
            self.over_time.leaves(view, job);
            return Ok(());
        }
        self.over_time.gives_back(view, job);
        let row = view.scenario.job(job);
        if !self.cut_short.is_empty() {
            self.cut_short.remove(&row.row);
        }
        if jobs.state(job) == JobState::Cancelled {
            let (start, end) = (jobs.start_time(job), jobs.end_time(job));
            self.measures.add_cancelled(&self.held, end - start, end);
            return Ok(());
        }
        let processors = self.core.map_or(i64::from(row.tasks), |core| self.held[core]);
        self.measures.add(&Measured::of(view, job, run_time, processors), &self.held)
    }

    /// Records a job that is still waiting or running at the end.
    pub fn left(&mut self, view: View<'_>, job: u32) {
        self.measures.count(view.state.jobs.state(job));
        view.state.held(view.scenario, job, &mut self.held);
    }

    /// The amount of each resource that the latest job held, ended or left.
    #[must_use]
    pub fn held(&self) -> &[i64] {
        &self.held
    }

    /// All aggregates of a run with this first submit time.
    pub fn finish(self, first_submission: f64) -> io::Result<Summary> {
        self.measures.finish(&self.over_time, first_submission)
    }
}

/// Returns whether a job waits or runs.
#[must_use]
pub fn is_there(state: JobState) -> bool {
    matches!(state, JobState::Queued | JobState::Running)
}
