//! GPUs, and the links between the GPUs of a node: each does one thing at a time, in the order in which it was asked.
//!
//! One stamp each says until when it is busy, which is all there is to know. A kernel that was launched ends even if
//! its job is killed meanwhile.
use serde::{Deserialize, Serialize};

use crate::platform::Platform;
use crate::time::FineTime;

/// The GPUs of all hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gpus {
    /// Where each host's GPUs begin in `busy_until`; one more entry at the end.
    first: Vec<u32>,
    busy_until: Vec<FineTime>,
    /// Until when the link between the GPUs of each host is busy.
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

    /// Has some GPUs of a host compute for so many seconds each, free ones first; returns when all of them are done.
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

    /// Has the link between the GPUs of a host transfer for so many seconds; returns when that is done.
    pub fn transfer(&mut self, now: FineTime, host: u32, seconds: f64) -> FineTime {
        let until = &mut self.link_until[host as usize];
        *until = now.max(*until).after(seconds);
        *until
    }

    /// When what the GPUs of a host, and the link between them, do now and have to do will be done.
    pub fn ends(&self, host: u32) -> impl Iterator<Item = FineTime> {
        let link = self.link_until[host as usize];
        self.busy_until[self.of(host)].iter().copied().chain([link])
    }

    /// Which GPUs of a host are busy, in their order.
    pub fn busy(&self, now: FineTime, host: u32) -> impl Iterator<Item = bool> {
        self.busy_until[self.of(host)].iter().map(move |until| *until > now)
    }
}
