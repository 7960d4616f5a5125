//! Forks with other arrivals: jobs that are over, or not yet submitted, are submitted (again) at other times (S30).
//!
//! Slots of jobs are reused, as in a streamed run: all columns by slot remain valid, and no array grows. The scenario is
//! copied once per fork: O(jobs).
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::scenario::Scenario;
use crate::workload::JobState;

use super::{Feed, Simulation};

/// A feed that can submit chosen jobs of its scenario.
pub trait Resubmits: Feed {
    /// Submit these jobs and no others from now on, in order of submit time, then row. External events end.
    fn submit_only(&mut self, scenario: &Scenario, jobs: Vec<u32>);
}

/// The submission of a job at another time, possibly with another size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// The job: its slot.
    pub job: u32,
    /// Submit time, seconds.
    pub submit_time: f64,
    /// Number of tasks; None for its own.
    pub tasks: Option<u32>,
    /// Requested time and time limit, seconds; None for its own.
    pub requested_time: Option<f64>,
}

/// Why a job cannot be submitted again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalRefusal {
    /// It waits or runs.
    IsPresent,
    /// It arrives twice.
    Twice,
    /// It never ran: it was rejected or cancelled.
    NeverRan,
    /// It would arrive before the present time.
    Past,
    /// The run has dependencies, begin times or limits of arrays.
    HasConditions,
    /// Events of the workload end or interrupt its runs.
    HasEvents,
    /// Values that depend on the size of the job are known to the policy or to limits.
    SizeIsUsed,
}

impl fmt::Display for ArrivalRefusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::IsPresent => "the job waits or runs; take one that has ended or is not yet submitted",
            Self::Twice => "the job arrives twice; take another one of its kind",
            Self::NeverRan => "the job was rejected or cancelled; take one that has run",
            Self::Past => "its submit_time is before the present time; take a later one",
            Self::HasConditions => {
                "the workload has dependencies, begin times or limits of arrays; use arrivals=\"none\""
            }
            Self::HasEvents => {
                "events of the workload end or interrupt its runs; read the log with log_events=False"
            }
            Self::SizeIsUsed => {
                "the policy or the limits use values of its size; take a job with this number of tasks"
            }
        })
    }
}

impl<F: Resubmits> Simulation<F> {
    /// Submit these jobs and no others of the workload from now on. A job that has ended forgets its run.
    ///
    /// # Errors
    /// If a job cannot be submitted again: its index in `arrivals`. The simulation is to be discarded then.
    pub fn replace_arrivals(&mut self, arrivals: &[Arrival]) -> Result<(), (usize, ArrivalRefusal)> {
        for (at, arrival) in arrivals.iter().enumerate() {
            self.check_arrival(arrival).map_err(|refusal| (at, refusal))?;
        }
        let scenario = Arc::make_mut(&mut self.scenario);
        scenario.digest = OnceLock::new();
        let mut jobs = Vec::with_capacity(arrivals.len());
        for arrival in arrivals {
            let job = &mut scenario.jobs[arrival.job as usize];
            job.submit_time = arrival.submit_time;
            job.tasks = arrival.tasks.unwrap_or(job.tasks);
            if let Some(seconds) = arrival.requested_time {
                (job.requested_time, job.time_limit) = (seconds, seconds);
            }
            let was_over = self.state.jobs.state(arrival.job) != JobState::Loaded;
            self.state.jobs.submit_again(arrival.job, job);
            self.state.finished -= u64::from(was_over);
            jobs.push(arrival.job);
        }
        jobs.sort_unstable();
        if let Some(twice) = jobs.windows(2).find(|pair| pair[0] == pair[1]) {
            let at = arrivals.iter().rposition(|arrival| arrival.job == twice[0]);
            return Err((at.unwrap_or_default(), ArrivalRefusal::Twice));
        }
        self.feed.submit_only(&self.scenario, jobs);
        self.state.changed();
        Ok(())
    }

    fn check_arrival(&self, arrival: &Arrival) -> Result<(), ArrivalRefusal> {
        let (scenario, job) = (&self.scenario, arrival.job);
        match self.state.jobs.state(job) {
            JobState::Queued | JobState::Running => return Err(ArrivalRefusal::IsPresent),
            JobState::Rejected | JobState::Cancelled => return Err(ArrivalRefusal::NeverRan),
            JobState::Loaded | JobState::Completed | JobState::Killed => {}
        }
        let attributes = &scenario.attributes;
        if arrival.submit_time < self.state.now {
            return Err(ArrivalRefusal::Past);
        }
        if scenario.conditions.is_some() {
            return Err(ArrivalRefusal::HasConditions);
        }
        if attributes.cancelled_at(job).is_some() || attributes.run_events.leg(job, 0).is_some() {
            return Err(ArrivalRefusal::HasEvents);
        }
        let is_other_size = arrival.tasks.is_some_and(|tasks| tasks != scenario.job(job).tasks);
        let uses_size = !attributes.nodes.is_empty()
            || attributes.factors.is_some()
            || scenario.limits.is_some()
            || scenario.applications.is_some()
            || self.scheduler.checks_all_jobs();
        if is_other_size && uses_size { Err(ArrivalRefusal::SizeIsUsed) } else { Ok(()) }
    }
}
