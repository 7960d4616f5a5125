//! The schedule in a log, beside the simulated one: the same measures of the same jobs.
use super::measured::THRESHOLD;
use super::summary::Described;
use super::total::Total;
use super::values::described;

/// Measures of one schedule of the jobs.
#[derive(Debug, Default)]
pub struct Schedule {
    waits: Vec<f64>,
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
    #[must_use]
    pub fn new(resources: usize) -> Self {
        Self { held: vec![Total::default(); resources], ..Self::default() }
    }

    /// Adds a job that ran, and the amount of each resource that it held. O(resources).
    pub fn add(&mut self, job: Times, held: impl Iterator<Item = i64>) {
        self.waits.push(job.start - job.submit);
        self.slowdown.add(((job.end - job.submit) / job.run.max(THRESHOLD)).max(1.0));
        for (total, amount) in self.held.iter_mut().zip(held) {
            total.add(amount as f64 * (job.end - job.start));
        }
        self.last_end = Some(self.last_end.map_or(job.end, |last| last.max(job.end)));
    }

    /// Number of jobs.
    #[must_use]
    pub fn jobs(&self) -> usize {
        self.waits.len()
    }

    /// Mean and quantiles of the waiting times.
    #[must_use]
    pub fn wait(&self) -> Described {
        described(&self.waits)
    }

    /// The mean bounded slowdown; None without jobs.
    #[must_use]
    pub fn bounded_slowdown(&self) -> Option<f64> {
        (self.jobs() > 0).then(|| self.slowdown.value() / self.jobs() as f64)
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
    fn two_jobs_by_hand() {
        let mut schedule = Schedule::new(2);
        assert_eq!(schedule.wait(), Described::default());
        assert_eq!(schedule.bounded_slowdown(), None);
        assert_eq!(schedule.utilisation(&[4, 0], 0.0), [None, None]);
        schedule.add(Times { submit: 0.0, start: 30.0, end: 50.0, run: 20.0 }, [2, 1].into_iter());
        schedule.add(Times { submit: 10.0, start: 10.0, end: 15.0, run: 5.0 }, [4, 1].into_iter());
        assert_eq!(schedule.jobs(), 2);
        assert_eq!(schedule.wait().mean, Some(15.0));
        assert_eq!(schedule.wait().quantiles.map(|quantiles| quantiles[0]), Some(15.0));
        // 50 / 20 and 1.
        assert_eq!(schedule.bounded_slowdown(), Some(1.75));
        // 2 cores for 20 s and 4 cores for 5 s, out of 4 cores for 50 s.
        assert_eq!(schedule.utilisation(&[4, 0], 0.0), [Some(0.3), None]);
    }
}
