//! State of a scheduler outside the kernel: the reservations that it has made in the current pass.
//!
//! The first reservation of a pass is computed and kept as in EASY (S6), at the same cost; with a second reservation,
//! or one at a given instant, all are planned as in EASY with several reservations.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, Unanswered};
use crate::placement::Allocator;
use crate::state::{Rank, View};

use super::plan::Plan;
use super::shadow::Shadow;
use super::shadow_availability::ShadowAvailability;
use super::{SchedulingRule, Step};

/// The reservations of the current pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct External {
    availability: ShadowAvailability,
    /// Requested reservations, in the order of the requests.
    made: Vec<Made>,
    first: Option<Shadow>,
    /// Copy of the allocator with which EASY with several reservations would have placed the first reservation.
    allocator: Option<Allocator>,
    plan: Plan,
    /// True if `plan` belongs to this pass.
    is_planned: bool,
    /// True if the scheduler has been asked in this pass.
    was_asked: bool,
}

/// A requested reservation: at a given instant, or the earliest one.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Made {
    job: u32,
    at: Option<f64>,
}

impl SchedulingRule for External {
    fn needs_running(&self) -> bool {
        true
    }

    fn disturbed(&mut self) {
        self.plan.disturbed();
    }

    /// Forget all reservations: they hold for one pass.
    fn begin(&mut self, _: View<'_>, _: bool) -> bool {
        self.forget();
        self.was_asked = false;
        true
    }

    fn propose(&mut self, _: View<'_>, _: &mut Allocator) -> Result<Step, Unanswered> {
        Ok(if std::mem::replace(&mut self.was_asked, true) { Step::Done } else { Step::Ask })
    }
}

impl External {
    /// Create the state for a machine with these capacities, without reservations.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self {
            availability: ShadowAvailability::default(),
            made: Vec::new(),
            first: None,
            allocator: None,
            plan: Plan::new(resources, capacity, node_sets),
            is_planned: false,
            was_asked: false,
        }
    }

    fn forget(&mut self) {
        self.made.clear();
        self.first = None;
        self.is_planned = false;
    }

    /// Recompute all reservations in the order in which they were requested. If a given instant is no longer possible,
    /// make the earliest reservation.
    pub fn renew(&mut self, view: View<'_>, allocator: &Allocator) {
        let made = std::mem::take(&mut self.made);
        self.forget();
        for Made { job, at } in made {
            if !at.is_some_and(|time| self.reserve_at(view, allocator, job, time.max(view.now()))) {
                self.reserve(view, allocator, job);
            }
        }
    }

    /// Reserve at the earliest instant after the reservations made before. Return this instant.
    ///
    /// An existing reservation of the job is replaced.
    pub fn reserve(&mut self, view: View<'_>, allocator: &Allocator, job: u32) -> f64 {
        self.give_up(view, job);
        self.made.push(Made { job, at: None });
        if self.is_planned || self.made.len() > 1 || view.scenario.calendar.is_some() {
            let mut rule = allocator.for_plans();
            return self.planned(view, allocator).reserve(view, &mut rule, job).unwrap_or(f64::INFINITY);
        }
        let shadow = Shadow::of(view, allocator, job, &mut self.availability);
        let time = shadow.time;
        self.first = Some(shadow);
        self.allocator = Some(allocator.for_plans());
        time
    }

    /// Reserve at this instant. Return false, and change nothing, if the job does not fit from then on.
    pub fn reserve_at(&mut self, view: View<'_>, allocator: &Allocator, job: u32, start: f64) -> bool {
        let before = self.is_reserved(job).then(|| self.clone());
        self.give_up(view, job);
        let mut rule = allocator.for_plans();
        if self.planned(view, allocator).reserve_at(view, &mut rule, job, start) == Ok(true) {
            self.made.push(Made { job, at: Some(start) });
            return true;
        }
        if let Some(before) = before {
            *self = before;
        }
        false
    }

    /// Return whether a job may start on these nodes without delaying another job's reservation. If so, add the job to
    /// the plan.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        job: u32,
        placement: &[NodeTasks],
    ) -> bool {
        // The job's own reservation must not block it.
        let before = self.is_reserved(job).then(|| self.clone());
        self.give_up(view, job);
        let admitted = match &mut self.first {
            _ if self.is_planned => {
                self.plan.admit(view, &mut allocator.for_plans(), job, placement) == Ok(true)
            }
            Some(shadow) => shadow.admit(view, allocator, job, placement, &mut self.availability),
            None => true,
        };
        if let (false, Some(before)) = (admitted, before) {
            *self = before;
        } else if admitted && self.first.is_some() {
            self.allocator = Some(allocator.for_plans());
        }
        admitted
    }

    /// Cancel the reservation of a job.
    pub fn give_up(&mut self, view: View<'_>, job: u32) {
        if !self.is_reserved(job) {
            return;
        }
        self.made.retain(|made| made.job != job);
        self.first = None;
        if self.is_planned {
            self.plan.give_up(view, job);
        }
    }

    /// Return the first queued job behind `after`, in order, that has no reservation and may start now according to the
    /// totals.
    #[must_use]
    pub fn next_candidate(&self, view: View<'_>, after: Option<Rank>) -> Option<Rank> {
        let admits = |values: &[i64]| {
            view.may_fit_where(values, |set, own| {
                self.first.as_ref().is_none_or(|shadow| shadow.may_admit(view, set, own))
            })
        };
        let mut at = after;
        loop {
            at = view.state.queue.first_matching(at.as_ref(), &admits);
            if at.is_none_or(|rank| !self.is_reserved(rank.job)) {
                return at;
            }
        }
    }

    fn is_reserved(&self, job: u32) -> bool {
        self.made.iter().any(|made| made.job == job)
    }

    fn planned(&mut self, view: View<'_>, allocator: &Allocator) -> &mut Plan {
        if !std::mem::replace(&mut self.is_planned, true) {
            self.plan.follow(view);
            if let Some(shadow) = self.first.take() {
                let mut rule = self.allocator.clone().unwrap_or_else(|| allocator.for_plans());
                // An allocation rule of the kernel always answers.
                let _ = self.plan.reserve(view, &mut rule, shadow.head);
            }
        }
        &mut self.plan
    }
}
