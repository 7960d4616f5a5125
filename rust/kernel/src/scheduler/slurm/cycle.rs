//! Timing of a backfill cycle: it consists of parts with pauses between them in which other threads can act (S25).
use serde::{Deserialize, Serialize};

use crate::slurm::SlurmParameters;

/// Durations in a backfill cycle, seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct BackfillYield {
    /// Time per examined entry.
    test_time: f64,
    /// `bf_yield_interval`: a part ends after this time.
    yield_interval: f64,
    /// `bf_yield_sleep`: pause between parts.
    yield_sleep: f64,
    /// `bf_max_time`: no entry is examined this many whole seconds after the begin.
    max_time: f64,
    /// `bf_continue`: whether a cycle continues although something has changed during a pause.
    pub continues: bool,
}

impl BackfillYield {
    pub fn of(parameters: &SlurmParameters) -> Self {
        let (yield_interval, yield_sleep) = parameters.yield_times();
        Self {
            test_time: parameters.bf_test_time,
            yield_interval,
            yield_sleep,
            max_time: parameters.bf_max_time.unwrap_or(parameters.bf_interval) as f64,
            continues: parameters.bf_continue,
        }
    }

    /// Return whether a cycle with this many entries may pause.
    pub fn may_pause(&self, entries: usize) -> bool {
        entries as f64 * self.test_time >= self.yield_interval
    }
}

/// What to do before the next entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// Continue.
    Continues,
    /// Pause until this time.
    Pauses(f64),
    /// End the cycle: its time is used up.
    Ends,
}

/// The current cycle.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Cycle {
    pub begin: f64,
    /// Begin of the current part, and number of entries examined before it.
    part: f64,
    looked_at: usize,
    has_paused: bool,
}

impl Cycle {
    pub fn new(now: f64) -> Self {
        Self { begin: now, part: now, looked_at: 0, has_paused: false }
    }

    /// Return when the entry after `tested` others is examined.
    pub fn time(&self, backfill_yield: &BackfillYield, tested: usize) -> f64 {
        self.part + self.taken(backfill_yield, tested)
    }

    /// Return how long the current part has taken, seconds.
    fn taken(&self, backfill_yield: &BackfillYield, tested: usize) -> f64 {
        (tested - self.looked_at) as f64 * backfill_yield.test_time
    }

    /// Return what to do before the next entry.
    pub fn turn(&self, backfill_yield: &BackfillYield, tested: usize) -> Turn {
        let time = self.time(backfill_yield, tested);
        if time.floor() - self.begin.floor() >= backfill_yield.max_time {
            Turn::Ends
        } else if self.taken(backfill_yield, tested) >= backfill_yield.yield_interval {
            Turn::Pauses(time + backfill_yield.yield_sleep)
        } else {
            Turn::Continues
        }
    }

    /// Begin the next part.
    pub fn resume(&mut self, now: f64, tested: usize) {
        self.has_paused = true;
        (self.part, self.looked_at) = (now, tested);
    }

    /// Return how long the cycle has taken, seconds.
    pub fn length(&self, backfill_yield: &BackfillYield, tested: usize) -> f64 {
        self.time(backfill_yield, tested) - self.begin
    }

    /// Return whether a cycle that begins at another fraction of a second may examine fewer entries, or see other
    /// nodes.
    pub fn may_differ(&self, backfill_yield: &BackfillYield, tested: usize) -> bool {
        self.has_paused || self.length(backfill_yield, tested) > backfill_yield.max_time - 1.0
    }

    /// Return whether the cycle has had several parts.
    pub fn has_paused(&self) -> bool {
        self.has_paused
    }
}
