//! The running jobs: a compact table, whose places are used again, and the index by expected end.
use serde::{Deserialize, Serialize};

use crate::index::ordered_index::{OrderedIndex, Sum};
use crate::time::Time;

/// Where a running job is in its course (`Overheads`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// On its nodes, before its run.
    Launching,
    /// Working.
    #[default]
    Running,
    /// It has been suspended; it still holds its nodes.
    Suspending,
    /// Its work is done; it still holds its nodes. Whether the job was killed.
    Completing(bool),
}

/// One running job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The slot of the job.
    pub job: u32,
    /// Where it is in its course.
    pub phase: Phase,
    /// Breaks ties between ends at one instant: the job's row, or the number of its start.
    pub sequence: u64,
    /// Whether its nodes were given back: some are before the end is taken in (`Agenda::releases_early`).
    pub gave_back: bool,
    /// Its place among the runs that are still to enter the index; [`INDEXED`] where it is none of them.
    fresh: u32,
}

/// A run that is in the index, or is not to be in it.
const INDEXED: u32 = u32::MAX;

impl Run {
    /// A run that begins with its launch.
    #[must_use]
    pub fn new(job: u32) -> Self {
        Self { job, phase: Phase::Launching, sequence: 0, gave_back: false, fresh: INDEXED }
    }
}

/// A running job by its expected end (not yet raised to now).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExpectedEnd {
    /// start + estimate.
    pub time: Time,
    /// The row of the job.
    pub row: u64,
    /// Its slot.
    pub job: u32,
}

/// Running jobs by expected end; values: the amount of each resource that they hold in each node set, set-major.
pub type ExpectedEnds = OrderedIndex<ExpectedEnd, Sum>;

/// The running jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunningJobs {
    runs: Vec<Run>,
    vacant: Vec<u32>,
    /// Jobs of which the run, its phase, its nodes or its estimate have changed since the latest pass began; some more than
    /// once. Kept where the scheduler asks for them.
    changed: Option<Vec<u32>>,
    /// By expected end; kept from the first question for it on.
    by_expected_end: Option<ExpectedEnds>,
    /// Whether runs enter the index only before it is asked: of most jobs nothing is asked then before they end.
    is_asked_seldom: bool,
    /// The places of the runs that are still to enter the index.
    fresh: Vec<u32>,
}

impl RunningJobs {
    /// Number of running jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.len() - self.vacant.len()
    }

    /// Whether no job runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a run: its place.
    pub fn add(&mut self, run: Run) -> u32 {
        self.note(run.job);
        if let Some(place) = self.vacant.pop() {
            self.runs[place as usize] = run;
            return place;
        }
        self.runs.push(run);
        (self.runs.len() - 1) as u32
    }

    /// Gives a place back.
    pub fn remove(&mut self, place: u32) {
        self.note(self.runs[place as usize].job);
        self.vacant.push(place);
    }

    /// The run at a place.
    #[must_use]
    pub fn get(&self, place: u32) -> &Run {
        &self.runs[place as usize]
    }

    /// Sets what breaks ties between ends at one instant.
    pub fn set_sequence(&mut self, place: u32, sequence: u64) {
        self.runs[place as usize].sequence = sequence;
    }

    /// Sets where a running job is in its course.
    pub fn set_phase(&mut self, place: u32, phase: Phase) {
        self.note(self.runs[place as usize].job);
        self.runs[place as usize].phase = phase;
    }

    /// Sets whether the nodes of a run were given back.
    pub fn set_gave_back(&mut self, place: u32, gave_back: bool) {
        self.note(self.runs[place as usize].job);
        self.runs[place as usize].gave_back = gave_back;
    }

    /// Takes note that the estimate of a running job has changed.
    pub fn estimate_changed(&mut self, job: u32) {
        self.note(job);
    }

    /// The slots of the jobs of which the run, its phase, its nodes or its estimate have changed since the latest pass
    /// began; some more than once. Empty unless they are kept.
    #[must_use]
    pub fn changed(&self) -> &[u32] {
        self.changed.as_deref().unwrap_or_default()
    }

    /// A pass has begun.
    pub fn forget_changed(&mut self) {
        if let Some(changed) = &mut self.changed {
            changed.clear();
        }
    }

    /// From now on these jobs are kept; all that run have changed.
    pub fn keep_changed(&mut self) {
        if self.changed.is_none() {
            self.changed = Some(self.jobs());
        }
    }

    fn note(&mut self, job: u32) {
        if let Some(changed) = &mut self.changed {
            changed.push(job);
        }
    }

    /// The index by expected end, where it is kept; all runs that are to be in it must have entered it.
    #[must_use]
    pub fn by_expected_end(&self) -> Option<&ExpectedEnds> {
        debug_assert!(self.fresh.is_empty(), "the index is asked once all runs are in it");
        self.by_expected_end.as_ref()
    }

    /// The same, to be changed.
    pub fn by_expected_end_mut(&mut self) -> Option<&mut ExpectedEnds> {
        self.by_expected_end.as_mut()
    }

    /// The expected ends of the runs that have entered the index, in order. O(r).
    #[must_use]
    pub fn indexed(&self) -> Vec<ExpectedEnd> {
        let mut ends = Vec::with_capacity(self.len());
        if let Some(index) = &self.by_expected_end {
            index.visit(&mut |end| {
                ends.push(end);
                true
            });
        }
        ends
    }

    /// Whether the index is kept.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        self.by_expected_end.is_some()
    }

    /// Begins to keep the index, which is empty, with `width` values per job.
    pub fn begin_index(&mut self, width: usize) {
        self.by_expected_end = Some(ExpectedEnds::new(width));
    }

    /// From now on runs enter the index only before it is asked, or at once.
    pub fn set_asked_seldom(&mut self, is_asked_seldom: bool) {
        self.is_asked_seldom = is_asked_seldom;
    }

    /// Whether runs enter the index only before it is asked.
    #[must_use]
    pub fn is_asked_seldom(&self) -> bool {
        self.is_asked_seldom
    }

    /// Has a run enter the index before this is asked next.
    pub fn enter_later(&mut self, place: u32) {
        self.runs[place as usize].fresh = self.fresh.len() as u32;
        self.fresh.push(place);
    }

    /// Has a run that was to enter the index not do so; false where it is not one of them.
    pub fn enter_never(&mut self, place: u32) -> bool {
        let at = std::mem::replace(&mut self.runs[place as usize].fresh, INDEXED);
        if at == INDEXED {
            return false;
        }
        self.fresh.swap_remove(at as usize);
        if let Some(&moved) = self.fresh.get(at as usize) {
            self.runs[moved as usize].fresh = at;
        }
        true
    }

    /// The places of the runs that are still to enter the index.
    #[must_use]
    pub fn fresh(&self) -> &[u32] {
        &self.fresh
    }

    /// Takes the next one of them.
    pub fn next_fresh(&mut self) -> Option<u32> {
        let place = self.fresh.pop()?;
        self.runs[place as usize].fresh = INDEXED;
        Some(place)
    }

    /// The slots of the running jobs, in no order. O(most jobs that ran at once).
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        let mut is_vacant = vec![false; self.runs.len()];
        for &place in &self.vacant {
            is_vacant[place as usize] = true;
        }
        self.runs.iter().zip(is_vacant).filter(|(_, vacant)| !vacant).map(|(run, _)| run.job).collect()
    }
}
