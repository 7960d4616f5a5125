//! EASY with several reservations (S6): the first k jobs that do not fit must not be delayed.
//!
//! Reservations are made once a job behind the heads could start. While totals determine the reserved starts, and
//! whether a job delays one of them, no nodes are examined: O(log n) for each reservation. Otherwise the pass continues
//! with a plan of nodes, which is kept between passes while it would be recomputed identically: for each candidate that
//! the totals admit, the reservations that begin before its expected end are placed again.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, PlacementRequest, Unanswered};
use crate::placement::Allocator;
use crate::state::{ClosedPartitions, Rank, View};
use crate::time::ordered_bits;

use super::free_slots::FreeSlots;
use super::plan::Plan;
use super::plan_by_totals::{PlanByTotals, deciding_resource};
use super::victims::preempt_among;
use super::{Chance, SchedulingRule, Step, chance_among, start_chosen};

/// State of a pass.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Pass {
    Over,
    /// Continue behind this job.
    Behind(Option<Rank>),
}

/// EASY with `count` reservations in each set of connected partitions (S11).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EasyReservations {
    count: usize,
    /// Jobs with a reservation in this pass.
    heads: Vec<u32>,
    /// Number of heads in each set of connected partitions.
    heads_among: Vec<usize>,
    /// Partitions in which a job blocks all jobs behind it.
    closed: ClosedPartitions,
    /// Reservations by totals, while totals decide in this pass.
    by_totals: PlanByTotals,
    plan: Plan,
    /// True if nodes decide in this pass, so that `plan` is current.
    is_planned: bool,
    /// Queue values of the examined job.
    #[serde(skip)]
    values: Vec<i64>,
    #[serde(skip)]
    slots: FreeSlots,
    pass: Pass,
    /// True if the heads are asked for after each pass.
    names_heads: bool,
}

impl EasyReservations {
    /// Create the rule for a machine with these capacities.
    #[must_use]
    pub fn new(count: usize, resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let plan = Plan::new(resources, capacity, node_sets);
        Self {
            count,
            heads: Vec::new(),
            heads_among: vec![0; node_sets.partitions().connected()],
            closed: ClosedPartitions::default(),
            by_totals: PlanByTotals::default(),
            plan,
            is_planned: false,
            values: Vec::new(),
            slots: FreeSlots::default(),
            pass: Pass::Over,
            names_heads: false,
        }
    }

    /// Find the heads in each pass, also if no job may start.
    pub fn name_heads(&mut self) {
        self.names_heads = true;
    }

    /// Return whether each pass finds the heads.
    #[must_use]
    pub fn names_heads(&self) -> bool {
        self.names_heads
    }

    /// Begin the pass at the first job of the queue, without reservations.
    fn begin_at_first(&mut self) {
        self.pass = Pass::Behind(None);
        self.heads.clear();
        self.heads_among.fill(0);
        self.closed.clear();
        self.by_totals.clear();
        self.is_planned = false;
    }

    /// Return whether a start in this pass has brought a head over a limit, which cancels its reservation.
    fn is_some_over_limit(&self, view: View<'_>) -> bool {
        view.state.limited.is_some() && self.heads.iter().any(|&head| view.over_limit(head).is_some())
    }

    /// Make the reservations of all heads, by totals or on nodes.
    fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<(), Unanswered> {
        while self.reserve_next(view, allocator)? {}
        Ok(())
    }

    /// Make the next reservation by totals, or all of them on nodes. Return false if all are made.
    fn reserve_next(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<bool, Unanswered> {
        if !self.is_planned {
            let Some(&head) = self.heads.get(self.by_totals.count()) else { return Ok(false) };
            if self.by_totals.reserve(view, allocator, head) {
                return Ok(true);
            }
        }
        self.reserve_on_nodes(view, allocator)?;
        Ok(false)
    }

    /// Return the plan of the pass, with all of its reservations on nodes.
    pub fn into_plan(mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Plan, Unanswered> {
        self.reserve_on_nodes(view, allocator)?;
        Ok(self.plan)
    }

    fn reserve_on_nodes(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<(), Unanswered> {
        let was_planned = std::mem::replace(&mut self.is_planned, true);
        if !was_planned {
            self.plan_nodes(view, allocator)?;
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

    /// Switch to the plan of nodes. If jobs have started since, the reservations keep their starts.
    fn plan_nodes(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<(), Unanswered> {
        if self.plan.still_holds(view, allocator) {
            self.plan.advance(view);
            return Ok(());
        }
        self.plan.follow(view);
        if self.by_totals.has_admitted() {
            for (job, start) in self.by_totals.instants() {
                self.plan.reserve_at(view, allocator, job, start)?;
            }
        }
        Ok(())
    }

    /// Return whether totals prove that a job fits now and delays a reservation on any nodes, so that no nodes need be
    /// chosen.
    fn surely_delays(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<bool, Unanswered> {
        if self.heads.is_empty()
            || deciding_resource(view, allocator, job).is_none()
            || view.over_limit(job).is_some()
            || !view.may_fit_job(job)
        {
            return Ok(false);
        }
        self.values.clear();
        self.values.push(ordered_bits(view.state.jobs.estimate(job)));
        self.values.extend((0..view.state.machine.resources()).map(|resource| view.need(job, resource)));
        loop {
            if !self.may_admit(view, &self.values) {
                return Ok(true);
            }
            if !self.reserve_next(view, allocator)? {
                return Ok(!self.may_admit(view, &self.values));
            }
        }
    }

    /// Return whether the reservations may admit jobs with these queue values. False only if they admit none; totals
    /// alone are used.
    fn may_admit(&self, view: View<'_>, values: &[i64]) -> bool {
        if self.is_planned {
            self.plan.may_admit(view, values)
        } else {
            self.by_totals.may_admit(view, values)
        }
    }

    /// Return whether a job on the nodes chosen by the allocator leaves each reservation its start.
    fn admits(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<bool, Unanswered> {
        if self.heads.is_empty() {
            return Ok(true);
        }
        let chosen = std::mem::take(&mut allocator.chosen);
        let admitted = self.admits_on(view, allocator, job, &chosen);
        allocator.chosen = chosen;
        admitted
    }

    fn admits_on(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        placement: &[NodeTasks],
    ) -> Result<bool, Unanswered> {
        self.reserve(view, allocator)?;
        if !self.is_planned {
            let end = view.supposed_end(job, placement);
            // If nodes decide later in this pass, a stateful allocator would place the reservations differently then.
            let is_decided = allocator.is_stateless() && deciding_resource(view, allocator, job).is_some();
            let admitted = if is_decided { self.by_totals.admit(view, job, end) } else { None };
            if let Some(admitted) = admitted {
                return Ok(admitted);
            }
            self.reserve_on_nodes(view, allocator)?;
        }
        let admitted = self.plan.admit(view, allocator, job, placement)?;
        if admitted {
            self.plan.count_left(view);
        }
        Ok(admitted)
    }

    /// Return the requests of a job in sets of connected partitions with fewer heads than `fewer_than`.
    fn requests_where<'a>(
        &'a self,
        view: View<'a>,
        job: u32,
        fewer_than: usize,
    ) -> impl Iterator<Item = PlacementRequest<'a>> {
        let sets = &view.scenario.node_sets;
        let has_fewer = move |number: usize| self.heads_among[number] < fewer_than;
        self.closed
            .requests(view, job)
            .filter(move |want| sets.connected(want.request.nodes).is_some_and(has_fewer))
    }

    /// Make a job that does not fit a head in one set of connected partitions: the set in which it can start first.
    fn take_head(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<(), Unanswered> {
        let sets = &view.scenario.node_sets;
        let wants = self.requests_where(view, job, self.count);
        let left: Vec<usize> = wants.filter_map(|want| sets.connected(want.request.nodes)).collect();
        if left.is_empty() {
            return Ok(());
        }
        let taken = if let [number] = *view.connected_of(job) {
            Some(number)
        } else {
            self.reserve_on_nodes(view, allocator)?;
            let taken = self.plan.reserve_among(view, allocator, job, |number| left.contains(&number))?;
            self.plan.count_left(view);
            taken
        };
        if let Some(number) = taken {
            self.heads.push(job);
            self.heads_among[number] += 1;
        }
        Ok(())
    }

    /// Return the next job behind `after` to examine: also a job that cannot fit, while reservations remain to be made.
    fn next_behind(&mut self, view: View<'_>, allocator: &Allocator, after: Option<Rank>) -> Option<Rank> {
        let is_one = self.heads_among.len() == 1;
        if view.looks_at_each() || (is_one && self.heads.len() < self.count) {
            return view.state.queue.first_matching(after.as_ref(), &|_| true);
        }
        let lacks_heads = |number: usize| self.heads_among[number] < self.count;
        let mut slots = std::mem::take(&mut self.slots);
        let has_slots = slots.test(view, allocator);
        let matters = |values: &[i64]| {
            (!is_one && view.may_run_among(values, lacks_heads))
                || (view.may_fit_where(values, |_, own| self.may_admit(view, own))
                    && has_slots.passes(values))
        };
        let found = view.state.queue.first_matching(after.as_ref(), &matters);
        self.slots = slots;
        found
    }
}

impl SchedulingRule for EasyReservations {
    fn needs_running(&self) -> bool {
        true
    }

    fn disturbed(&mut self) {
        self.plan.disturbed();
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        let begins = self.names_heads || view.may_start_some();
        self.begin_at_first();
        if !begins {
            self.pass = Pass::Over;
        }
        begins
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        if self.is_some_over_limit(view) {
            self.begin_at_first();
        }
        let Pass::Behind(before) = self.pass else { return Ok(Step::Done) };
        let Some(rank) = self.next_behind(view, allocator, before) else {
            self.pass = Pass::Over;
            return Ok(Step::Done);
        };
        self.pass = Pass::Behind(Some(rank));
        if self.surely_delays(view, allocator, rank.job)? {
            return Ok(Step::PassOver(rank.job));
        }
        if self.closed.shut_out(view, rank.job) {
            return Ok(Step::Continue);
        }
        match chance_among(view, allocator, rank.job, self.closed.requests(view, rank.job))? {
            Chance::Fits => {
                let admitted = self.admits(view, allocator, rank.job)?;
                Ok(if admitted { start_chosen(rank.job) } else { Step::PassOver(rank.job) })
            }
            Chance::DoesNotFit => {
                let wants = self.requests_where(view, rank.job, 1);
                if let Some(step) = preempt_among(view, allocator, rank.job, wants) {
                    // If the job does not start yet, the pass examines it again, and may make a reservation for it.
                    self.pass = Pass::Behind(before);
                    return Ok(step);
                }
                self.take_head(view, allocator, rank.job)?;
                Ok(Step::PassOver(rank.job))
            }
            Chance::Closed(counter) => Ok(Step::Close(rank.job, counter)),
            Chance::HoldsUp => {
                self.closed.close_connected(view, rank.job);
                if self.closed.has_all() {
                    self.pass = Pass::Over;
                }
                Ok(Step::Continue)
            }
        }
    }
}
