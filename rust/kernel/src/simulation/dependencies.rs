//! Jobs that wait for others to complete: counts of what is missing, and who waits for whom. O(1) per dependency.
use std::collections::BTreeSet;

use crate::workload::jobs::State;

/// Who waits for whom.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    /// For each job, how many of those that it waits for have not completed.
    missing: Vec<u32>,
    /// For each job, those that wait for it: `waiting[from[job]..from[job + 1]]`.
    from: Vec<u32>,
    waiting: Vec<u32>,
    /// Jobs that can never start, since one that they wait for did not complete.
    hopeless: Vec<bool>,
    /// Jobs that somebody holds besides.
    held: BTreeSet<u32>,
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
        let mut waiting = vec![0; from[of.len()] as usize];
        for (job, needed) in of.iter().enumerate() {
            for &needed in needed {
                waiting[next[needed as usize] as usize] = job as u32;
                next[needed as usize] += 1;
            }
        }
        let missing = of.iter().map(|needed| needed.len() as u32).collect();
        Self { missing, from, waiting, hopeless: vec![false; of.len()], held: BTreeSet::new() }
    }

    /// Whether a job still waits for others.
    pub(super) fn waits(&self, job: u32) -> bool {
        self.missing.get(job as usize).is_some_and(|&missing| missing > 0)
    }

    /// Holds a job that waits for others, also when it does so no more.
    pub(super) fn hold(&mut self, job: u32) {
        self.held.insert(job);
    }

    /// Whether a job is held besides; it no longer is.
    pub(super) fn release(&mut self, job: u32) -> bool {
        self.held.remove(&job)
    }

    /// Whether a job is held besides.
    pub(super) fn is_held(&self, job: u32) -> bool {
        self.held.contains(&job)
    }

    /// Whether a job can never start.
    pub(super) fn is_hopeless(&self, job: u32) -> bool {
        self.hopeless.get(job as usize).is_some_and(|&hopeless| hopeless)
    }

    /// A job is done: those that waited for it alone, or can never start for its sake.
    pub(super) fn done(&mut self, job: u32, state: State) -> Vec<u32> {
        let Some(&end) = self.from.get(job as usize + 1) else { return Vec::new() };
        let mut decided = Vec::new();
        for &waiting in &self.waiting[self.from[job as usize] as usize..end as usize] {
            let missing = &mut self.missing[waiting as usize];
            *missing -= 1;
            let hopeless = &mut self.hopeless[waiting as usize];
            let was_hopeless = *hopeless;
            *hopeless |= state != State::Completed;
            if !was_hopeless && (*hopeless || *missing == 0) {
                decided.push(waiting);
            }
        }
        decided
    }
}
