//! A cycle of backfill takes time, and lets others act now and then: it is a row of parts with pauses between them (S25).
use serde::{Deserialize, Serialize};

use super::settings::SlurmSettings;

/// How fast cycles go, seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Pace {
    /// For each entry that is looked at.
    test_time: f64,
    /// `bf_yield_interval`: a part is over after so many.
    yield_interval: f64,
    /// `bf_yield_sleep`: so many lie between parts.
    yield_sleep: f64,
    /// `bf_max_time`: no entry is looked at so many whole seconds after the begin.
    max_time: f64,
    /// `bf_continue`: whether a cycle goes on although something has changed in a pause.
    pub continues: bool,
}

impl Pace {
    pub fn of(settings: &SlurmSettings) -> Self {
        Self {
            test_time: settings.bf_test_time,
            yield_interval: settings.bf_yield_interval,
            yield_sleep: settings.bf_yield_sleep,
            max_time: settings.bf_max_time as f64,
            continues: settings.bf_continue,
        }
    }

    /// Whether a cycle that looks at so many entries may pause.
    pub fn may_pause(&self, entries: usize) -> bool {
        entries as f64 * self.test_time >= self.yield_interval
    }
}

/// What comes before the next entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// Nothing.
    Continues,
    /// A pause until then.
    Pauses(f64),
    /// The end of the cycle: it has taken its time.
    Ends,
}

/// A cycle under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Cycle {
    pub begin: f64,
    /// When its present part began, and how many entries had been looked at by then.
    part: f64,
    looked_at: usize,
    has_paused: bool,
}

impl Cycle {
    pub fn new(now: f64) -> Self {
        Self { begin: now, part: now, looked_at: 0, has_paused: false }
    }

    /// When the entry is looked at before which so many have been.
    pub fn time(&self, pace: &Pace, tested: usize) -> f64 {
        self.part + self.taken(pace, tested)
    }

    /// Seconds that its part has taken so far.
    fn taken(&self, pace: &Pace, tested: usize) -> f64 {
        (tested - self.looked_at) as f64 * pace.test_time
    }

    /// What comes before the next entry.
    pub fn turn(&self, pace: &Pace, tested: usize) -> Turn {
        let time = self.time(pace, tested);
        if time.floor() - self.begin.floor() >= pace.max_time {
            Turn::Ends
        } else if self.taken(pace, tested) >= pace.yield_interval {
            Turn::Pauses(time + pace.yield_sleep)
        } else {
            Turn::Continues
        }
    }

    /// Its next part begins.
    pub fn resume(&mut self, now: f64, tested: usize) {
        self.has_paused = true;
        (self.part, self.looked_at) = (now, tested);
    }

    /// How long it has taken, seconds.
    pub fn length(&self, pace: &Pace, tested: usize) -> f64 {
        self.time(pace, tested) - self.begin
    }

    /// Whether a cycle that begins at another part of a second may look at fewer entries, or at other nodes.
    pub fn may_differ(&self, pace: &Pace, tested: usize) -> bool {
        self.has_paused || self.length(pace, tested) > pace.max_time - 1.0
    }

    /// Whether it has had several parts.
    pub fn has_paused(&self) -> bool {
        self.has_paused
    }
}
