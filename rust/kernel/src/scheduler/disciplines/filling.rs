//! `ServerFilling` (S20): among the first jobs that together request all servers, the widest first.
//!
//! After Grosof, Harchol-Balter, Scheller-Wolf: WCFS (Queueing Systems 2022). If all requests and the number of servers
//! are powers of two, no server is idle while the present jobs request all of them.
use std::cmp::Reverse;

use super::candidates::{Candidate, Candidates, Capacity};

/// Select, widest first, from the shortest prefix of the jobs that requests all servers; jobs that do not fit are
/// skipped. O(m log m) for a prefix of m jobs.
pub fn server_filling(jobs: &mut dyn Candidates, capacity: &mut Capacity) -> Vec<Candidate> {
    let (servers, mut asked) = (capacity.servers(), 0);
    let mut first = Vec::new();
    // Examine at least one job: it may request zero servers.
    while asked < servers || first.is_empty() {
        let Some(job) = jobs.next() else { break };
        asked += job.servers;
        first.push(job);
    }
    // The sort is stable: jobs of equal width stay in order.
    first.sort_by_key(|job| Reverse(job.servers));
    first.retain_mut(|job| capacity.take(job));
    first
}
