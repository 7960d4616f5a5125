//! The feed of a replay: a whole workload in the table, handed over by submit time, then row.
use std::convert::Infallible;

use crate::policy::Site;
use crate::simulation::Feed;
use crate::time::Time;
use crate::workload::jobs::JobTable;

/// Jobs of the table by submit time, then row. O(1) per job; the order itself costs O(n log n), or O(n) if it is there.
#[derive(Clone, Debug)]
pub struct Replay {
    order: Vec<u32>,
    next: usize,
    next_time: Time,
}

impl Replay {
    /// The feed of all jobs of a table.
    #[must_use]
    pub fn new(jobs: &JobTable) -> Self {
        let mut order: Vec<u32> = (0..jobs.len() as u32).collect();
        order.sort_by_key(|&job| Time(jobs.job(job).submit_time));
        let next_time = order.first().map_or(Time::NEVER, |&job| Time(jobs.job(job).submit_time));
        Self { order, next: 0, next_time }
    }
}

impl Feed for Replay {
    type Error = Infallible;

    fn next_time(&self) -> Time {
        self.next_time
    }

    fn submit(&mut self, site: &mut Site) -> Result<u32, Infallible> {
        let job = self.order[self.next];
        self.next += 1;
        self.next_time =
            self.order.get(self.next).map_or(Time::NEVER, |&job| Time(site.jobs.job(job).submit_time));
        Ok(job)
    }

    fn close(&mut self) {
        self.next = self.order.len();
        self.next_time = Time::NEVER;
    }

    fn finished(&mut self, _: &mut Site, _: u32) -> Result<(), Infallible> {
        Ok(())
    }
}
