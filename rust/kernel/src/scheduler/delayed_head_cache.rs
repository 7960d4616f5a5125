//! Cache of jobs that would delay EASY's head, used if each check requires a trial placement of the head.
use serde::{Deserialize, Serialize};

use crate::placement::Allocator;
use crate::state::{LeastAsked, View};

use super::shadow::Shadow;

/// Requests and task counts of jobs that would delay the head while the nodes do not change.
///
/// If jobs are placed by shape, jobs with the same request and task count go to the same nodes. If nodes are filled in
/// a fixed order, jobs with more tasks use a superset of these nodes, and also delay the head. So one trial covers all
/// of these jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DelayedHeadCache {
    /// The machine's change counter when the entries were recorded.
    changes: u64,
    known: Vec<(u32, u32)>,
}

/// How an allocator maps tasks to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaskMapping {
    /// More tasks use a superset of the nodes of fewer tasks.
    InOrder,
    /// The same number of tasks uses the same nodes.
    ByShape,
    /// Unknown mapping.
    Unknown,
}

impl TaskMapping {
    fn of(view: View<'_>, allocator: &Allocator) -> Self {
        let is_plain = view.scenario.sleep.is_none() && view.scenario.calendar.is_none();
        match (allocator.fills_in_one_order(), allocator.is_free_to_spread()) {
            (true, _) if is_plain => Self::InOrder,
            (_, false) if is_plain => Self::ByShape,
            _ => Self::Unknown,
        }
    }
}

impl DelayedHeadCache {
    /// Clear the cache: the head has another reservation.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Return whether a job is known to delay the head.
    pub fn is_known(&self, view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) -> bool {
        let &[request] = view.scenario.alternatives(job) else { return false };
        !self.known.is_empty()
            && self.covers(view, allocator, request, view.scenario.job(job).tasks)
            && stays(view, shadow, job)
    }

    /// Return whether the head may admit jobs with a request. False only if it admits none of them.
    pub fn may_admit(
        &self,
        view: View<'_>,
        allocator: &Allocator,
        shadow: &Shadow,
        least: &LeastAsked,
    ) -> bool {
        if shadow.is_over_in_time(view, least.estimate) {
            return true;
        }
        // The minimum number of tasks bounds larger numbers only if nodes are filled in a fixed order.
        let is_harmful = !self.known.is_empty()
            && allocator.fills_in_one_order()
            && self.covers(view, allocator, least.request, u32::try_from(least.tasks).unwrap_or(u32::MAX));
        !is_harmful && shadow.may_admit_request(view, least)
    }

    /// Return whether this many tasks of a request are known to delay the head if they run beyond the shadow time.
    fn covers(&self, view: View<'_>, allocator: &Allocator, request: u32, tasks: u32) -> bool {
        if self.changes != view.state.machine.changes() {
            return false;
        }
        let mut known = self.known.iter().filter(|(other, _)| *other == request);
        match TaskMapping::of(view, allocator) {
            TaskMapping::InOrder => known.any(|&(_, fewer)| fewer <= tasks),
            TaskMapping::ByShape => known.any(|&(_, same)| same == tasks),
            TaskMapping::Unknown => false,
        }
    }

    /// Record that a job would delay the head.
    pub fn note(&mut self, view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) {
        let &[request] = view.scenario.alternatives(job) else { return };
        if TaskMapping::of(view, allocator) == TaskMapping::Unknown || !stays(view, shadow, job) {
            return;
        }
        let changes = view.state.machine.changes();
        if self.changes != changes {
            self.known.clear();
            self.changes = changes;
        }
        self.known.push((request, view.scenario.job(job).tasks));
    }
}

/// Return whether a job that starts now is expected to run beyond the shadow time.
fn stays(view: View<'_>, shadow: &Shadow, job: u32) -> bool {
    view.now() + view.state.jobs.estimate(job) > shadow.time
}
