//! EASY with several reservations (S6): the first k jobs that do not fit are not delayed.
//!
//! Reservations are made once a job behind those that do not fit could start. Where totals tell their instants, and whether a
//! job delays one of them, no nodes are looked at, which costs O(log n) for each reservation. Once they do not, the pass goes on
//! with a plan of nodes, which is kept from pass to pass as long as it would be the same again: each candidate that the totals
//! admit is then checked by placing again the reservations that begin before it is expected to end.
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

/// How far a pass is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Pass {
    Over,
    /// It goes on behind this job.
    Behind(Option<Rank>),
}

/// EASY with `count` reservations, in each set of connected partitions (S11).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EasyReservations {
    count: usize,
    /// The jobs for which this pass reserves.
    heads: Vec<u32>,
    /// How many of them are in each set of connected partitions.
    heads_among: Vec<usize>,
    /// The partitions in which a job holds up all behind it.
    closed: ClosedPartitions,
    /// What totals tell of their reservations, as long as they do in this pass.
    by_totals: PlanByTotals,
    plan: Plan,
    /// Whether nodes decide in this pass: the plan is that of this pass.
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
            heads: Vec::new(),
            heads_among: vec![0; node_sets.partitions().connected()],
            closed: ClosedPartitions::default(),
            by_totals: PlanByTotals::default(),
            plan,
            is_planned: false,
            values: Vec::new(),
            slots: FreeSlots::default(),
            pass: Pass::Over,
        }
    }

    /// The pass begins at the first job of the queue, without reservations.
    fn begin_at_first(&mut self) {
        self.pass = Pass::Behind(None);
        self.heads.clear();
        self.heads_among.fill(0);
        self.closed.clear();
        self.by_totals.clear();
        self.is_planned = false;
    }

    /// Whether a start in this pass has brought a job over a limit for which it reserves: the reservation is given up then.
    fn is_some_over_limit(&self, view: View<'_>) -> bool {
        view.state.limited.is_some() && self.heads.iter().any(|&head| view.over_limit(head).is_some())
    }

    /// Reserves for all jobs that did not fit, by totals or else on nodes.
    fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<(), Unanswered> {
        while self.reserve_next(view, allocator)? {}
        Ok(())
    }

    /// Reserves for the next job by totals, or for all on nodes; false where all have reservations.
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

    /// Goes over to nodes. Reservations that jobs have started besides keep their instants.
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

    /// Whether totals tell that a job fits now and delays a reservation wherever it goes, so that no nodes need be chosen.
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

    /// Whether the reservations admit jobs with such values of the queue, as far as totals tell: false only if none of them is.
    fn may_admit(&self, view: View<'_>, values: &[i64]) -> bool {
        if self.is_planned {
            self.plan.may_admit(view, values)
        } else {
            self.by_totals.may_admit(view, values)
        }
    }

    /// Whether a job that would go where the allocator has chosen leaves each reservation its instant.
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
            // Where nodes decide later in the pass, allocators with a memory would not place the reservations as they do now.
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

    /// Returns the requests of a job in sets of connected partitions with fewer heads than `fewer_than`.
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

    /// Makes a job that does not fit a head in one set of connected partitions: of several, the one where it can start first.
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

    /// The next job behind `after` that matters: jobs that cannot fit do while reservations are left to make.
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
        let begins = view.may_start_some();
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
                    // Where it does not start yet, the pass looks at it again, and may reserve for it.
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
