//! Waiting jobs where one free amount decides which of them fit, in columns, so that a look at them reads little.
use super::{Running, Submission};

/// What decides the gate of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing is known yet.
    New,
    /// It fits.
    Fits,
    /// It does not fit.
    Lacks,
    /// It would fit without its overtakers.
    Overtaken,
}

/// The waiting jobs in the order of the log.
///
/// Without its overtakers, a job has the free amount and what these hold: all that running jobs hold but what those hold
/// that were submitted before it. A start or an end costs O(jobs submitted after its job).
#[derive(Clone, Debug, Default)]
pub struct ByTotals {
    needs: Vec<i64>,
    /// What running jobs hold that were submitted before each job.
    before: Vec<i64>,
    found: Vec<Found>,
    /// What all running jobs hold.
    held: i64,
    /// Number of jobs of which nothing is known.
    fresh: usize,
}

impl ByTotals {
    /// Collects what running jobs hold, by submission.
    #[must_use]
    pub fn beside(running: &[Running]) -> Self {
        Self { held: running.iter().map(|each| each.held).sum(), ..Self::default() }
    }

    /// Adds a job at a place. O(jobs behind it), and O(running jobs) if some were submitted after it.
    pub fn enter(&mut self, at: usize, need: i64, submission: Submission, running: &[Running]) {
        let after = running.iter().rev().take_while(|each| each.submission > submission);
        let before = self.held - after.map(|each| each.held).sum::<i64>();
        self.needs.insert(at, need);
        self.before.insert(at, before);
        self.found.insert(at, Found::New);
        self.fresh += 1;
    }

    /// Removes the job at a place.
    pub fn leave(&mut self, at: usize) {
        self.needs.remove(at);
        self.before.remove(at);
        self.fresh -= usize::from(self.found.remove(at) == Found::New);
    }

    /// Notes what a running job holds more, with the place of the first job that was submitted after it.
    pub fn hold(&mut self, first: usize, more: i64) {
        self.held += more;
        for before in &mut self.before[first..] {
            *before += more;
        }
    }

    /// Returns whether something is known of every job.
    #[must_use]
    pub fn knows_all(&self) -> bool {
        self.fresh == 0
    }

    /// Returns the number of jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.needs.len()
    }

    /// Returns whether no job waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.needs.is_empty()
    }

    /// Returns the amount that the job at a place needs.
    #[must_use]
    pub fn need(&self, at: usize) -> i64 {
        self.needs[at]
    }

    /// Returns what was known of the job at a place.
    #[must_use]
    pub fn known(&self, at: usize) -> Found {
        self.found[at]
    }

    /// Finds out whether the job at a place fits into what is free. O(1).
    #[must_use]
    pub fn find(&self, at: usize, free: i64) -> Found {
        let need = self.needs[at];
        if need <= free {
            Found::Fits
        } else if need <= free + self.held - self.before[at] {
            Found::Overtaken
        } else {
            Found::Lacks
        }
    }

    /// Keeps what is known of the job at a place.
    pub fn know(&mut self, at: usize, found: Found) {
        self.fresh -= usize::from(self.found[at] == Found::New);
        self.found[at] = found;
    }
}
