//! The schedule in a log, beside the simulated one: the same measures of the same jobs.
use std::io;
use std::path::Path;

use super::measured::THRESHOLD;
use super::summary::Described;
use super::total::Total;
use super::values::Values;

/// The schedule in the log and the simulated one, over the jobs that ran in both.
#[derive(Debug)]
pub struct Both {
    /// The schedule in the log.
    pub log: Schedule,
    /// The simulated schedule.
    pub simulated: Schedule,
    /// The first submit time of these jobs.
    pub first_submission: f64,
}

impl Both {
    /// Creates empty schedules on a machine with this number of resources, with the waits of at most `most` jobs in
    /// memory; a temporary file for more jobs is in `directory`, if given.
    #[must_use]
    pub fn new(resources: usize, directory: Option<&Path>, most: usize) -> Self {
        let new = || Schedule::new(resources, directory, most);
        Self { log: new(), simulated: new(), first_submission: f64::INFINITY }
    }

    /// Adds a job: its start according to the log, its run time there, its simulated run, and the amount of each
    /// resource that it held in both. O(resources).
    pub fn add(
        &mut self,
        logged_start: f64,
        run_time: f64,
        simulated: Times,
        held: impl Iterator<Item = i64> + Clone,
    ) -> io::Result<()> {
        let Times { submit, .. } = simulated;
        let logged = Times { submit, start: logged_start, end: logged_start + run_time, run: run_time };
        self.log.add(logged, held.clone())?;
        self.simulated.add(simulated, held)?;
        self.first_submission = self.first_submission.min(submit);
        Ok(())
    }
}

/// Measures of one schedule of the jobs.
#[derive(Debug)]
pub struct Schedule {
    waits: Values<1>,
    jobs: u64,
    wait: Total,
    slowdown: Total,
    held: Vec<Total>,
    last_end: Option<f64>,
}

/// Submit time, start and end of a job, and the duration of its run without overheads; seconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The submission.
    pub submit: f64,
    /// The start of the run.
    pub start: f64,
    /// The end of the run.
    pub end: f64,
    /// The duration of the run, without overheads.
    pub run: f64,
}

impl Schedule {
    /// Creates an empty schedule on a machine with this number of resources.
    fn new(resources: usize, directory: Option<&Path>, most: usize) -> Self {
        Self {
            waits: Values::new(directory, most),
            jobs: 0,
            wait: Total::default(),
            slowdown: Total::default(),
            held: vec![Total::default(); resources],
            last_end: None,
        }
    }

    /// Adds a job that ran, and the amount of each resource that it held. O(resources).
    fn add(&mut self, job: Times, held: impl Iterator<Item = i64>) -> io::Result<()> {
        self.jobs += 1;
        self.wait.add(job.start - job.submit);
        self.slowdown.add(((job.end - job.submit) / job.run.max(THRESHOLD)).max(1.0));
        for (total, amount) in self.held.iter_mut().zip(held) {
            total.add(amount as f64 * (job.end - job.start));
        }
        self.last_end = Some(self.last_end.map_or(job.end, |last| last.max(job.end)));
        self.waits.push(&[job.start - job.submit])
    }

    /// Number of jobs.
    #[must_use]
    pub const fn jobs(&self) -> u64 {
        self.jobs
    }

    /// Mean and quantiles of the waiting times. O(jobs).
    pub fn wait(&mut self) -> io::Result<Described> {
        let [quantiles] = self.waits.quantiles(&[self.jobs])?;
        let mean = (self.jobs > 0).then(|| self.wait.value() / self.jobs as f64);
        Ok(Described { mean, quantiles })
    }

    /// The mean bounded slowdown; None without jobs.
    #[must_use]
    pub fn bounded_slowdown(&self) -> Option<f64> {
        (self.jobs > 0).then(|| self.slowdown.value() / self.jobs as f64)
    }

    /// The share of each resource held from the first submission to the last end, on a machine of these capacities.
    #[must_use]
    pub fn utilisation(&self, capacity: &[i64], first_submission: f64) -> Vec<Option<f64>> {
        let span = self.last_end.map(|last| last - first_submission).filter(|span| *span > 0.0);
        let share = |(total, &capacity): (&Total, &i64)| {
            span.filter(|_| capacity > 0).map(|span| total.value() / (capacity as f64 * span))
        };
        self.held.iter().zip(capacity).map(share).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_jobs_by_hand() -> io::Result<()> {
        // In memory, and in a file.
        for most in [8, 1] {
            let mut both = Both::new(2, None, most);
            assert_eq!(both.simulated.wait()?, Described::default());
            assert_eq!(both.simulated.bounded_slowdown(), None);
            assert_eq!(both.simulated.utilisation(&[4, 0], 0.0), [None, None]);
            both.add(
                0.0,
                20.0,
                Times { submit: 0.0, start: 30.0, end: 50.0, run: 20.0 },
                [2, 1].into_iter(),
            )?;
            both.add(
                15.0,
                5.0,
                Times { submit: 10.0, start: 10.0, end: 15.0, run: 5.0 },
                [4, 1].into_iter(),
            )?;
            assert_eq!(both.first_submission.to_bits(), 0.0_f64.to_bits());
            assert_eq!(both.log.wait()?.mean, Some(2.5));
            let schedule = &mut both.simulated;
            assert_eq!(schedule.jobs(), 2);
            assert_eq!(schedule.wait()?.mean, Some(15.0));
            assert_eq!(schedule.wait()?.quantiles.map(|quantiles| quantiles[0]), Some(15.0));
            // 50 / 20 and 1.
            assert_eq!(schedule.bounded_slowdown(), Some(1.75));
            // 2 cores for 20 s and 4 cores for 5 s, out of 4 cores for 50 s.
            assert_eq!(schedule.utilisation(&[4, 0], 0.0), [Some(0.3), None]);
        }
        Ok(())
    }
}
