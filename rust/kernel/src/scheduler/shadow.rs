//! The reservation of EASY's head: its shadow time, and the resources left for other jobs.
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSetId, NodeTasks, Request};
use crate::placement::Allocator;
use crate::state::{LeastAsked, View};
use crate::time::{Time, from_ordered_bits};

use super::shadow_availability::ShadowAvailability;

/// Reservation of the head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shadow {
    /// The job.
    pub head: u32,
    /// The request in the node set where the head can start first.
    pub request: u32,
    /// Shadow time: the expected start. Infinite if the head does not fit on the machine's capacity.
    pub time: f64,
    /// Node set of the head.
    nodes: NodeSetId,
    /// Total amounts that the head leaves on these nodes at the shadow time, per resource.
    extra: Vec<i64>,
    /// True if totals do not decide, so that capacity is counted node by node.
    on_nodes: bool,
    /// True if delaying the head depends on the nodes of a job.
    pub depends_on_nodes: bool,
}

/// A job and the nodes on which it would start.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The job.
    pub job: u32,
    /// Its request there.
    pub request: &'a Request,
    /// Its nodes.
    pub placement: &'a [NodeTasks],
}

impl Shadow {
    /// Compute the reservation of a job that does not fit now, in the node set where it can start first.
    pub fn of(
        view: View<'_>,
        allocator: &Allocator,
        head: u32,
        availability: &mut ShadowAvailability,
    ) -> Self {
        Self::among(view, allocator, head, view.scenario.alternatives(head), availability)
    }

    /// Compute the reservation with one of these requests of the job.
    pub fn among(
        view: View<'_>,
        allocator: &Allocator,
        head: u32,
        alternatives: &[u32],
        availability: &mut ShadowAvailability,
    ) -> Self {
        let with = |request, earliest, availability: &mut ShadowAvailability| {
            Self::with(view, allocator, head, request, earliest, availability)
        };
        if let [request] = alternatives {
            return with(*request, by_totals(view, head, *request), availability);
        }
        // Totals give a lower bound on the start: a set whose bound is later than another set's start is not tried.
        let bound = |(place, &request): (usize, &u32)| (by_totals(view, head, request), place, request);
        let mut bounds: Vec<(Time, usize, u32)> = alternatives.iter().enumerate().map(bound).collect();
        bounds.sort_unstable();
        let (mut first, mut latest) = (None::<((Time, usize), Self, Time)>, 0);
        for (earliest, place, request) in bounds {
            if first.as_ref().is_some_and(|(best, ..)| (earliest, place) > *best) {
                continue;
            }
            let shadow = with(request, earliest, availability);
            latest = place;
            if first.as_ref().is_none_or(|(best, ..)| (Time(shadow.time), place) < *best) {
                first = Some(((Time(shadow.time), place), shadow, earliest));
            }
        }
        match first {
            // `availability` describes the set that was tried last; recompute it for the chosen set.
            Some(((_, place), shadow, earliest)) if place != latest => {
                with(shadow.request, earliest, availability)
            }
            Some((_, shadow, _)) => shadow,
            None => with(view.scenario.job(head).request, Time(view.now()), availability),
        }
    }

    /// Compute the reservation of a job with one of its requests; totals prove that it cannot start before `earliest`.
    /// O(log n), or more if nodes decide: see `easy`.
    fn with(
        view: View<'_>,
        allocator: &Allocator,
        head: u32,
        request: u32,
        earliest: Time,
        availability: &mut ShadowAvailability,
    ) -> Self {
        let want = view.placement_request_of(head, request);
        let nodes = want.request.nodes;
        let own = nodes.block(view.state.machine.resources());
        let on_nodes = limiting_resource(view, allocator, head, request).is_none();
        let time = if on_nodes { availability.open(view, allocator, &want, earliest.0) } else { earliest.0 };
        let time = time.max(view.now());
        let then = free_at(view, time);
        let left = |(resource, has): (usize, &i64)| has - view.need(head, resource);
        let extra = then[own].iter().enumerate().map(left).collect();
        let depends_on_nodes = on_nodes || nodes != NodeSetId::ALL || view.scenario.requests.has_exclusive();
        Self { head, request, time, nodes, extra, on_nodes, depends_on_nodes }
    }

    /// Return whether a job of this node set with this block of queue values may be admitted. False only if none is.
    ///
    /// The share taken from the head's nodes is known beforehand only if the job may use no others: then it is all of
    /// its request. A job that may use other nodes can take nothing from them, so that its placement decides.
    #[must_use]
    pub fn may_admit(&self, view: View<'_>, set: NodeSetId, values: &[i64]) -> bool {
        self.is_over_in_time(view, values[0])
            || !view.scenario.node_sets.is_within(set, self.nodes)
            || values[1..].iter().zip(&self.extra).all(|(need, extra)| need <= extra)
    }

    /// Return whether a job with this request may be admitted. False only if none is.
    #[must_use]
    pub fn may_admit_request(&self, view: View<'_>, least: &LeastAsked) -> bool {
        let request = view.scenario.requests.get(least.request);
        let tasks = u32::try_from(least.tasks).unwrap_or(u32::MAX);
        let mut extras = self.extra.iter().enumerate();
        self.is_over_in_time(view, least.estimate)
            || !view.scenario.node_sets.is_within(request.nodes, self.nodes)
            || extras.all(|(resource, &extra)| request.need(resource, tasks) <= extra)
    }

    /// Return whether a job that starts now ends by the shadow time, according to its estimate (as ordered bits).
    #[must_use]
    pub fn is_over_in_time(&self, view: View<'_>, estimate: i64) -> bool {
        view.now() + from_ordered_bits(estimate) <= self.time
    }

    /// Return whether a job may start on these nodes. If so, update the remaining capacity.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        job: u32,
        placement: &[NodeTasks],
        availability: &mut ShadowAvailability,
    ) -> bool {
        let request = view.request(job);
        if view.supposed_end(job, placement) <= self.time {
            if self.on_nodes {
                availability.run_before_shadow(&view.state.machine, request, placement);
            }
            return true;
        }
        self.leaves_room(view, allocator, Trial { job, request, placement }, availability)
    }

    /// Return whether the head fits at its shadow time beside a job that runs on. If so, update the remaining capacity.
    pub fn leaves_room(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        Trial { request, placement, .. }: Trial<'_>,
        availability: &mut ShadowAvailability,
    ) -> bool {
        let machine = &view.state.machine;
        let sets = &view.scenario.node_sets;
        let taken = placement.iter().filter(|part| sets.contains(self.nodes, part.node));
        let loss = |resource| taken.clone().map(|&part| machine.loss(request, part, resource)).sum::<i64>();
        if self.extra.iter().enumerate().any(|(resource, &extra)| loss(resource) > extra) {
            return false;
        }
        let head = view.placement_request_of(self.head, self.request);
        if self.on_nodes && !availability.take_if_head_fits(view, allocator, &head, request, placement) {
            return false;
        }
        for (resource, extra) in self.extra.iter_mut().enumerate() {
            *extra -= loss(resource);
        }
        true
    }

    /// Return the earliest instant at which the head fits beside a job that never ends; infinity if it never does.
    #[must_use]
    pub fn time_beside(&self, view: View<'_>, allocator: &Allocator, trial: Trial<'_>) -> f64 {
        if self.on_nodes {
            return self.time_on_nodes_beside(view, allocator, trial);
        }
        let (machine, sets) = (&view.state.machine, &view.scenario.node_sets);
        let own = self.nodes.block(machine.resources());
        let mut carried = machine.free_totals().to_vec();
        for &part in trial.placement.iter().filter(|part| sets.contains(self.nodes, part.node)) {
            for (resource, free) in carried[own.clone()].iter_mut().enumerate() {
                *free -= machine.loss(trial.request, part, resource);
            }
        }
        let is_enough = |totals: &[i64]| {
            let mut free = totals[own.clone()].iter().enumerate();
            free.all(|(resource, &has)| has >= view.need(self.head, resource))
        };
        let end = view.state.running.by_expected_end();
        let end = end.and_then(|ends| ends.first_prefix(&mut carried, &is_enough));
        end.map_or(f64::INFINITY, |end| end.time.0.max(view.now()))
    }

    fn time_on_nodes_beside(&self, view: View<'_>, allocator: &Allocator, trial: Trial<'_>) -> f64 {
        let mut machine = view.state.machine.clone();
        machine.take(trial.request, trial.placement);
        let head = view.placement_request_of(self.head, self.request);
        let mut ends: Vec<(f64, u32)> = Vec::new();
        view.visit_running(&mut |end| {
            ends.push((end.time.0.max(view.now()), end.job));
            true
        });
        for together in ends.chunk_by(|one, other| one.0 <= other.0 && other.0 <= one.0) {
            for &(_, job) in together {
                machine.give_back(view.running_request(job), view.state.jobs.placement(job));
            }
            if allocator.fits(&machine, &head) {
                return together[0].0;
            }
        }
        f64::INFINITY
    }
}

/// Return when the total free amounts on a request's nodes suffice for a job if running jobs end as expected. O(log n).
fn by_totals(view: View<'_>, head: u32, request: u32) -> Time {
    let machine = &view.state.machine;
    let own = view.scenario.requests.get(request).nodes.block(machine.resources());
    let is_enough = |totals: &[i64]| {
        totals[own.clone()].iter().enumerate().all(|(resource, &has)| has >= view.need(head, resource))
    };
    let mut carried = machine.free_totals().to_vec();
    let ends = view.state.running.by_expected_end();
    let end = ends.and_then(|ends| ends.first_prefix(&mut carried, &is_enough));
    end.map_or(Time(view.now()), |end| end.time)
}

/// Return the free totals of each node set at an instant if running jobs end as expected. O(log n).
pub(super) fn free_at(view: View<'_>, instant: f64) -> Vec<i64> {
    let mut free = view.state.machine.free_totals().to_vec();
    if let Some(ends) = view.state.running.by_expected_end() {
        ends.join_prefix(&mut free, &|end| end.time <= Time(instant));
    }
    free
}

/// Return the resource whose free total in a request's node set decides whether a job fits, or None.
#[must_use]
pub fn limiting_resource(view: View<'_>, allocator: &Allocator, job: u32, request: u32) -> Option<usize> {
    if !allocator.is_free_to_spread() || !view.fits_alone(job) {
        return None;
    }
    view.scenario.requests.limiting_resource(request)
}
