//! Jobs that wait for others to complete: which job waits for which, and how many of those have not completed.
//!
//! O(1) per dependency. The graph never changes and is shared by forks; what is left of it is a state of its own.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

use super::job::JobState;

/// The graph: for each job, those that wait for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Dependencies {
    /// The dependents of a job are `dependents[from[job]..from[job + 1]]`.
    from: Vec<u32>,
    dependents: Vec<u32>,
}

impl Dependencies {
    /// `of` gives each job those that it waits for.
    #[must_use]
    pub fn new(of: &[Vec<u32>]) -> Self {
        let mut from = vec![0; of.len() + 1];
        for &needed in of.iter().flatten() {
            from[needed as usize + 1] += 1;
        }
        for job in 0..of.len() {
            from[job + 1] += from[job];
        }
        let mut next = from.clone();
        let mut dependents = vec![0; from[of.len()] as usize];
        for (job, needed) in of.iter().enumerate() {
            for &needed in needed {
                dependents[next[needed as usize] as usize] = job as u32;
                next[needed as usize] += 1;
            }
        }
        Self { from, dependents }
    }

    /// Whether no job waits for another.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.dependents.is_empty()
    }

    fn dependents(&self, job: u32) -> &[u32] {
        match self.from.get(job as usize + 1) {
            Some(&end) => &self.dependents[self.from[job as usize] as usize..end as usize],
            None => &[],
        }
    }
}

/// How far the dependencies of the jobs are met.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DependencyState {
    /// For each job, how many of those that it waits for have not completed; empty where no job waits.
    missing: SharedColumn<Missing>,
    /// Jobs that are held by a decision besides.
    held: BTreeSet<u32>,
}

/// What one job still waits for.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Missing {
    count: u32,
    /// Whether a job that it waits for did not complete, so that it can never start.
    hopeless: bool,
}

impl DependencyState {
    /// Nothing is complete yet; `of` gives each job those that it waits for.
    #[must_use]
    pub fn new(of: &[Vec<u32>]) -> Self {
        let missing = of.iter().map(|needed| Missing { count: needed.len() as u32, hopeless: false });
        Self { missing: missing.collect(), held: BTreeSet::new() }
    }

    /// Lets the next clone share what does not change.
    pub fn share(&mut self) {
        self.missing.share();
    }

    fn of(&self, job: u32) -> Option<&Missing> {
        ((job as usize) < self.missing.len()).then(|| self.missing.get(job as usize))
    }

    /// Whether a job still waits for others.
    #[must_use]
    pub fn waits(&self, job: u32) -> bool {
        self.of(job).is_some_and(|missing| missing.count > 0)
    }

    /// Whether a job can never start.
    #[must_use]
    pub fn is_hopeless(&self, job: u32) -> bool {
        self.of(job).is_some_and(|missing| missing.hopeless)
    }

    /// Holds a job that waits for others, also once it waits no more.
    pub fn hold(&mut self, job: u32) {
        self.held.insert(job);
    }

    /// Ends such a hold; whether there was one.
    pub fn release(&mut self, job: u32) -> bool {
        self.held.remove(&job)
    }

    /// Whether a job is held besides.
    #[must_use]
    pub fn is_held(&self, job: u32) -> bool {
        self.held.contains(&job)
    }

    /// A job is over: its dependents that waited for it alone, or can never start because of it.
    pub fn finished(&mut self, graph: &Dependencies, job: u32, state: JobState) -> Vec<u32> {
        let mut decided = Vec::new();
        for &dependent in graph.dependents(job) {
            let missing = self.missing.get_mut(dependent as usize);
            missing.count -= 1;
            let was_hopeless = missing.hopeless;
            missing.hopeless |= state != JobState::Completed;
            if !was_hopeless && (missing.hopeless || missing.count == 0) {
                decided.push(dependent);
            }
        }
        decided
    }
}
