//! Which jobs would delay EASY's head, where that costs a trial of the head for each.
use serde::{Deserialize, Serialize};

use crate::placement::Allocator;
use crate::state::{LeastAsked, View};

use super::shadow::Shadow;

/// Requests and numbers of tasks whose jobs would delay the head, as long as the nodes are as they are.
///
/// Where jobs fit by shape, all jobs with the same request and as many tasks go to the same nodes. Where nodes are filled in one
/// order, those with more tasks go to these nodes too, and delay the head all the more. So those behind the first need no trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Harm {
    /// The machine's count of changes at that time.
    changes: u64,
    known: Vec<(u32, u32)>,
}

/// How tasks go to nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Filling {
    /// More tasks take the nodes of fewer, and others.
    InOrder,
    /// As many tasks take the same nodes.
    ByShape,
    /// Otherwise.
    Unknown,
}

impl Filling {
    fn of(view: View<'_>, allocator: &Allocator) -> Self {
        let is_plain = view.scenario.sleep.is_none() && view.scenario.calendar.is_none();
        match (allocator.fills_in_one_order(), allocator.is_free_to_spread()) {
            (true, _) if is_plain => Self::InOrder,
            (_, false) if is_plain => Self::ByShape,
            _ => Self::Unknown,
        }
    }
}

impl Harm {
    /// Forgets all of it: the head has another reservation.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Whether a job is known to delay the head.
    pub fn is_known(&self, view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) -> bool {
        let &[request] = view.scenario.alternatives(job) else { return false };
        !self.known.is_empty()
            && self.covers(view, allocator, request, view.scenario.job(job).tasks)
            && stays(view, shadow, job)
    }

    /// Whether jobs with a request may be admitted by the head: false only if none of them is.
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
        // Only where nodes are filled in one order does what holds of the least tasks hold of more.
        let is_harmful = !self.known.is_empty()
            && allocator.fills_in_one_order()
            && self.covers(view, allocator, least.request, u32::try_from(least.tasks).unwrap_or(u32::MAX));
        !is_harmful && shadow.may_admit_request(view, least)
    }

    /// Whether so many tasks of a request are known to delay the head if they stay.
    fn covers(&self, view: View<'_>, allocator: &Allocator, request: u32, tasks: u32) -> bool {
        if self.changes != view.state.machine.changes() {
            return false;
        }
        let mut known = self.known.iter().filter(|(other, _)| *other == request);
        match Filling::of(view, allocator) {
            Filling::InOrder => known.any(|&(_, fewer)| fewer <= tasks),
            Filling::ByShape => known.any(|&(_, same)| same == tasks),
            Filling::Unknown => false,
        }
    }

    /// Takes note that a job would delay the head.
    pub fn note(&mut self, view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) {
        let &[request] = view.scenario.alternatives(job) else { return };
        if Filling::of(view, allocator) == Filling::Unknown || !stays(view, shadow, job) {
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

/// Whether a job that starts now is expected to stay beyond the shadow time.
fn stays(view: View<'_>, shadow: &Shadow, job: u32) -> bool {
    view.now() + view.state.jobs.estimate(job) > shadow.time
}
