//! The jobs of a log in the Standard Workload Format: what they ask of a machine, and their schedule in the log.
use std::io;

use crate::cluster::{Request, Requests};
use crate::measures::{Both, Times};
use crate::state::View;
use crate::workload::swf::SwfRecord;
use crate::workload::{Job, JobState};

/// The jobs of a log on a machine: each of their tasks is one processor.
#[derive(Clone, Debug)]
pub struct LogJobs {
    /// The amount of each resource of one processor.
    processor: Vec<i64>,
    /// The resource of a processor's memory, if memory is read from the log.
    memory: Option<usize>,
    /// The memory and the request of the latest job.
    latest: Option<(i64, u32)>,
}

impl LogJobs {
    /// Creates the jobs of a log on a machine with this amount of each resource per processor.
    #[must_use]
    pub fn new(processor: Vec<i64>, memory: Option<usize>) -> Self {
        Self { processor, memory, latest: None }
    }

    /// Returns whether memory is read from the log.
    #[must_use]
    pub fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// The job of a record, in a row. One that was cancelled before it started runs until then at most.
    pub fn job(&mut self, row: u64, record: &SwfRecord, requests: &mut Requests) -> Job {
        // Adding 0 converts −0 to 0.
        Job {
            row,
            submit_time: record.submit_time + 0.0,
            run_time: record.cancelled_after.unwrap_or(record.run_time) + 0.0,
            requested_time: record.requested_time + 0.0,
            time_limit: record.time_limit + 0.0,
            tasks: record.tasks,
            request: self.request(record.memory, requests),
        }
    }

    fn request(&mut self, memory: i64, requests: &mut Requests) -> u32 {
        if let Some((same, request)) = self.latest
            && (same == memory || self.memory.is_none())
        {
            return request;
        }
        let amounts = self.per_processor(memory).collect();
        let request = requests.intern(Request { amounts, ..Request::NOTHING });
        self.latest = Some((memory, request));
        request
    }

    /// Adds a job that ended to the schedules in the log and of the simulation, if it ran in both.
    pub fn compare(&self, view: View<'_>, slot: u32, record: &SwfRecord, both: &mut Both) -> io::Result<()> {
        let jobs = &view.state.jobs;
        let (start, end) = (jobs.start_time(slot), jobs.end_time(slot));
        let counts = !start.is_nan() && !end.is_nan() && jobs.state(slot) != JobState::Cancelled;
        let Some(logged) = record.logged_start().filter(|_| counts) else { return Ok(()) };
        let run = if jobs.state(slot) == JobState::Killed { end - start } else { record.run_time };
        let times = Times { submit: record.submit_time, start, end, run };
        let held = self.per_processor(record.memory).map(|amount| amount * i64::from(record.tasks));
        both.add(logged, record.run_time, times, held)
    }

    /// The amount of each resource of one processor with this memory.
    fn per_processor(&self, memory: i64) -> impl Iterator<Item = i64> + Clone + '_ {
        let of_resource = move |(resource, &each): (usize, &i64)| {
            if self.memory == Some(resource) { memory } else { each }
        };
        self.processor.iter().enumerate().map(of_resource)
    }
}

/// Numbers of the jobs of a log that matter for how near a simulation is to it.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogCounts {
    /// Number of jobs whose time limit is not known to be above the run time.
    pub without_limit: u64,
    /// Number of jobs whose requested memory the log has.
    pub with_memory: u64,
}

impl LogCounts {
    /// Counts a job.
    pub fn add(&mut self, record: &SwfRecord) {
        self.without_limit += u64::from(record.requested_time <= record.run_time);
        self.with_memory += u64::from(record.asks_memory());
    }
}
