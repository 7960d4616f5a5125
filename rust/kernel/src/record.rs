//! What is written down of a run beside the jobs: the cost of dispatching.
use cpu_time::ThreadTime;

use crate::policy::Site;

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
}

/// A pass being timed.
#[derive(Debug)]
pub struct Timer(ThreadTime);

impl DispatchLog {
    /// Begins to time a pass.
    #[must_use]
    pub fn begin(&self) -> Timer {
        Timer(ThreadTime::now())
    }

    /// Writes the pass down.
    pub fn end(&mut self, timer: &Timer, site: &Site) {
        self.cpu_time.push(timer.0.elapsed().as_secs_f64());
        self.time.push(site.now);
        self.queue_length.push((site.queue.len() + site.started.len()) as u64);
        self.started.push(site.started.len() as u64);
    }
}
