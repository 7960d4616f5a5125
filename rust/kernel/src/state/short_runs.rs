//! Last runs of jobs with phases that did not last as planned (S17).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Phase, State, View};

/// Work of a last run that was interrupted in one of its phases, or ended by an event.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortRun {
    /// Begin of its work, after its launch; seconds.
    pub work_start: f64,
    /// End of its work, seconds.
    pub work_end: f64,
    /// True if an event ended its work.
    pub ended: bool,
}

/// By slot; empty in runs without external events, kills and overheads.
pub type ShortRuns = BTreeMap<u32, ShortRun>;

impl State {
    /// Records when the work of a running job ended, unless an event ended it before.
    pub fn note_short_run(&mut self, job: u32, work_start: f64, work_end: f64, ended: bool) {
        let work_start = work_start.min(work_end);
        self.short_runs.entry(job).or_insert(ShortRun { work_start, work_end, ended });
    }
}

impl View<'_> {
    /// Return the runs whose phases did not last as planned, and those whose work is over while they hold their nodes.
    #[must_use]
    pub fn short_runs(self) -> ShortRuns {
        let mut runs = self.state.short_runs.clone();
        if self.scenario.overheads.is_some() {
            for job in self.running_jobs() {
                if let Some(work_end) = self.work_end(job) {
                    let work_start = self.work_begin(job).min(work_end);
                    runs.entry(job).or_insert(ShortRun { work_start, work_end, ended: false });
                }
            }
        }
        runs
    }

    /// Return when the work of a running job ended, seconds; None if it is to do more.
    #[must_use]
    pub fn work_end(self, job: u32) -> Option<f64> {
        let (now, run) = (self.state.now, self.state.jobs.run(job)?);
        match self.state.running.get(run).phase {
            Phase::Launching | Phase::Running => None,
            Phase::Suspending => self.state.suspension(job).map(|each| each.since),
            Phase::Completing(_) => Some(now - self.state.work.done(now, run)),
        }
    }

    /// Return the seconds of a job's launch, with the time in which its nodes woke, and of its completion, as far as
    /// they were spent.
    #[must_use]
    pub fn spent_overhead(self, job: u32) -> (f64, f64) {
        let jobs = &self.state.jobs;
        self.state.short_runs.get(&job).map_or_else(
            || {
                let (overhead, waking) =
                    (self.overhead(job), self.state.ready_time(job) - jobs.start_time(job));
                (overhead.launch + waking, overhead.completion)
            },
            |run| (run.work_start - jobs.start_time(job), jobs.end_time(job) - run.work_end),
        )
    }
}
