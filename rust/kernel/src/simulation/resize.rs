//! Resizing: a running job gets other nodes; each resize is checked, and applied completely or refused.
use std::collections::BTreeMap;

use crate::application::JobType;
use crate::cluster::{Availability, NodeTasks, Place, PlacementRequest, placement_of_ranks};
use crate::decision::Size;
use crate::record::Change;
use crate::state::Phase;
use crate::workload::JobState;

use super::{Feed, Refusal, Simulation, View};

impl<F: Feed> Simulation<F> {
    pub(super) fn resize(&mut self, job: u32, size: Size) -> Result<(), Refusal> {
        match size {
            Size::Tasks(tasks) => self.resize_to_tasks(job, tasks),
            Size::Ranks(nodes, gpus) => self.resize_to_nodes(job, nodes, gpus),
        }
    }

    /// Assign these nodes, one entry per rank, to a running job: at once if it is in its launch or at a scheduling
    /// point, else from the next scheduling point on. It occupies additional nodes from now on.
    fn resize_to_nodes(&mut self, job: u32, nodes: Vec<u32>, gpus: Option<u32>) -> Result<(), Refusal> {
        self.check_resizable(job, nodes.len())?;
        for &node in &nodes {
            self.check_node(node)?;
        }
        let Some(running) = &self.state.applications else { return Err(Refusal::Rigid(job)) };
        let is_launched = self.is_launched(job);
        let next = placement_of_ranks(&nodes);
        let held = if is_launched || running.scheduling_point(job).is_some() {
            next
        } else {
            union(&placement_of_ranks(running.ranks(job)), &next)
        };
        if *self.state.jobs.placement_by_index(job) != held && !self.change_nodes(job, &held) {
            return Err(self.no_room(job, &held));
        }
        if let Some(running) = &mut self.state.applications {
            let others = gpus.is_some_and(|gpus| running.chosen_gpus.insert(job, gpus) != Some(gpus));
            if is_launched {
                // The application begins on these nodes.
                running.set_ranks(job, nodes);
            } else {
                let is_same = nodes == running.ranks(job) && !others;
                running.set_pending_allocation(job, (!is_same).then_some(nodes));
            }
        }
        Ok(())
    }

    /// Return whether a running job is in its launch: it has its nodes, and its application has not begun.
    fn is_launched(&self, job: u32) -> bool {
        self.phase(job) == Some(Phase::Launching)
    }

    fn phase(&self, job: u32) -> Option<Phase> {
        self.state.jobs.run(job).map(|run| self.state.running.get(run).phase)
    }

    /// Change the number of tasks of a running job. A smaller job loses its last ranks. A larger job first keeps nodes
    /// that it was to lose at its next scheduling point, then gains nodes chosen by the allocator.
    fn resize_to_tasks(&mut self, job: u32, tasks: u32) -> Result<(), Refusal> {
        self.check_resizable(job, tasks as usize)?;
        let Some(running) = &self.state.applications else { return Err(Refusal::Rigid(job)) };
        let mut nodes = running.next_ranks(job).to_vec();
        let tasks = tasks as usize;
        if nodes.len() < tasks {
            let kept = running.releasing(job, &nodes);
            nodes.extend(kept);
        }
        let more = tasks.saturating_sub(nodes.len()) as u32;
        nodes.truncate(tasks);
        if more > 0 {
            let view = View { scenario: &self.scenario, state: &self.state };
            let mut want =
                PlacementRequest { request: view.running_request(job), ..view.placement_request(job) };
            want.tasks = more;
            let mut gained = Vec::new();
            // An allocation rule of the kernel makes plans and expansions.
            if self.allocator.for_plans().place(&view.expansion(job), &want, &mut gained) != Ok(true) {
                return Err(Refusal::NoRoomToGrow { job, more });
            }
            nodes.extend(gained.iter().flat_map(|part| (0..part.tasks).map(|_| part.node)));
        }
        self.resize_to_nodes(job, nodes, None)
    }

    /// Return how many additional tasks of a job, up to `limit`, have room now, including nodes that it was to lose.
    /// O(log n) per node with room; stops at the limit.
    #[must_use]
    pub fn max_additional_tasks(&self, job: u32, limit: u32) -> u32 {
        let releasing = |running: &crate::state::ApplicationState| {
            running.releasing(job, running.next_ranks(job)).len() as u32
        };
        let kept = self.applications().map_or(0, releasing);
        let limit_left = limit.saturating_sub(kept);
        let (request, expansion) = (self.view().running_request(job), self.view().expansion(job));
        let (mut found, mut from) = (0_u32, 0);
        while found < limit_left
            && let Some(node) = expansion.next_with_slots(from, request)
        {
            found = found.saturating_add(expansion.slots(node, request));
            from = node + 1;
        }
        kept.min(limit) + found.min(limit_left)
    }

    /// Replace the nodes of a running job. Return false, and change nothing, if there is no room.
    pub(super) fn change_nodes(&mut self, job: u32, placement: &[NodeTasks]) -> bool {
        if !self.state.has_room_to_resize(&self.scenario, job, placement) {
            return false;
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        self.recorders.resizes.add(view, job, self.state.jobs.allocated_since(job));
        self.release_nodes(job);
        self.state.take_again(&self.scenario, job, placement);
        if self.scenario.bills_runs_only() && self.phase(job) == Some(Phase::Running) {
            self.state.begin_charge(&self.scenario, job);
        }
        self.recorders.nodes_taken(View { scenario: &self.scenario, state: &self.state }, job, placement);
        self.nodes_changed();
        self.recorders.changes.notify(Change::Resized, job);
        true
    }

    pub(super) fn check_resizable(&self, job: u32, tasks: usize) -> Result<(), Refusal> {
        self.check_job(job)?;
        let carried = self.view().application_job(job);
        let Some(carried) =
            carried.filter(|carried| carried.application.is_some() && carried.job_type != JobType::Rigid)
        else {
            return Err(Refusal::Rigid(job));
        };
        self.check_state(job, JobState::Running, "running")?;
        if self.state.started.contains(&job) {
            return Err(Refusal::StartsNow(job));
        }
        if self.is_ending(job) {
            return Err(Refusal::EndsNow(job));
        }
        // An event may have stopped its application at this instant.
        if self.applications().is_none_or(|running| running.ranks(job).is_empty()) {
            return Err(Refusal::RunIsOver(job));
        }
        let point = self.applications().and_then(|running| running.scheduling_point(job));
        let asks = point.is_some_and(|point| point.requested_tasks.is_some());
        if !(carried.job_type.is_malleable() || (carried.job_type.is_evolving() && asks)) {
            return Err(Refusal::NotAsking(job));
        }
        let (least, most) = (carried.tasks_min, carried.tasks_max);
        if tasks < least as usize || tasks > most as usize {
            return Err(Refusal::BadSize { job, tasks: tasks as u64, least, most });
        }
        Ok(())
    }

    fn no_room(&self, job: u32, held: &[NodeTasks]) -> Refusal {
        let request = match self.check_set(job, held) {
            Ok(request) => request,
            Err(refusal) => return refusal,
        };
        let expansion = self.view().expansion(job);
        let slots = |node| expansion.tasks_on(node) + expansion.slots(node, request);
        let full = held.iter().find(|part| slots(part.node) < part.tasks).unwrap_or(&held[0]);
        Refusal::NoRoom { job, node: full.node, tasks: full.tasks, slots: slots(full.node) }
    }
}

/// Return the allocation while `now` becomes `next`: the maximum of both on every node.
fn union(now: &[NodeTasks], next: &[NodeTasks]) -> Vec<NodeTasks> {
    let mut most: BTreeMap<u32, u32> = now.iter().map(|part| (part.node, part.tasks)).collect();
    for part in next {
        let tasks = most.entry(part.node).or_default();
        *tasks = (*tasks).max(part.tasks);
    }
    most.into_iter().map(|(node, tasks)| NodeTasks { node, tasks }).collect()
}
