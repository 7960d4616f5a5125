//! All measures of one run, from the changes of its jobs.
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
    fn enqueued(&mut self, view: View<'_>, job: u32) {
        self.over_time.comes(view, job);
    }

    /// Records a job that started.
    fn started(&mut self, view: View<'_>, job: u32) {
        self.over_time.leaves(view, job);
        self.over_time.takes(view, job);
    }

    /// Records a job with a run that is interrupted now; `saved` seconds of it need not be repeated.
    fn interrupted(&mut self, view: View<'_>, job: u32, saved: f64) {
        self.over_time.gives_back(view, job);
        view.state.held(view.scenario, job, &mut self.held);
        let is_first = self.cut_short.insert(view.scenario.job(job).row);
        self.measures.cut_short(view, job, saved, &self.held, is_first);
    }

    /// Records a job that ended or was rejected; `run_time` is without its overheads.
    fn finished(&mut self, view: View<'_>, job: u32, run_time: f64) -> io::Result<()> {
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
    fn left(&mut self, view: View<'_>, job: u32) {
        self.measures.count(view.state.jobs.state(job));
    }

    /// All aggregates of a run with this first submit time.
    fn finish(self, first_submission: f64) -> io::Result<Summary> {
        self.measures.finish(&self.over_time, first_submission)
    }
}

/// The measures of a run, if they are requested. A clone has none: the run and its forks would share one temporary file.
#[derive(Debug, Default)]
pub struct RunTally {
    tally: Option<Box<Tally>>,
    /// The error that ended the measures: their temporary file could not be written.
    lost: Option<io::Error>,
}

impl From<Tally> for RunTally {
    fn from(tally: Tally) -> Self {
        Self { tally: Some(Box::new(tally)), lost: None }
    }
}

impl Clone for RunTally {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl RunTally {
    /// Records a job that entered the queue.
    #[inline]
    pub fn enqueued(&mut self, view: View<'_>, job: u32) {
        if let Some(tally) = &mut self.tally {
            tally.enqueued(view, job);
        }
    }

    /// Records a job that started.
    #[inline]
    pub fn started(&mut self, view: View<'_>, job: u32) {
        if let Some(tally) = &mut self.tally {
            tally.started(view, job);
        }
    }

    /// Records a job with a run that is interrupted now; `saved` seconds of it need not be repeated.
    #[inline]
    pub fn interrupted(&mut self, view: View<'_>, job: u32, saved: f64) {
        if let Some(tally) = &mut self.tally {
            tally.interrupted(view, job, saved);
        }
    }

    /// Records a job that ended or was rejected; `run_time` is without its overheads. After an error of the temporary
    /// file nothing is measured any more.
    #[inline]
    pub fn finished(&mut self, view: View<'_>, job: u32, run_time: impl FnOnce() -> f64) {
        if let Some(tally) = &mut self.tally
            && let Err(error) = tally.finished(view, job, run_time())
        {
            *self = Self { tally: None, lost: Some(error) };
        }
    }

    /// Returns whether the measures were lost through an error.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Removes and returns the measures of a run without further events; None if none were requested. Errors are those of
    /// the temporary file that is used to measure many jobs.
    pub fn take_summary(&mut self, view: View<'_>) -> io::Result<Option<Summary>> {
        if let Some(error) = self.lost.take() {
            return Err(error);
        }
        let Some(mut tally) = self.tally.take() else { return Ok(None) };
        let jobs = &view.state.jobs;
        for job in (0..jobs.len() as u32).filter(|&job| is_there(jobs.state(job))) {
            tally.left(view, job);
        }
        tally.finish(view.scenario.first_submission).map(Some)
    }
}

/// Returns whether a job waits or runs.
#[must_use]
pub fn is_there(state: JobState) -> bool {
    matches!(state, JobState::Queued | JobState::Running)
}
