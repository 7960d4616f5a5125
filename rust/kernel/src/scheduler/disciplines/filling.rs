//! `ServerFilling` (S20): of the first jobs that ask for all servers, those that ask for most first.
//!
//! After Grosof, Harchol-Balter, Scheller-Wolf: WCFS (Queueing Systems 2022). Where all requests and the number of servers are
//! powers of two, no server is idle as long as the jobs present ask for all.
use std::cmp::Reverse;

use super::candidates::{Candidate, Candidates, Capacity};

/// The least run of jobs, from the first on, that ask for all servers; of these the widest first, past those that do not fit.
/// O(m log m), m jobs in that run.
pub fn server_filling(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let (servers, mut asked) = (capacity.servers(), 0);
    let mut first = Vec::new();
    // One is looked at even where there are no servers: it may ask for none.
    while asked < servers || first.is_empty() {
        let Some(job) = jobs.next() else { break };
        asked += job.servers;
        first.push(job);
    }
    // Those of equal width stay in order.
    first.sort_by_key(|job| Reverse(job.servers));
    first.retain_mut(|job| capacity.take(job));
    first
}
