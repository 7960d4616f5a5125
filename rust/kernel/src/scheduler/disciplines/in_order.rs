//! Selections in queue order (S20): until a job does not fit, or past jobs that do not fit.
use super::candidates::{Candidate, Candidates, Capacity};

/// Return the longest prefix of jobs that fit together. O(jobs served).
pub fn prefix(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    prefix_and_head(jobs, capacity).0
}

/// Return the longest prefix of jobs that fit together, and the first job that does not fit.
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

/// Return every job that fits in addition to the jobs selected before it.
pub fn all_that_fit(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let mut served = Vec::new();
    while let Some(mut job) = jobs.next_within(capacity) {
        if capacity.take(&mut job) {
            served.push(job);
        }
    }
    served
}
