//! The aggregate measures of a run, computed while it runs.
use std::io;
use std::path::Path;

use crate::state::View;
use crate::workload::{JobState, Rejection};

use super::measured::{COLUMNS, Measured};
use super::over_time::OverTime;
use super::summary::{Described, Interrupted, Summary};
use super::total::Total;
use super::values::Values;

/// Maximum number of jobs in memory: 0.7 MB.
const MOST_IN_MEMORY: usize = 1 << 14;

/// Measures of the finished jobs.
#[derive(Debug)]
pub struct Measures {
    values: Values<COLUMNS>,
    count: u64,
    states: [u64; 5],
    rejected: [u64; Rejection::ALL.len()],
    counts: [u64; COLUMNS],
    totals: [Total; COLUMNS],
    held: Vec<Total>,
    last_end: f64,
    cut: Option<Box<CutShort>>,
}

/// Totals of interrupted runs.
#[derive(Debug)]
struct CutShort {
    runs: u64,
    jobs: u64,
    lost: Total,
    last_end: f64,
}

impl Measures {
    /// Creates empty measures. When there are too many jobs for memory, a temporary file is created, in `directory` if
    /// given.
    #[must_use]
    pub fn new(directory: Option<&Path>, resources: usize) -> Self {
        Self {
            values: Values::new(directory, MOST_IN_MEMORY),
            count: 0,
            states: [0; 5],
            rejected: [0; Rejection::ALL.len()],
            counts: [0; COLUMNS],
            totals: [Total::default(); COLUMNS],
            held: vec![Total::default(); resources],
            last_end: f64::NEG_INFINITY,
            cut: None,
        }
    }

    /// Counts a rejected job.
    pub fn reject(&mut self, reason: Rejection) {
        self.rejected[reason as usize - 1] += 1;
    }

    /// Counts a job that is not rejected, in its final state.
    pub fn count(&mut self, state: JobState) {
        let states =
            [JobState::Queued, JobState::Running, JobState::Completed, JobState::Killed, JobState::Cancelled];
        if let Some(place) = states.iter().position(|&other| other == state) {
            self.states[place] += 1;
        }
    }

    /// Adds a run that is interrupted now, and the amount of each resource that it held; `is_first` is true for the
    /// first such run of its job.
    pub fn cut_short(&mut self, view: View<'_>, job: u32, saved: f64, held: &[i64], is_first: bool) {
        let (start, end) = (view.state.jobs.start_time(job), view.now());
        let cut = self.cut.get_or_insert_with(|| {
            Box::new(CutShort { runs: 0, jobs: 0, lost: Total::default(), last_end: end })
        });
        cut.runs += 1;
        cut.jobs += u64::from(is_first);
        cut.lost.add(end - start - saved);
        cut.last_end = cut.last_end.max(end);
        self.hold(held, end - start);
    }

    fn hold(&mut self, held: &[i64], seconds: f64) {
        for (total, &amount) in self.held.iter_mut().zip(held) {
            total.add(amount as f64 * seconds);
        }
    }

    /// Adds a job that ran, and the amount of each resource that it held.
    pub fn add(&mut self, job: &Measured, held: &[i64]) -> io::Result<()> {
        self.count += 1;
        self.values.push(&job.values)?;
        for (column, &value) in job.values.iter().enumerate() {
            if !value.is_nan() {
                self.counts[column] += 1;
                self.totals[column].add(value);
            }
        }
        self.hold(held, job.held_for);
        self.last_end = self.last_end.max(job.end_time);
        Ok(())
    }

    /// Adds a run that ended with the cancellation of its job: the amounts that it held count, its wait does not.
    pub fn add_cancelled(&mut self, held: &[i64], seconds: f64, end: f64) {
        self.hold(held, seconds);
        self.last_end = self.last_end.max(end);
    }

    /// All aggregates of a run with this first submit time.
    pub fn finish(mut self, over_time: &OverTime, first_submission: f64) -> io::Result<Summary> {
        let quantiles = self.values.quantiles(&self.counts)?;
        let mut described = [Described::default(); COLUMNS];
        for (column, described) in described.iter_mut().enumerate() {
            let count = self.counts[column];
            described.mean = (count > 0).then(|| self.totals[column].value() / count as f64);
            described.quantiles = quantiles[column];
        }
        let makespan = self.last_end.is_finite().then_some(self.last_end - first_submission);
        Ok(Summary {
            states: self.states,
            ran: self.count,
            rejected: self.rejected,
            described,
            makespan,
            utilisation: over_time.shares(&self.held, self.held_for(first_submission)),
            mean_queue: over_time.mean_queue(),
            longest_queue: over_time.longest(),
            lost: over_time.lost(),
            interrupted: self.cut.map(|cut| Interrupted {
                runs: cut.runs,
                jobs: cut.jobs,
                lost_time: cut.lost.value(),
            }),
        })
    }

    /// The makespan including interrupted runs; None if no job ran.
    fn held_for(&self, first_submission: f64) -> Option<f64> {
        let last = self.cut.as_ref().map_or(self.last_end, |cut| self.last_end.max(cut.last_end));
        (last >= first_submission).then_some(last - first_submission)
    }
}
