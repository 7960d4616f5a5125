//! State of a call of the main loop or of backfill that is processing the queue.
use serde::{Deserialize, Serialize};

use crate::slurm::{Backfill, CallState, Entry, EntryOutcome, Finding, MainLoop, Setup, Stop};

use super::cycle::{BackfillYield, Cycle, Turn};
use super::queue::Queued;

/// A call in progress.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Call {
    pub kind: Kind,
    /// The queue entries in order, and the index of the next one.
    pub queue: Vec<Queued>,
    pub next: usize,
    pub started: bool,
    /// The number of the call, if findings are recorded.
    pub number: u64,
}

/// The scheduler that is called.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The main loop, whether its thread calls it (else a direct call), and the number of entries that it examines.
    Main(Box<MainLoop>, bool, usize),
    /// Backfill, in a cycle.
    Backfill(Box<Backfill>, Cycle),
}

impl Kind {
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> EntryOutcome {
        match self {
            Self::Main(main, ..) => main.consider(setup, entry),
            Self::Backfill(backfill, _) => backfill.consider(setup, entry),
        }
    }

    /// Process an entry. Return also what was found of it, if it waits.
    pub fn find(&mut self, setup: &Setup, entry: &Entry) -> (EntryOutcome, Finding) {
        match self {
            Self::Main(main, ..) => {
                let before = main.stopped(setup, (entry.partition, entry.reservation), false);
                let is_done = main.is_done(entry.job);
                let outcome = main.consider(setup, entry);
                let finding = match (&outcome, before) {
                    (EntryOutcome::Preempts(..), _) => Finding::Preempted,
                    (_, Some(before)) => before,
                    (EntryOutcome::NotTried, None) if !is_done => Finding::Stopped(Stop::PartitionJobDepth),
                    _ => Finding::Tried,
                };
                (outcome, finding)
            }
            Self::Backfill(backfill, _) => {
                let outcome = backfill.consider(setup, entry);
                (outcome, backfill.finding())
            }
        }
    }

    /// Return why the call is over before an entry in this partition, and maybe reservation; `otherwise`, if no depth
    /// ends it.
    pub fn left_out(&self, setup: &Setup, place: (usize, Option<usize>), otherwise: Stop) -> Finding {
        match self {
            Self::Main(main, ..) => main.stopped(setup, place, true),
            Self::Backfill(backfill, _) => backfill.stopped(setup),
        }
        .unwrap_or(Finding::Stopped(otherwise))
    }

    /// Return whether this is a cycle of backfill.
    pub fn is_cycle(&self) -> bool {
        matches!(self, Self::Backfill(..))
    }

    /// Convert the call into the state that it leaves.
    pub fn into_state(self) -> CallState {
        match self {
            Self::Main(main, ..) => main.into_state(),
            Self::Backfill(backfill, _) => backfill.into_state(),
        }
    }

    /// Return whether to pause or end before the next entry.
    pub fn turn(&self, backfill_yield: &BackfillYield) -> Turn {
        match self {
            Self::Main(..) => Turn::Continues,
            Self::Backfill(backfill, cycle) => cycle.turn(backfill_yield, backfill.tested()),
        }
    }

    /// Return whether other schedulers may have acted since the call began.
    pub fn has_paused(&self) -> bool {
        matches!(self, Self::Backfill(_, cycle) if cycle.has_paused())
    }

    /// Return whether the call can do nothing with the entries from this index on.
    pub fn is_over(&self, setup: &Setup, place: usize) -> bool {
        match self {
            Self::Main(main, _, depth) => place >= *depth || main.is_over(setup),
            Self::Backfill(backfill, _) => backfill.is_over(setup),
        }
    }
}
