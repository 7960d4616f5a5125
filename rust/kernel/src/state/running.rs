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
    /// once.
    changed: Vec<u32>,
    /// By expected end; kept from the first question for it on.
    by_expected_end: Option<ExpectedEnds>,
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
        self.changed.push(run.job);
        if let Some(place) = self.vacant.pop() {
            self.runs[place as usize] = run;
            return place;
        }
        self.runs.push(run);
        (self.runs.len() - 1) as u32
    }

    /// Gives a place back.
    pub fn remove(&mut self, place: u32) {
        self.changed.push(self.runs[place as usize].job);
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
        self.changed.push(self.runs[place as usize].job);
        self.runs[place as usize].phase = phase;
    }

    /// Sets whether the nodes of a run were given back.
    pub fn set_gave_back(&mut self, place: u32, gave_back: bool) {
        self.changed.push(self.runs[place as usize].job);
        self.runs[place as usize].gave_back = gave_back;
    }

    /// Takes note that the estimate of a running job has changed.
    pub fn estimate_changed(&mut self, job: u32) {
        self.changed.push(job);
    }

    /// The slots of the jobs of which the run, its phase, its nodes or its estimate have changed since the latest pass
    /// began; some more than once.
    #[must_use]
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    /// A pass has begun.
    pub fn forget_changed(&mut self) {
        self.changed.clear();
    }

    /// The index by expected end; empty unless it is kept.
    #[must_use]
    pub fn by_expected_end(&self) -> Option<&ExpectedEnds> {
        self.by_expected_end.as_ref()
    }

    /// The same, to be changed.
    pub fn by_expected_end_mut(&mut self) -> Option<&mut ExpectedEnds> {
        self.by_expected_end.as_mut()
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
