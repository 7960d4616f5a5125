//! Selections that go through the jobs in order (S20): up to the first that does not fit, or past those that do not.
use super::candidates::{Candidate, Candidates, Capacity};

/// The longest run of jobs, from the first on, that fit together: O(served).
pub fn prefix(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    prefix_and_head(jobs, capacity).0
}

/// The same, and the first job that does not fit.
pub fn prefix_and_head(
    jobs: &mut dyn Candidates,
    capacity: &mut Capacity,
) -> (Vec<Candidate>, Option<Candidate>) {
    let mut served = Vec::new();
    while let Some(mut job) = jobs.next() {
        if !capacity.take(&mut job) {
            return (served, Some(job));
        }
        served.push(job);
    }
    (served, None)
}

/// Every job that fits beside those before it.
pub fn all_that_fit(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let mut served = Vec::new();
    while let Some(mut job) = jobs.next_within(capacity) {
        if capacity.take(&mut job) {
            served.push(job);
        }
    }
    served
}
