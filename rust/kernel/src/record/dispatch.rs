//! The cost of dispatching: one entry per pass, in columns.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::resident::resident_bytes;
use crate::state::View;
use crate::stopwatch::{Stopwatch, Timer};

/// One entry per scheduling pass, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DispatchLog {
    /// Simulated time, seconds.
    pub time: SharedColumn<f64>,
    /// Jobs waiting when the pass began.
    pub queue_length: SharedColumn<u64>,
    /// CPU time of the pass, seconds.
    pub cpu_time: SharedColumn<f64>,
    /// CPU time between the pass before and this one, seconds; 0 for the first.
    pub other_cpu_time: SharedColumn<f64>,
    /// Bytes of the process that were resident after the pass; 0 where the system does not tell.
    pub memory: SharedColumn<u64>,
    /// Jobs started by the pass.
    pub started: SharedColumn<u64>,
    #[serde(skip)]
    stopwatch: Stopwatch,
    /// Runs since the latest pass ended.
    #[serde(skip)]
    between: Option<Timer>,
}

impl DispatchLog {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.time.share();
        self.queue_length.share();
        self.cpu_time.share();
        self.other_cpu_time.share();
        self.memory.share();
        self.started.share();
    }

    /// Begins to time a pass, and ends the time between it and the one before.
    #[must_use]
    pub fn begin(&mut self) -> Timer {
        let other = self.between.take().map_or(0.0, |timer| self.stopwatch.end(&timer).as_secs_f64());
        self.other_cpu_time.push(other);
        self.stopwatch.begin()
    }

    /// Records the pass.
    pub fn end(&mut self, timer: &Timer, view: View<'_>) {
        let (queued, started) = (view.state.queue.len(), view.state.started.len());
        self.cpu_time.push(self.stopwatch.end(timer).as_secs_f64());
        self.time.push(view.now());
        self.queue_length.push((queued + started) as u64);
        self.started.push(started as u64);
        self.memory.push(resident_bytes().unwrap_or(0));
        self.between = Some(self.stopwatch.begin());
    }
}
