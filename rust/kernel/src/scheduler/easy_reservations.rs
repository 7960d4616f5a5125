//! EASY with several reservations (S6): the first k jobs that do not fit are not delayed.
//!
//! Reservations are made once a job behind those that do not fit could start, and are kept from pass to pass as long as they
//! would be the same again. Each candidate that the totals admit is checked by placing again the reservations that begin
//! before it is expected to end. Where totals decide whether a job fits and when the first reservation begins, they tell first
//! which jobs would delay it, in O(log n): a plan is made only once one would not.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, Unanswered};
use crate::placement::Allocator;
use crate::state::{Rank, View};
use crate::time::ordered_bits;

use super::free_slots::FreeSlots;
use super::plan::Plan;
use super::shadow::{Shadow, limiting_resource};
use super::shadow_capacity::ShadowCapacity;
use super::victims::preempt_for;
use super::{Chance, SchedulingRule, Step, chance_of, start_chosen};

/// How far a pass is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Pass {
    Over,
    /// It goes on behind this job.
    Behind(Option<Rank>),
}

/// EASY with `count` reservations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EasyReservations {
    count: usize,
    plan: Plan,
    /// The jobs for which this pass reserves.
    heads: Vec<u32>,
    /// The reservation of the first of them as totals tell it, until there is a plan.
    first: Option<Shadow>,
    /// Whether the plan is that of this pass.
    is_planned: bool,
    /// Of the job that is looked at, as in the queue.
    #[serde(skip)]
    values: Vec<i64>,
    #[serde(skip)]
    slots: FreeSlots,
    pass: Pass,
}

impl EasyReservations {
    /// For a machine of these capacities.
    #[must_use]
    pub fn new(count: usize, resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let plan = Plan::new(resources, capacity, node_sets);
        Self {
            count,
            plan,
            heads: Vec::new(),
            first: None,
            is_planned: false,
            values: Vec::new(),
            slots: FreeSlots::default(),
            pass: Pass::Over,
        }
    }

    /// Reserves for the jobs that did not fit.
    fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<(), Unanswered> {
        let was_planned = std::mem::replace(&mut self.is_planned, true);
        if !was_planned {
            if self.plan.still_holds(view, allocator) {
                self.plan.advance(view);
            } else {
                self.plan.follow(view);
            }
        }
        if was_planned && self.plan.reserved_jobs().eq(self.heads.iter().copied()) {
            return Ok(());
        }
        let same =
            self.plan.reserved_jobs().zip(&self.heads).take_while(|(one, other)| one == *other).count();
        self.plan.forget_from(view, same);
        for &job in &self.heads[same..] {
            self.plan.reserve(view, allocator, job)?;
        }
        self.plan.count_left(view);
        Ok(())
    }

    /// Whether totals tell that a job fits now and delays a reservation wherever it goes, so that no nodes need be chosen.
    fn surely_delays(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<bool, Unanswered> {
        let Some(&head) = self.heads.first() else { return Ok(false) };
        if !totals_decide(view, allocator, job) || view.over_limit(job).is_some() || !view.may_fit_job(job) {
            return Ok(false);
        }
        self.values.clear();
        self.values.push(ordered_bits(view.state.jobs.estimate(job)));
        self.values.extend((0..view.state.machine.resources()).map(|resource| view.need(job, resource)));
        if !self.is_planned && totals_decide(view, allocator, head) {
            // Where totals decide, nodes are not looked at.
            let reservation = || Shadow::of(view, allocator, head, &mut ShadowCapacity::default());
            let first = self.first.get_or_insert_with(reservation);
            if !first.may_admit(view, view.request(job).nodes, &self.values) {
                return Ok(true);
            }
        }
        self.reserve(view, allocator)?;
        Ok(!self.plan.may_admit(view, &self.values))
    }

    /// Whether a job that would go where the allocator has chosen leaves each reservation its instant.
    fn admits(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<bool, Unanswered> {
        if self.heads.is_empty() {
            return Ok(true);
        }
        let chosen = std::mem::take(&mut allocator.chosen);
        let reserved = self.reserve(view, allocator);
        let admitted = reserved.and_then(|()| self.plan.admit(view, allocator, job, &chosen));
        if admitted == Ok(true) {
            self.plan.count_left(view);
        }
        allocator.chosen = chosen;
        admitted
    }

    /// The next job behind `after` that matters: jobs that cannot fit do while reservations are left to make.
    fn next_behind(&mut self, view: View<'_>, allocator: &Allocator, after: Option<Rank>) -> Option<Rank> {
        let (plan, first, is_planned, slots) =
            (&self.plan, self.first.as_ref(), self.is_planned, &mut self.slots);
        if self.heads.len() < self.count || view.looks_at_each() {
            return view.state.queue.first_matching(after.as_ref(), &|_| true);
        }
        let has_slots = slots.test(view, allocator);
        let admits = |set, own: &[i64]| {
            if is_planned {
                plan.may_admit(view, own)
            } else {
                first.is_none_or(|first| first.may_admit(view, set, own))
            }
        };
        let may_start = |values: &[i64]| view.may_fit_where(values, admits) && has_slots(values);
        view.state.queue.first_matching(after.as_ref(), &may_start)
    }
}

/// Whether totals decide when a job fits, now and later: no allocator outside may refuse it.
fn totals_decide(view: View<'_>, allocator: &Allocator, job: u32) -> bool {
    let request = view.scenario.job(job).request;
    allocator.as_external().is_none()
        && view.scenario.calendar.is_none()
        && limiting_resource(view, allocator, job, request).is_some()
}

impl SchedulingRule for EasyReservations {
    fn needs_running(&self) -> bool {
        true
    }

    fn disturbed(&mut self) {
        self.plan.disturbed();
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        let begins = view.may_start_some();
        self.pass = if begins { Pass::Behind(None) } else { Pass::Over };
        self.heads.clear();
        self.first = None;
        self.is_planned = false;
        begins
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        let Pass::Behind(before) = self.pass else { return Ok(Step::Done) };
        let Some(rank) = self.next_behind(view, allocator, before) else {
            self.pass = Pass::Over;
            return Ok(Step::Done);
        };
        self.pass = Pass::Behind(Some(rank));
        if self.surely_delays(view, allocator, rank.job)? {
            return Ok(Step::PassOver(rank.job));
        }
        match chance_of(view, allocator, rank.job)? {
            Chance::Fits => {
                let admitted = self.admits(view, allocator, rank.job)?;
                Ok(if admitted { start_chosen(rank.job) } else { Step::PassOver(rank.job) })
            }
            Chance::DoesNotFit => {
                if self.heads.is_empty()
                    && let Some(step) = preempt_for(view, allocator, rank.job)
                {
                    // Where it does not start yet, the pass looks at it again, and may reserve for it.
                    self.pass = Pass::Behind(if view.victims_run_on() { before } else { Some(rank) });
                    return Ok(step);
                }
                if self.heads.len() < self.count {
                    self.heads.push(rank.job);
                }
                Ok(Step::PassOver(rank.job))
            }
            Chance::Closed(counter) => Ok(Step::Close(rank.job, counter)),
            Chance::HoldsUp => {
                self.pass = Pass::Over;
                Ok(Step::Done)
            }
        }
    }
}
