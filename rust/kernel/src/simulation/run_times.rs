//! Forks with other run times: the true duration of a job is replaced, while schedulers plan with the same estimates
//! and limits (S30).
use std::fmt;

use crate::priority::Priority;
use crate::state::Phase;
use crate::time::Time;
use crate::workload::JobState;

use super::{Feed, Simulation};

/// Why the run time of a job cannot be replaced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RunTimeRefusal {
    /// The job has ended or was rejected.
    IsOver,
    /// Its application determines its run time.
    HasApplication,
    /// Events of the workload end or interrupt its runs.
    HasEvents,
    /// Controlled rates or a discipline that knows the work serve the jobs.
    IsServed,
    /// It is not above the time that the job has already run, seconds.
    NotAbove(f64),
    /// It is above the time limit, seconds.
    AboveLimit(f64),
}

impl fmt::Display for RunTimeRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IsOver => write!(out, "the job has ended; leave it out"),
            Self::HasApplication => write!(out, "its application determines its run time; leave it out"),
            Self::HasEvents => {
                write!(
                    out,
                    "events of the workload end or interrupt its runs; read the log with log_events=False"
                )
            }
            Self::IsServed => {
                write!(
                    out,
                    "a rate control or a discipline serves the jobs by their work; leave run_times out"
                )
            }
            Self::NotAbove(elapsed) => {
                write!(out, "must be above the time that the job has already run, {elapsed} s")
            }
            Self::AboveLimit(limit) => write!(out, "must not be above the time limit of the job, {limit} s"),
        }
    }
}

impl<F: Feed> Simulation<F> {
    /// Stop the submissions and the external events of the workload.
    pub fn close_feed(&mut self) {
        self.feed.close();
    }

    /// Replace the true run time of a job, from now on. A running job keeps the time that it has run.
    ///
    /// # Errors
    /// If the job cannot have this run time; nothing is changed then.
    pub fn replace_run_time(&mut self, job: u32, seconds: f64) -> Result<(), RunTimeRefusal> {
        self.check_run_time(job, seconds)?;
        self.state.changed();
        self.state.jobs.set_run_time(job, seconds);
        let Some(run) = self.state.jobs.run(job) else { return Ok(()) };
        // A job that was started in this pass begins its run afterwards.
        let begins_later = self.state.started.contains(&job);
        if self.state.running.get(run).phase == Phase::Running && !begins_later {
            let sequence = self.state.running.get(run).sequence;
            let begin = self.view().work_begin(job);
            self.state.begin_service(&self.scenario, job, run, sequence, begin);
            self.limit_run(job, run);
        }
        Ok(())
    }

    fn check_run_time(&self, job: u32, seconds: f64) -> Result<(), RunTimeRefusal> {
        let jobs = &self.state.jobs;
        let phase = jobs.run(job).map(|run| self.state.running.get(run).phase);
        if !matches!(jobs.state(job), JobState::Loaded | JobState::Queued | JobState::Running)
            || matches!(phase, Some(Phase::Completing(_)))
        {
            return Err(RunTimeRefusal::IsOver);
        }
        if self.view().has_application(job) {
            return Err(RunTimeRefusal::HasApplication);
        }
        if self.state.runs_until(&self.scenario, job).is_some()
            || self.state.leg(&self.scenario, job).is_some()
        {
            return Err(RunTimeRefusal::HasEvents);
        }
        let has_own_rate = |run| {
            self.state.running.get(run).phase == Phase::Running
                && Time(self.state.work.rate(run)) != Time(1.0)
        };
        if self.state.service.is_some()
            || matches!(self.priority, Priority::Service(_))
            || jobs.run(job).is_some_and(has_own_rate)
        {
            return Err(RunTimeRefusal::IsServed);
        }
        let elapsed = self.time_run(job);
        let is_above = if phase.is_some() { seconds > elapsed } else { seconds >= elapsed };
        if !is_above {
            return Err(RunTimeRefusal::NotAbove(elapsed));
        }
        let limit = jobs.time_limit(job);
        // A job that has outlasted its limit is not bounded by it.
        if seconds > limit && elapsed < limit {
            return Err(RunTimeRefusal::AboveLimit(limit));
        }
        Ok(())
    }

    /// Return the seconds of work that a job has completed and keeps, including its current run.
    #[must_use]
    pub fn time_run(&self, job: u32) -> f64 {
        let jobs = &self.state.jobs;
        let is_in_work =
            jobs.run(job).is_some_and(|run| self.state.running.get(run).phase != Phase::Launching);
        let now = if is_in_work { (self.state.now - self.view().work_begin(job)).max(0.0) } else { 0.0 };
        jobs.saved(job) + now
    }
}
