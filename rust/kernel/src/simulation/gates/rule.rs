//! The gates of jobs that fit (S15): the job at which the pass stopped, or the reservation in whose way they are.
use crate::cluster::{NodeSet, NodeSetId, NodeTasks, PlacementRequest, place_at};
use crate::record::{FitTrial, Gate, GateKind, NONE, STOPPER, Waiting};
use crate::scheduler::{ConservativePlan, Contender, Delay, Delays, Trial};
use crate::state::ClosedPartitions;

use super::controller::of_finding;
use super::{Closing, Look};

impl<'a> Look<'a> {
    /// Return the gate of a job that fits, where no limit closes partitions.
    pub(super) fn of_rule(&mut self, each: &Waiting) -> Gate {
        if self.view.state.is_stopped {
            return Gate::of(GateKind::NotLookedAt);
        }
        if let Some(kind) = self.manner.outside {
            return Gate::of(kind);
        }
        if let Some(rule) = self.controller {
            return of_finding(rule, each);
        }
        if let Some(stopper) = self.stopper.filter(|&stopper| stopper != each.job) {
            let subject = if self.manner.is_stopper_shared { STOPPER } else { stopper };
            return Gate { subject, ..Gate::of(GateKind::Order) };
        }
        self.would_delay(each, None)
    }

    /// Return the gate of a job that fits, behind those that have closed partitions.
    pub(super) fn of_rule_behind(
        &mut self,
        each: &Waiting,
        closed: &ClosedPartitions,
        closings: &[Closing],
    ) -> Gate {
        if self.view.state.is_stopped {
            return Gate::of(GateKind::NotLookedAt);
        }
        if !closings.is_empty() && !self.fits_behind(each.job, closed) {
            let own = || self.view.placement_requests(each.job).map(|want| want.request.nodes);
            let closing = closings.iter().find(|closing| own().any(|set| self.overlaps(set, &closing.nodes)));
            let (subject, detail) = closing.map_or((NONE, NONE), |closing| (closing.job, closing.limit));
            return Gate { kind: GateKind::Order, subject, detail };
        }
        self.would_delay(each, Some(closed))
    }

    fn overlaps(&self, set: NodeSetId, nodes: &NodeSet) -> bool {
        // Without partitions no nodes are listed: all are closed.
        nodes.is_empty() || self.view.scenario.node_sets.nodes_from(set, 0).any(|node| nodes.contains(node))
    }

    /// Return whether a job fits on nodes that are not closed.
    pub(super) fn fits_behind(&mut self, job: u32, closed: &ClosedPartitions) -> bool {
        self.place(job, Some(closed)).is_some()
    }

    /// Choose the nodes on which a job would start now. Return its request there.
    fn place(&mut self, job: u32, closed: Option<&ClosedPartitions>) -> Option<u32> {
        let view = self.view;
        let has_closed = closed.filter(|closed| !closed.has_none());
        let none = ClosedPartitions::default();
        let wants = has_closed.unwrap_or(&none).requests(view, job);
        let mut placement = std::mem::take(&mut self.placement);
        let found = wants.into_iter().find_map(|want| {
            let is_this = |&request: &u32| std::ptr::eq(view.scenario.requests.get(request), want.request);
            let is_placed = self.put(&want, &mut placement);
            is_placed.then(|| view.scenario.alternatives(job).iter().copied().find(is_this)).flatten()
        });
        self.placement = placement;
        found
    }

    fn put(&self, want: &PlacementRequest<'_>, placement: &mut Vec<NodeTasks>) -> bool {
        let (view, mut allocator) = (self.view, self.allocator);
        if !view.may_fit_request(want) {
            return false;
        }
        let is_on = view
            .powered_nodes()
            .is_some_and(|room| place_at(&mut allocator, &room, want, view.now(), placement) == Ok(true));
        is_on || place_at(&mut allocator, &view.state.machine, want, view.now(), placement) == Ok(true)
    }

    /// Return the gate of a job that fits and that no other job stops.
    fn would_delay(&mut self, each: &Waiting, closed: Option<&ClosedPartitions>) -> Gate {
        let delayed = match &self.delays {
            None => None,
            Some(Delays::Several(_)) => self.delay(each.job, closed).map(|delay| delay.job),
            Some(Delays::Heads(_)) => self.delayed_head(each, closed),
            Some(Delays::Planned(plan)) => self.obstacle(each, plan).map(|(_, job)| job),
        };
        match delayed {
            Some(subject) => Gate { subject, ..Gate::of(GateKind::WouldDelay) },
            None => Gate::of(GateKind::NotLookedAt),
        }
    }

    /// Return the head of EASY that a job would delay.
    fn delayed_head(&mut self, each: &Waiting, closed: Option<&ClosedPartitions>) -> Option<u32> {
        let is_alike = closed.is_none() && !self.allocator.depends_on_job();
        let known = self.kinds[each.kind as usize].trial;
        let known = known.filter(|trial| is_alike && trial.look == self.number);
        let mut trial = known.or_else(|| self.trial(each.job, closed))?;
        let is_late = trial.ready + self.view.state.jobs.estimate(each.job) > trial.shadow;
        if is_late && trial.takes.is_none() {
            trial.takes = Some(self.takes_from_head(each.job, closed));
        }
        self.kinds[each.kind as usize].trial = Some(trial);
        trial.head.filter(|_| is_late && trial.takes == Some(true))
    }

    /// Return the first reservation of a plan that a job which started now would be in the way of, and its instant.
    ///
    /// Without limit of time, and with its own reservation, this is the same for all jobs of its kind, and looked for once.
    /// Of a job whose own reservation begins by then, the search goes on from there to the end of the job.
    fn obstacle(&mut self, each: &Waiting, plan: &ConservativePlan) -> Option<(f64, u32)> {
        let view = self.view;
        let now = view.now();
        let known = self.kinds[each.kind as usize].trial;
        let known = known.filter(|trial| trial.look == self.number && !self.allocator.depends_on_job());
        let trial = if let Some(trial) = known {
            trial
        } else {
            let contender = self.contender(each)?;
            let found = plan.obstacle(view, &contender, None, (now, f64::INFINITY));
            self.keep_contender(each, contender);
            let (shadow, head) = found.map_or((f64::INFINITY, None), |(start, job)| (start, Some(job)));
            FitTrial { look: self.number, head, ready: now, shadow, takes: None, beside: None }
        };
        self.kinds[each.kind as usize].trial = Some(trial);
        let end = now + view.state.jobs.estimate(each.job);
        let is_in_the_way = |&start: &f64| start < end || start <= now;
        let first = (trial.shadow, trial.head.filter(|_| is_in_the_way(&trial.shadow))?);
        // Its own reservation is not in its way. Without it, no other one is that is not with it.
        if plan.planned_start(each.job).is_none_or(|own| own > first.0) {
            return Some(first);
        }
        let contender = self.contender(each)?;
        let found = plan.obstacle(view, &contender, Some(each.job), (first.0, end));
        self.keep_contender(each, contender);
        found
    }

    /// Return where a job would start beside a plan: O(nodes), once for each kind of job.
    fn contender(&mut self, each: &Waiting) -> Option<Contender<'a>> {
        if let Some(known) = self.contenders.remove(&each.kind) {
            return Some(known.of(each.job));
        }
        let view = self.view;
        let request = view.scenario.requests.get(self.place(each.job, None)?);
        Some(Contender::new(each.job, request, &self.placement))
    }

    fn keep_contender(&mut self, each: &Waiting, contender: Contender<'a>) {
        if !self.allocator.depends_on_job() {
            self.contenders.insert(each.kind, contender);
        }
    }

    /// Return where a job would start.
    fn trial(&mut self, job: u32, closed: Option<&ClosedPartitions>) -> Option<FitTrial> {
        let request = self.place(job, closed)?;
        let Self { view, allocator, delays, placement, number, .. } = self;
        let Some(Delays::Heads(heads)) = delays else { return None };
        let trial = Trial { job, request: view.scenario.requests.get(request), placement };
        let head = heads.head_on(*view, placement);
        let shadow = heads.shadow_time(*view, allocator, trial);
        Some(FitTrial {
            look: *number,
            head,
            ready: view.ready_on(placement),
            shadow,
            takes: None,
            beside: None,
        })
    }

    fn takes_from_head(&mut self, job: u32, closed: Option<&ClosedPartitions>) -> bool {
        let Some(request) = self.place(job, closed) else { return false };
        let Self { view, allocator, delays, placement, .. } = self;
        let trial = Trial { job, request: view.scenario.requests.get(request), placement };
        let Some(Delays::Heads(heads)) = delays else { return false };
        heads.takes_from_head(*view, allocator, trial)
    }

    /// Return the delay of the first of several reservations that a job delays.
    pub(super) fn delay(&mut self, job: u32, closed: Option<&ClosedPartitions>) -> Option<Delay> {
        let request = self.place(job, closed)?;
        let Self { view, allocator, delays, placement, .. } = self;
        let trial = Trial { job, request: view.scenario.requests.get(request), placement };
        let Some(Delays::Several(several)) = delays else { return None };
        several.delay(*view, allocator, trial)
    }

    /// Return the delay of EASY's head by a job that was found to delay it.
    pub(super) fn delay_of_head(
        &mut self,
        each: &Waiting,
        closed: Option<&ClosedPartitions>,
    ) -> Option<Delay> {
        let mut trial = self.kinds[each.kind as usize].trial?;
        let beside = if let Some(beside) = trial.beside {
            beside
        } else {
            let request = self.place(each.job, closed)?;
            let Self { view, allocator, delays, placement, .. } = self;
            let Some(Delays::Heads(heads)) = delays else { return None };
            let request = view.scenario.requests.get(request);
            heads.time_beside(*view, allocator, Trial { job: each.job, request, placement })
        };
        trial.beside = Some(beside);
        self.kinds[each.kind as usize].trial = Some(trial);
        let end = trial.ready + self.view.state.jobs.estimate(each.job);
        // Before the job ends the head has to fit beside it, and afterwards as if it had not run.
        let delayed = if beside <= end { beside } else { end.max(trial.shadow) };
        Some(Delay { job: trial.head?, start: trial.shadow, delayed })
    }

    /// Return the delay of the first reservation of a plan that a job would be in the way of.
    pub(super) fn delay_in_plan(&mut self, each: &Waiting, plan: &ConservativePlan) -> Option<Delay> {
        let (start, job) = self.obstacle(each, plan)?;
        let contender = self.contender(each)?;
        let delayed = plan.start_beside(self.view, self.allocator, job, &contender, &mut self.plan_copy).ok();
        self.keep_contender(each, contender);
        Some(Delay { job, start, delayed: delayed? })
    }
}
