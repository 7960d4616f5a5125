//! Samples of the future: forks of one simulation with other run times, simulated in threads until the jobs asked about
//! have started (S30).
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::record::Recorders;
use crate::time::Time;

use super::run_times::RunTimeRefusal;
use super::{Feed, Simulation, YieldPoint};

/// The samples to simulate.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The jobs with replaced run times.
    pub jobs: Vec<u32>,
    /// Their run times in seconds: those of the first sample, then of the second, and so on.
    pub run_times: Vec<f64>,
    /// The number of samples.
    pub count: usize,
    /// The jobs asked about.
    pub asked: Vec<u32>,
    /// The last instant that is simulated.
    pub until: Time,
    /// The number of threads.
    pub threads: usize,
}

/// Why samples cannot be simulated.
#[derive(Clone, Debug, PartialEq)]
pub enum SamplingError {
    /// In this sample, this job (its index among the jobs with replaced run times) cannot have its run time.
    RunTime(usize, usize, RunTimeRefusal),
    /// A run failed, for this reason.
    Failed(String),
}

/// The starts of one sample.
type Starts = Result<Vec<f64>, SamplingError>;

impl Samples {
    fn run_times(&self, sample: usize) -> &[f64] {
        &self.run_times[sample * self.jobs.len()..(sample + 1) * self.jobs.len()]
    }
}

impl<F: Feed<Error = Infallible> + Clone + Send> Simulation<F> {
    /// Return the start of each job asked about in each sample, sample-major: infinity if it does not start in time.
    ///
    /// # Errors
    /// If a run time is refused, or a run fails. Of several errors, that of the first sample.
    pub fn sample_starts(mut self, samples: &Samples) -> Result<Vec<f64>, SamplingError> {
        // Nothing is recorded in samples.
        self.recorders = Recorders::default();
        self.choose_kinds();
        let origin = Mutex::new(self.fork());
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, Starts)>> = Mutex::new(Vec::new());
        let work = || {
            loop {
                let sample = next.fetch_add(1, Ordering::Relaxed);
                if sample >= samples.count {
                    break;
                }
                let fork = origin.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let starts = fork.starts_in(samples, sample);
                found.lock().unwrap_or_else(PoisonError::into_inner).push((sample, starts));
            }
        };
        thread::scope(|scope| {
            (1..samples.threads).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|&(sample, _)| sample);
        let mut starts = Vec::with_capacity(samples.count * samples.asked.len());
        for (_, each) in found {
            starts.extend(each?);
        }
        Ok(starts)
    }

    /// Simulate one sample; return the first start of each job asked about.
    fn starts_in(mut self, samples: &Samples, sample: usize) -> Starts {
        for (at, (&job, &seconds)) in samples.jobs.iter().zip(samples.run_times(sample)).enumerate() {
            self.replace_run_time(job, seconds)
                .map_err(|refusal| SamplingError::RunTime(sample, at, refusal))?;
        }
        let mut starts = vec![f64::INFINITY; samples.asked.len()];
        let mut pending: Vec<usize> = (0..starts.len()).collect();
        let mut starts_seen = u64::MAX;
        while !pending.is_empty() {
            let Ok(point) = self.advance_until(samples.until);
            match point {
                YieldPoint::End | YieldPoint::Stuck => break,
                YieldPoint::Failed => return Err(SamplingError::Failed(self.failure_text())),
                YieldPoint::Changes => drop(self.take_changes()),
                YieldPoint::Allocation(_) => self.allocator_answers(None),
                _ => {}
            }
            // Looked at once per instant in which something started.
            if point == YieldPoint::InstantOver && starts_seen != self.state.starts {
                starts_seen = self.state.starts;
                pending.retain(|&at| {
                    let start = self.state.jobs.start_time(samples.asked[at]);
                    let has_started = !start.is_nan();
                    if has_started {
                        starts[at] = start;
                    }
                    !has_started
                });
            }
        }
        Ok(starts)
    }

    fn failure_text(&self) -> String {
        self.failure().map_or_else(String::new, |failure| {
            let row = failure.job().map_or(0, |job| self.scenario.job(job).row);
            failure.describe(row, self.state.now)
        })
    }
}
