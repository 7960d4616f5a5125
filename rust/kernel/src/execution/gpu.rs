//! GPUs, and the links between the GPUs of a node: each does one operation at a time, in the order of the requests.
//!
//! The state of each is the time until which it is busy. A launched kernel runs to its end even if its job is killed.
use serde::{Deserialize, Serialize};

use crate::platform::Platform;
use crate::time::FineTime;

/// The GPUs of all hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gpus {
    /// Start of each host's GPUs in `busy_until`, then the end of the last.
    first: Vec<u32>,
    busy_until: Vec<FineTime>,
    /// The time until which the link between the GPUs of each host is busy.
    link_until: Vec<FineTime>,
}

impl Gpus {
    /// The GPUs of a platform, all free.
    #[must_use]
    pub fn new(platform: &Platform) -> Self {
        let mut first = vec![0];
        for host in platform.hosts() {
            first.push(first[first.len() - 1] + host.gpus);
        }
        let count = first[first.len() - 1] as usize;
        Self {
            first,
            busy_until: vec![FineTime::default(); count],
            link_until: vec![FineTime::default(); platform.hosts().len()],
        }
    }

    fn of(&self, host: u32) -> std::ops::Range<usize> {
        self.first[host as usize] as usize..self.first[host as usize + 1] as usize
    }

    /// Occupies some GPUs of a host for a number of seconds each, free ones first; returns the end of the last.
    pub fn compute(&mut self, now: FineTime, host: u32, gpus: u32, seconds: f64) -> FineTime {
        let range = self.of(host);
        let free = self.busy_until[range.clone()].iter().filter(|until| **until <= now).count();
        let mut wanted_free = (gpus as usize).min(free);
        let mut wanted_busy = gpus as usize - wanted_free;
        let mut done = now;
        for until in &mut self.busy_until[range] {
            let wanted = if *until <= now { &mut wanted_free } else { &mut wanted_busy };
            if *wanted > 0 {
                *wanted -= 1;
                *until = now.max(*until).after(seconds);
                done = done.max(*until);
            }
        }
        done
    }

    /// Occupies the link between the GPUs of a host for a number of seconds; returns the end.
    pub fn transfer(&mut self, now: FineTime, host: u32, seconds: f64) -> FineTime {
        let until = &mut self.link_until[host as usize];
        *until = now.max(*until).after(seconds);
        *until
    }

    /// The ends of all current and queued operations of the GPUs of a host, and of the link between them.
    pub fn ends(&self, host: u32) -> impl Iterator<Item = FineTime> {
        let link = self.link_until[host as usize];
        self.busy_until[self.of(host)].iter().copied().chain([link])
    }

    /// For each GPU of a host, whether it is busy.
    pub fn busy(&self, now: FineTime, host: u32) -> impl Iterator<Item = bool> {
        self.busy_until[self.of(host)].iter().map(move |until| *until > now)
    }
}
