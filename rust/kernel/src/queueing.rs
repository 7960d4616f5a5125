//! The multiserver-job queue with first come, first served, without nodes, policies or events.
//!
//! Kiefer and Wolfowitz's recursion for simultaneous service (J. Kiefer and J. Wolfowitz, Trans. Amer. Math. Soc. 78,
//! 1955; A. Rumyantsev, PDCAT 2014): let F1 <= … <= Fc be the times at which the servers become free. A job that
//! arrives at `t` and needs N servers for S starts at max(t, FN), and its end replaces the N least times.
//!
//! Starts never decrease, so servers that are free at the last start are equivalent, and only their number is stored.
//! The others are stored by job, since the servers of one job become free together. A job adds one such group, and each
//! group is removed once: O(log c) per job, amortised, and O(c) memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

/// Servers that become free together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    free_at: Time,
    servers: u64,
}

/// The reason why a job cannot be served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// Its arrival is not a finite number.
    Arrival,
    /// It arrives before the job that it follows.
    Order,
    /// Its service time is not a finite number >= 0.
    Service,
    /// It needs no server, or more than exist.
    Servers,
    /// Its start or end is not a finite number.
    TooLate,
}

/// The state of the queue after the last served job.
#[derive(Clone, Debug)]
pub struct SimultaneousService {
    servers: u64,
    /// Number of servers that are free at the last start.
    free: u64,
    /// The last arrival; the next one must not be earlier.
    arrival: f64,
    last_start: f64,
    busy: BinaryHeap<Reverse<Group>>,
}

impl SimultaneousService {
    /// Creates a queue with all servers free.
    #[must_use]
    pub fn new(servers: u64) -> Self {
        let begin = f64::NEG_INFINITY;
        Self { servers, free: servers, arrival: begin, last_start: begin, busy: BinaryHeap::new() }
    }

    /// Serves the next job; returns its delay, the time from its arrival to its start.
    ///
    /// # Errors
    ///
    /// Returns a defect of the job; the queue must not be used after that.
    pub fn serve(&mut self, arrival: f64, service: f64, servers: i64) -> Result<f64, Defect> {
        let servers = self.admit(arrival, service, servers)?;
        let mut start = arrival.max(self.last_start);
        while let Some(Reverse(group)) = self.busy.peek().copied() {
            if group.free_at.0 > start {
                if self.free >= servers {
                    break;
                }
                start = group.free_at.0;
            }
            self.free += group.servers;
            self.busy.pop();
        }
        let end = start + service;
        if !end.is_finite() {
            return Err(Defect::TooLate);
        }
        (self.arrival, self.last_start) = (arrival, start);
        if service > 0.0 {
            self.free -= servers;
            self.busy.push(Reverse(Group { free_at: Time(end), servers }));
        }
        Ok(start - arrival)
    }

    fn admit(&self, arrival: f64, service: f64, servers: i64) -> Result<u64, Defect> {
        if !arrival.is_finite() {
            return Err(Defect::Arrival);
        }
        if arrival < self.arrival {
            return Err(Defect::Order);
        }
        if !(service.is_finite() && service >= 0.0) {
            return Err(Defect::Service);
        }
        u64::try_from(servers).ok().filter(|&count| 0 < count && count <= self.servers).ok_or(Defect::Servers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The recursion without optimisation: a sorted vector of all servers.
    fn literal(jobs: &[(f64, f64, i64)], servers: usize) -> Vec<f64> {
        let mut free = vec![f64::NEG_INFINITY; servers];
        let mut delays = Vec::new();
        for &(arrival, service, needed) in jobs {
            let start = free[needed as usize - 1].max(arrival);
            free[..needed as usize].fill(start + service);
            free.sort_by(f64::total_cmp);
            delays.push(start - arrival);
        }
        delays
    }

    fn delays(jobs: &[(f64, f64, i64)], servers: usize) -> Vec<f64> {
        let mut queue = SimultaneousService::new(servers as u64);
        jobs.iter()
            .map(|&(arrival, service, needed)| queue.serve(arrival, service, needed).unwrap())
            .collect()
    }

    proptest! {
        #[test]
        fn groups_give_what_the_sorted_vector_gives(
            servers in 1_usize..9,
            jobs in prop::collection::vec((0_u8..6, 0_u8..9, 0_i64..64), 0..80),
            unit in prop::sample::select(vec![1.0, 0.1]),
        ) {
            let mut now = 0.0;
            let jobs: Vec<_> = jobs
                .into_iter()
                .map(|(gap, service, needed)| {
                    now += f64::from(gap) * unit;
                    (now, f64::from(service) * unit, 1 + needed % servers as i64)
                })
                .collect();
            prop_assert_eq!(delays(&jobs, servers), literal(&jobs, servers));
        }
    }

    #[test]
    fn no_more_groups_are_kept_than_there_are_servers() {
        let mut queue = SimultaneousService::new(3);
        for job in 0..100_u32 {
            queue.serve(f64::from(job), 50.0, 1).unwrap();
            assert!(queue.busy.len() <= 3);
        }
    }

    #[test]
    fn a_job_with_a_defect_is_refused() {
        let mut queue = SimultaneousService::new(2);
        queue.serve(5.0, 1.0, 2).unwrap();
        let refused = [
            ((f64::NAN, 1.0, 1), Defect::Arrival),
            ((4.0, 1.0, 1), Defect::Order),
            ((5.0, -1.0, 1), Defect::Service),
            ((5.0, f64::NAN, 1), Defect::Service),
            ((5.0, 1.0, 0), Defect::Servers),
            ((5.0, 1.0, 3), Defect::Servers),
            ((f64::MAX, f64::MAX, 1), Defect::TooLate),
        ];
        for ((arrival, service, servers), defect) in refused {
            assert_eq!(queue.clone().serve(arrival, service, servers), Err(defect));
        }
    }
}
