//! The reservation of EASY's head: when it is thought to start, and what is left for others then.
use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;
use crate::placement::Allocator;
use crate::state::View;
use crate::time::{Time, from_ordered_bits};

use super::future::FutureRoom;

/// The reservation of the head.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Shadow {
    /// The job.
    pub head: u32,
    /// When it is thought to start; infinite where it does not fit on what the machine offers.
    pub time: f64,
    /// What the totals leave at the shadow time, per resource, once the head has started.
    extra: Vec<i64>,
    /// Whether the totals do not decide, so that room is counted node by node.
    pub on_nodes: bool,
}

impl Shadow {
    /// The reservation of a job that does not fit now.
    pub fn of(view: View<'_>, allocator: &Allocator, head: u32, room: &mut FutureRoom) -> Self {
        let machine = &view.state.machine;
        let needs: Vec<i64> =
            (0..machine.resources()).map(|resource| view.need(head, resource)).collect();
        let mut carried = machine.total_free().to_vec();
        let enough = |totals: &[i64]| totals.iter().zip(&needs).all(|(has, need)| has >= need);
        let ends = view.state.running.by_expected_end();
        let end = ends
            .and_then(|ends| ends.first_prefix(&mut carried, &enough))
            .map_or(view.now(), |end| end.time.0);
        let on_nodes = limiting_resource(view, allocator, head).is_none();
        let time = if on_nodes { room.open(view, allocator, head, end) } else { end }.max(view.now());
        let mut extra = machine.total_free().to_vec();
        if let Some(ends) = ends {
            ends.join_prefix(&mut extra, &|end| end.time <= Time(time));
        }
        for (extra, need) in extra.iter_mut().zip(&needs) {
            *extra -= need;
        }
        Self { head, time, extra, on_nodes }
    }

    /// Whether a job with these queue values may be admitted: false only if none of them is.
    #[must_use]
    pub fn may_admit(&self, now: f64, values: &[i64]) -> bool {
        now + from_ordered_bits(values[0]) <= self.time
            || values[1..].iter().zip(&self.extra).all(|(need, extra)| need <= extra)
    }

    /// Whether a job may start on these nodes; if so, its effect on the room is noted.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &Allocator,
        job: u32,
        placement: &[NodeTasks],
        room: &mut FutureRoom,
    ) -> bool {
        let (request, machine) = (view.request(job), &view.state.machine);
        if view.now() + view.state.jobs.estimate(job) <= self.time {
            if self.on_nodes {
                // It will have come and gone: what the machine is about to lack is back by then.
                room.change(machine, request, placement, 1);
            }
            return true;
        }
        let held =
            |resource| placement.iter().map(|&part| machine.held(request, part, resource)).sum::<i64>();
        if self.extra.iter().enumerate().any(|(resource, &extra)| held(resource) > extra) {
            return false;
        }
        if self.on_nodes && !room.spare(view, allocator, self.head, request, placement) {
            return false;
        }
        for (resource, extra) in self.extra.iter_mut().enumerate() {
            *extra -= held(resource);
        }
        true
    }
}

/// The one resource whose free total decides whether the job fits, if there is one.
fn limiting_resource(view: View<'_>, allocator: &Allocator, job: u32) -> Option<usize> {
    if !allocator.is_free_to_spread() || view.state.machine.has_unavailable() {
        return None;
    }
    view.scenario.requests.limiting_resource(view.scenario.job(job).request)
}
