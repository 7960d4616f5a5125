//! The cost of scheduling passes: one entry per pass, in columns.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::{Columns, Log};
use crate::resident::resident_bytes;
use crate::state::View;
use crate::stopwatch::{Stopwatch, Timer};

/// One entry per scheduling pass, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DispatchLog {
    /// Simulated time, seconds.
    pub time: SharedColumn<f64>,
    /// Number of waiting jobs at the begin of the pass.
    pub queue_length: SharedColumn<u64>,
    /// CPU time of the pass, seconds.
    pub cpu_time: SharedColumn<f64>,
    /// CPU time between the previous pass and this one, seconds; 0 for the first.
    pub other_cpu_time: SharedColumn<f64>,
    /// Resident memory of the process after the pass, bytes; 0 if the system does not report it.
    pub memory: SharedColumn<u64>,
    /// Number of jobs started by the pass.
    pub started: SharedColumn<u64>,
    #[serde(skip)]
    stopwatch: Stopwatch,
    /// Running since the end of the latest pass.
    #[serde(skip)]
    between: Option<Timer>,
}

impl Log for DispatchLog {
    fn share(&mut self) {
        self.time.share();
        self.queue_length.share();
        self.cpu_time.share();
        self.other_cpu_time.share();
        self.memory.share();
        self.started.share();
    }

    fn columns(&self) -> Columns {
        // A pass that has begun and not ended has no entry.
        let other: Vec<f64> = self.other_cpu_time.to_vec().into_iter().take(self.time.len()).collect();
        vec![
            ("time", self.time.to_vec().into()),
            ("queue_length", self.queue_length.to_vec().into()),
            ("cpu_time", self.cpu_time.to_vec().into()),
            ("other_cpu_time", other.into()),
            ("memory", self.memory.to_vec().into()),
            ("started", self.started.to_vec().into()),
        ]
    }
}

impl DispatchLog {
    /// Starts the timer of a pass, and ends the time since the previous pass.
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
