//! A call of the main loop or of backfill on its way through the queue.
use serde::{Deserialize, Serialize};

use crate::slurm::{Backfill, CallState, Entry, MainLoop, Setup, Verdict};

use super::cycle::{Cycle, Pace, Turn};
use super::queue::Queued;

/// A call on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Call {
    pub kind: Kind,
    /// The entries of the queue, in order; and the next of them.
    pub queue: Vec<Queued>,
    pub next: usize,
    pub started: bool,
}

/// What is called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The main loop, by its thread or directly; how many entries it looks at.
    Main(Box<MainLoop>, bool, usize),
    /// Backfill.
    Backfill(Box<Backfill>, Cycle),
}

impl Kind {
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> Verdict {
        match self {
            Self::Main(main, ..) => main.consider(setup, entry),
            Self::Backfill(backfill, _) => backfill.consider(setup, entry),
        }
    }

    /// What a call leaves.
    pub fn into_state(self) -> CallState {
        match self {
            Self::Main(main, ..) => main.into_state(),
            Self::Backfill(backfill, _) => backfill.into_state(),
        }
    }

    /// What comes before the next entry.
    pub fn turn(&self, pace: &Pace) -> Turn {
        match self {
            Self::Main(..) => Turn::Continues,
            Self::Backfill(backfill, cycle) => cycle.turn(pace, backfill.tested()),
        }
    }

    /// Whether others may have acted since the call began.
    pub fn has_paused(&self) -> bool {
        matches!(self, Self::Backfill(_, cycle) if cycle.has_paused())
    }

    /// Whether nothing becomes of the entries from this place on.
    pub fn is_over(&self, setup: &Setup, place: usize) -> bool {
        match self {
            Self::Main(main, _, depth) => place >= *depth || main.is_over(setup),
            Self::Backfill(backfill, _) => backfill.is_over(setup),
        }
    }
}
