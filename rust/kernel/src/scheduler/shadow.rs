//! The reservation of EASY's head: when it is thought to start, and what is left for others then.
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSetId, NodeTasks};
use crate::placement::Allocator;
use crate::state::View;
use crate::time::{Time, from_ordered_bits};

use super::shadow_capacity::ShadowCapacity;

/// The reservation of the head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shadow {
    /// The job.
    pub head: u32,
    /// Its request in the node set where it can start first.
    request: u32,
    /// When it is thought to start; infinite where it does not fit on what the machine offers.
    pub time: f64,
    /// The nodes that the head may use.
    nodes: NodeSetId,
    /// What the totals of these nodes leave at the shadow time, per resource, once the head has started.
    extra: Vec<i64>,
    /// Whether the totals do not decide, so that room is counted node by node.
    on_nodes: bool,
    /// Whether it depends on its nodes if a job does harm.
    pub goes_by_place: bool,
}

impl Shadow {
    /// The reservation of a job that does not fit now: in the node set where it can start first.
    pub fn of(view: View<'_>, allocator: &Allocator, head: u32, room: &mut ShadowCapacity) -> Self {
        match view.scenario.alternatives(head) {
            [request] => Self::with(view, allocator, head, *request, room),
            requests => {
                let time = |&request: &u32| Time(Self::with(view, allocator, head, request, room).time);
                // The first of those that are equal.
                let first = requests
                    .iter()
                    .copied()
                    .min_by_key(time)
                    .unwrap_or_else(|| view.scenario.job(head).request);
                Self::with(view, allocator, head, first, room)
            }
        }
    }

    /// The reservation of a job with one of its requests. O(log n), or more where nodes decide: see `easy`.
    fn with(
        view: View<'_>,
        allocator: &Allocator,
        head: u32,
        request: u32,
        room: &mut ShadowCapacity,
    ) -> Self {
        let machine = &view.state.machine;
        let want = view.placement_request_of(head, request);
        let nodes = want.request.nodes;
        let own = nodes.block(machine.resources());
        let needs: Vec<i64> = (0..machine.resources()).map(|resource| view.need(head, resource)).collect();
        let mut carried = machine.free_totals().to_vec();
        let enough = |totals: &[i64]| totals[own.clone()].iter().zip(&needs).all(|(has, need)| has >= need);
        let ends = view.state.running.by_expected_end();
        let end = ends
            .and_then(|ends| ends.first_prefix(&mut carried, &enough))
            .map_or(view.now(), |end| end.time.0);
        let on_nodes = limiting_resource(view, allocator, head, request).is_none();
        let time = if on_nodes { room.open(view, allocator, &want, end) } else { end }.max(view.now());
        let mut then = machine.free_totals().to_vec();
        if let Some(ends) = ends {
            ends.join_prefix(&mut then, &|end| end.time <= Time(time));
        }
        let extra = then[own].iter().zip(&needs).map(|(has, need)| has - need).collect();
        let goes_by_place = on_nodes || nodes != NodeSetId::ALL || view.scenario.requests.has_exclusive();
        Self { head, request, time, nodes, extra, on_nodes, goes_by_place }
    }

    /// Whether a job of this node set with this block of queue values may be admitted: false only if none of them is.
    ///
    /// What a job takes of the head's nodes is known beforehand only where it may use no others: all of its needs. One
    /// that may use others as well can have taken nothing of them, so that its nodes decide.
    #[must_use]
    pub fn may_admit(&self, view: View<'_>, set: NodeSetId, values: &[i64]) -> bool {
        view.now() + from_ordered_bits(values[0]) <= self.time
            || !view.scenario.node_sets.is_within(set, self.nodes)
            || values[1..].iter().zip(&self.extra).all(|(need, extra)| need <= extra)
    }

    /// Whether a job may start on these nodes; if so, its effect on the room is noted.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        job: u32,
        placement: &[NodeTasks],
        room: &mut ShadowCapacity,
    ) -> bool {
        let (request, machine) = (view.request(job), &view.state.machine);
        if view.now() + view.state.jobs.estimate(job) <= self.time {
            if self.on_nodes {
                // It will have come and gone: what the machine is about to lack is back by then.
                room.change(machine, request, placement, 1);
            }
            return true;
        }
        let sets = &view.scenario.node_sets;
        let taken = placement.iter().filter(|part| sets.contains(self.nodes, part.node));
        let loss = |resource| taken.clone().map(|&part| machine.loss(request, part, resource)).sum::<i64>();
        if self.extra.iter().enumerate().any(|(resource, &extra)| loss(resource) > extra) {
            return false;
        }
        let head = view.placement_request_of(self.head, self.request);
        if self.on_nodes && !room.spare(view, allocator, &head, request, placement) {
            return false;
        }
        for (resource, extra) in self.extra.iter_mut().enumerate() {
            *extra -= loss(resource);
        }
        true
    }
}

/// The one resource whose free total in the node set of a request decides whether a job fits, if there is one.
fn limiting_resource(view: View<'_>, allocator: &Allocator, job: u32, request: u32) -> Option<usize> {
    if !allocator.is_free_to_spread() || !view.fits_alone(job) {
        return None;
    }
    view.scenario.requests.limiting_resource(request)
}
