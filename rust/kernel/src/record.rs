//! What is written down of a run beside the jobs: the cost of dispatching, interrupted runs, and news for listeners.
use crate::policy::Site;
use crate::stopwatch::{Stopwatch, Timer};
use crate::workload::jobs::Share;

/// Times during which jobs kept the same nodes, and which are over.
#[derive(Clone, Debug, Default)]
pub struct Stretches {
    /// The job.
    pub job: Vec<u32>,
    /// Since when it had these nodes, seconds.
    pub start_time: Vec<f64>,
    /// Until when, seconds.
    pub end_time: Vec<f64>,
    /// Where the shares of each stretch end in `shares`.
    pub until: Vec<usize>,
    /// What the jobs had, one after the other.
    pub shares: Vec<Share>,
    /// How much of each resource each held in all, one after the other.
    pub held: Vec<i64>,
}

impl Stretches {
    /// Writes down what a running job has had since then, which is about to end.
    pub fn add(&mut self, site: &Site, job: u32, since: f64) {
        self.job.push(job);
        self.start_time.push(since);
        self.end_time.push(site.now);
        self.shares.extend_from_slice(site.jobs.placement(job));
        let mut held = Vec::new();
        site.held(job, &mut held);
        self.held.append(&mut held);
        self.until.push(self.shares.len());
    }

    /// Forgets all but the first `count`, of this number of resources.
    pub fn truncate(&mut self, count: usize, resources: usize) {
        self.job.truncate(count);
        self.start_time.truncate(count);
        self.end_time.truncate(count);
        self.until.truncate(count);
        self.shares.truncate(self.until.last().copied().unwrap_or(0));
        self.held.truncate(count * resources);
    }
}

/// Runs that were cut short and whose jobs went back to the queue.
#[derive(Clone, Debug, Default)]
pub struct Interruptions {
    /// The runs; one whose job was resized has the nodes that it had at last.
    pub runs: Stretches,
    /// Seconds of each that need not be run again.
    pub saved: Vec<f64>,
}

impl Interruptions {
    /// Writes down a running job that is about to be interrupted.
    pub fn add(&mut self, site: &Site, job: u32, saved: f64) {
        self.runs.add(site, job, site.jobs.start_time(job));
        self.saved.push(saved);
    }
}

/// What listeners are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Change {
    /// A job entered the queue.
    Submitted = 0,
    /// A job started.
    Started = 1,
    /// A job ran to its end.
    Completed = 2,
    /// A job was ended.
    Killed = 3,
    /// A job was rejected.
    Rejected = 4,
    /// A running job gave up its nodes and waits again.
    Interrupted = 5,
    /// A node takes nobody.
    Closed = 6,
    /// A node takes jobs again.
    Opened = 7,
    /// A node offers other amounts.
    Withheld = 8,
    /// A running job has other nodes.
    Resized = 9,
}

/// What changed since listeners were told last: the change, and the job or node.
pub type News = Vec<(Change, u32)>;

/// One entry per scheduling pass, in columns.
#[derive(Clone, Debug, Default)]
pub struct DispatchLog {
    /// Simulated time, seconds.
    pub time: Vec<f64>,
    /// Jobs waiting when the pass began.
    pub queue_length: Vec<u64>,
    /// CPU time of the pass, seconds.
    pub cpu_time: Vec<f64>,
    /// Jobs started by the pass.
    pub started: Vec<u64>,
    stopwatch: Stopwatch,
}

impl DispatchLog {
    /// Begins to time a pass.
    #[must_use]
    pub fn begin(&self) -> Timer {
        self.stopwatch.begin()
    }

    /// Writes the pass down.
    pub fn end(&mut self, timer: &Timer, site: &Site) {
        self.cpu_time.push(self.stopwatch.end(timer).as_secs_f64());
        self.time.push(site.now);
        self.queue_length.push((site.queue.len() + site.started.len()) as u64);
        self.started.push(site.started.len() as u64);
    }
}
