//! A scheduler outside the kernel: it decides at a point of the pass. Here is what it has reserved.
//!
//! The first reservation of a pass is made and kept as EASY does (S6), which costs what it costs there; with a second
//! one, or one at a given instant, all are planned as by EASY with several reservations.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, Unanswered};
use crate::placement::Allocator;
use crate::state::{Rank, View};

use super::plan::Plan;
use super::shadow::Shadow;
use super::shadow_room::ShadowRoom;
use super::{SchedulingRule, Step};

/// The reservations of the present pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct External {
    room: ShadowRoom,
    /// What was asked for, in that order.
    made: Vec<Made>,
    first: Option<Shadow>,
    /// What EASY with several reservations would have placed the first one by.
    allocator: Option<Allocator>,
    plan: Plan,
    /// Whether the plan is that of this pass.
    is_planned: bool,
    /// Whether it has been asked in this pass.
    was_asked: bool,
}

/// A reservation as it was asked for: at a given instant, or at the earliest.
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

    /// Forgets all reservations: they hold for one pass.
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
    /// Nothing is reserved on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self {
            room: ShadowRoom::default(),
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

    /// Makes all reservations anew, in the order in which they were asked for; one whose instant is no longer
    /// possible gets the earliest.
    pub fn renew(&mut self, view: View<'_>, allocator: &Allocator) {
        let made = std::mem::take(&mut self.made);
        self.forget();
        for Made { job, at } in made {
            if !at.is_some_and(|time| self.reserve_at(view, allocator, job, time.max(view.now()))) {
                self.reserve(view, allocator, job);
            }
        }
    }

    /// Reserves for a job at the earliest instant, given the reservations made before: that instant.
    ///
    /// A job that has a reservation changes it.
    pub fn reserve(&mut self, view: View<'_>, allocator: &Allocator, job: u32) -> f64 {
        self.give_up(view, job);
        self.made.push(Made { job, at: None });
        if self.is_planned || self.made.len() > 1 || view.scenario.calendar.is_some() {
            let mut rule = allocator.for_plans();
            return self.planned(view, allocator).reserve(view, &mut rule, job).unwrap_or(f64::INFINITY);
        }
        let shadow = Shadow::of(view, allocator, job, &mut self.room);
        let time = shadow.time;
        self.first = Some(shadow);
        self.allocator = Some(allocator.for_plans());
        time
    }

    /// Reserves for a job at this instant; false where it does not fit from then on, and nothing is changed.
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

    /// Whether a job may start on these nodes without delaying the reservation of another; if so, it is counted in.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        job: u32,
        placement: &[NodeTasks],
    ) -> bool {
        // Its own reservation must not stand in its way.
        let before = self.is_reserved(job).then(|| self.clone());
        self.give_up(view, job);
        let admitted = match &mut self.first {
            _ if self.is_planned => {
                self.plan.admit(view, &mut allocator.for_plans(), job, placement) == Ok(true)
            }
            Some(shadow) => shadow.admit(view, allocator, job, placement, &mut self.room),
            None => true,
        };
        if let (false, Some(before)) = (admitted, before) {
            *self = before;
        } else if admitted && self.first.is_some() {
            self.allocator = Some(allocator.for_plans());
        }
        admitted
    }

    /// A job needs its reservation no more.
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

    /// The first queued job behind `after`, in order, that may start now as far as totals tell and has no reservation.
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
                // A rule of the kernel always answers.
                let _ = self.plan.reserve(view, &mut rule, shadow.head);
            }
        }
        &mut self.plan
    }
}
