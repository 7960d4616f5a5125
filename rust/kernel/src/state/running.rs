//! The running jobs: a compact table with reused indices, and an index by expected end.
use serde::{Deserialize, Serialize};

use crate::index::ordered_index::{OrderedIndex, Sum};
use crate::time::Time;

/// Phase of a running job (`Overheads`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// On its nodes, before its work begins.
    Launching,
    /// Working.
    #[default]
    Running,
    /// Suspended, but still holding its nodes.
    Suspending,
    /// Work completed, but still holding its nodes. The flag is true if the job was killed.
    Completing(bool),
}

/// A running job.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The slot of the job.
    pub job: u32,
    /// Its phase.
    pub phase: Phase,
    /// Breaks ties between ends at one instant: the job's row, or the number of its start.
    pub sequence: u64,
    /// True if its nodes were released; this may precede the processing of its end (`Agenda::releases_early`).
    pub gave_back: bool,
    /// Its index in `fresh`, or [`INDEXED`].
    fresh: u32,
}

/// Marks a run that is in the index, or must not enter it.
const INDEXED: u32 = u32::MAX;

impl Run {
    /// Create a run that begins with its launch.
    #[must_use]
    pub fn new(job: u32) -> Self {
        Self { job, phase: Phase::Launching, sequence: 0, gave_back: false, fresh: INDEXED }
    }
}

/// Sort key of a running job by its expected end, which may be in the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ExpectedEnd {
    /// Expected end: start + estimate, or the earlier end of a victim or suspended job.
    pub time: Time,
    /// Row of the job.
    pub row: u64,
    /// Slot of the job.
    pub job: u32,
}

/// Running jobs by expected end. Values: the amount of each resource that they hold in each node set, set-major.
pub type ExpectedEnds = OrderedIndex<ExpectedEnd, Sum>;

/// The running jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RunningJobs {
    runs: Vec<Run>,
    vacant: Vec<u32>,
    /// Jobs with a run, phase, nodes or estimate that has changed since the latest pass began; may contain duplicates.
    /// None if the scheduler does not need them.
    changed: Option<Vec<u32>>,
    /// Counts such changes.
    #[serde(skip)]
    changes: u64,
    /// Index by expected end; kept from the first query on.
    by_expected_end: Option<ExpectedEnds>,
    /// True if runs enter the index only before a query: then most jobs end before they enter it.
    is_asked_seldom: bool,
    /// Runs that have not entered the index yet.
    fresh: Vec<u32>,
}

impl RunningJobs {
    /// Return the number of running jobs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.len() - self.vacant.len()
    }

    /// Return whether no job runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Add a run. Return its index.
    pub fn add(&mut self, run: Run) -> u32 {
        self.note(run.job);
        if let Some(place) = self.vacant.pop() {
            self.runs[place as usize] = run;
            return place;
        }
        self.runs.push(run);
        (self.runs.len() - 1) as u32
    }

    /// Release an index.
    pub fn remove(&mut self, place: u32) {
        self.note(self.runs[place as usize].job);
        self.vacant.push(place);
    }

    /// Return the run with this index.
    #[must_use]
    pub fn get(&self, place: u32) -> &Run {
        &self.runs[place as usize]
    }

    /// Set the tie breaker between ends at one instant.
    pub fn set_sequence(&mut self, place: u32, sequence: u64) {
        self.runs[place as usize].sequence = sequence;
    }

    /// Set the phase of a running job.
    pub fn set_phase(&mut self, place: u32, phase: Phase) {
        self.note(self.runs[place as usize].job);
        self.runs[place as usize].phase = phase;
    }

    /// Set whether the nodes of a run were released.
    pub fn set_gave_back(&mut self, place: u32, gave_back: bool) {
        self.note(self.runs[place as usize].job);
        self.runs[place as usize].gave_back = gave_back;
    }

    /// Record that the estimate of a running job has changed.
    pub fn estimate_changed(&mut self, job: u32) {
        self.note(job);
    }

    /// Return the slots of jobs with a run, phase, nodes or estimate that has changed since the latest pass began; may
    /// contain duplicates. Empty unless they are kept.
    #[must_use]
    pub fn changed(&self) -> &[u32] {
        self.changed.as_deref().unwrap_or_default()
    }

    /// Return the number of changes of runs. While it is unchanged, so are the expected ends.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Clear the changed jobs when a pass has begun.
    pub fn forget_changed(&mut self) {
        if let Some(changed) = &mut self.changed {
            changed.clear();
        }
    }

    /// Keep the changed jobs from now on, beginning with all running jobs.
    pub fn keep_changed(&mut self) {
        if self.changed.is_none() {
            self.changed = Some(self.jobs());
        }
    }

    fn note(&mut self, job: u32) {
        self.changes += 1;
        if let Some(changed) = &mut self.changed {
            changed.push(job);
        }
    }

    /// Return the index by expected end, if it is kept. No run may be missing in it.
    #[must_use]
    pub fn by_expected_end(&self) -> Option<&ExpectedEnds> {
        debug_assert!(self.fresh.is_empty(), "the index is asked once all runs are in it");
        self.by_expected_end.as_ref()
    }

    /// Return the index by expected end for modification, if it is kept.
    pub fn by_expected_end_mut(&mut self) -> Option<&mut ExpectedEnds> {
        self.by_expected_end.as_mut()
    }

    /// Return the expected ends of the runs in the index, in order. O(r).
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

    /// Return whether the index is kept.
    #[must_use]
    pub fn is_indexed(&self) -> bool {
        self.by_expected_end.is_some()
    }

    /// Create the empty index, with `width` values per job.
    pub fn begin_index(&mut self, width: usize) {
        self.by_expected_end = Some(ExpectedEnds::new(width));
    }

    /// Set whether runs enter the index only before a query, or at once.
    pub fn set_asked_seldom(&mut self, is_asked_seldom: bool) {
        self.is_asked_seldom = is_asked_seldom;
    }

    /// Return whether runs enter the index only before a query.
    #[must_use]
    pub fn is_asked_seldom(&self) -> bool {
        self.is_asked_seldom
    }

    /// Mark a run to enter the index before the next query.
    pub fn enter_later(&mut self, place: u32) {
        self.runs[place as usize].fresh = self.fresh.len() as u32;
        self.fresh.push(place);
    }

    /// Cancel the later entry of a run into the index. Return false if none was pending.
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

    /// Return the runs that have not entered the index yet.
    #[must_use]
    pub fn fresh(&self) -> &[u32] {
        &self.fresh
    }

    /// Remove and return one of them.
    pub fn next_fresh(&mut self) -> Option<u32> {
        let place = self.fresh.pop()?;
        self.runs[place as usize].fresh = INDEXED;
        Some(place)
    }

    /// Return the slots of the running jobs, in no particular order. O(most jobs that ran at once).
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        let mut is_vacant = vec![false; self.runs.len()];
        for &place in &self.vacant {
            is_vacant[place as usize] = true;
        }
        self.runs.iter().zip(is_vacant).filter(|(_, vacant)| !vacant).map(|(run, _)| run.job).collect()
    }
}
