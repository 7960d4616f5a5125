//! Disciplines (S20): each pass selects the jobs to serve from all present jobs, running and queued.
//!
//! Running jobs that are not selected are suspended and keep their work; the allocator then places the selected queued
//! jobs. A job that cannot be placed waits until the next pass. A selection is a function of the ordered jobs and of
//! the capacity; a pass costs the jobs that it examines, and O(r log r) for r running jobs.
mod backfilling;
mod candidates;
mod filling;
mod in_order;
mod knapsack;
mod present;
mod registry;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use crate::cluster::Unanswered;
use crate::placement::Allocator;
use crate::priority::{Priority, ServiceOrder};
use crate::state::View;

use super::{Chance, SchedulingRule, Step, chance_of, start_chosen};
use candidates::Candidate;
use present::Present;

pub use registry::{DISCIPLINES, Entry, When, named};

/// A discipline of [`DISCIPLINES`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Discipline {
    /// Index in [`DISCIPLINES`].
    place: u8,
    /// Number of releases at the last selection.
    selected_at: u64,
    pass: Pass,
}

/// State of a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
enum Pass {
    #[default]
    Over,
    Begun,
    /// Jobs to suspend, sorted by row, and jobs to start after that; both in reverse order.
    Selected(Vec<u32>, Vec<u32>),
}

impl Discipline {
    /// Begin in the middle of a run, after a selection at this instant.
    pub fn resume(&mut self, view: View<'_>) {
        self.selected_at = view.state.releases;
    }

    /// Create the discipline with this index in [`DISCIPLINES`].
    #[must_use]
    pub fn new(place: usize) -> Self {
        Self { place: place as u8, selected_at: 0, pass: Pass::Over }
    }

    fn entry(&self) -> &'static Entry {
        &DISCIPLINES[usize::from(self.place)]
    }

    /// Return the order of the jobs.
    #[must_use]
    pub fn order(&self) -> Priority {
        Priority::Service(self.entry().order)
    }

    /// Return the jobs to suspend and the jobs to start.
    fn select(&self, view: View<'_>) -> Pass {
        let Entry { order, is_preemptive, select, .. } = self.entry();
        let reverses = *order == ServiceOrder::LastCome;
        let mut present = Present::new(view, &self.order(), *is_preemptive, reverses);
        let (mut suspended, mut capacity) = (present.running(), present.capacity());
        let served = select(&mut present, &mut capacity);
        let (running, waiting): (Vec<Candidate>, Vec<Candidate>) =
            served.into_iter().partition(|job| job.runs);
        let stays: std::collections::HashSet<u32> = running.iter().map(|job| job.job).collect();
        suspended.retain(|job| !stays.contains(job));
        suspended.sort_unstable_by_key(|&job| std::cmp::Reverse(view.scenario.job(job).row));
        Pass::Selected(suspended, waiting.into_iter().rev().map(|job| job.job).collect())
    }
}

impl SchedulingRule for Discipline {
    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        let has_departed = self.selected_at != view.state.releases || view.state.running.is_empty();
        let selects = self.entry().when == When::EachPass || has_departed;
        // If the queue is empty, all running jobs stay selected.
        self.pass = if selects && !view.state.queue.index.is_empty() { Pass::Begun } else { Pass::Over };
        if selects {
            self.selected_at = view.state.releases;
        }
        false
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        if let Pass::Begun = self.pass {
            self.pass = self.select(view);
        }
        let Pass::Selected(suspended, starting) = &mut self.pass else { return Ok(Step::Done) };
        if let Some(job) = suspended.pop() {
            return Ok(Step::Suspend(job));
        }
        // A suspension by the discipline is not a departure.
        self.selected_at = view.state.releases;
        let Some(job) = starting.pop() else {
            self.pass = Pass::Over;
            return Ok(Step::Done);
        };
        Ok(match chance_of(view, allocator, job)? {
            Chance::Fits => start_chosen(job),
            _ => Step::Continue,
        })
    }
}
