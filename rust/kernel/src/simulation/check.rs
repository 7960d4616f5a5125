//! Checks of decisions. A check changes nothing.
use crate::cluster::{Availability, NodeTasks, Request};
use crate::workload::JobState;

use super::cursor::LoopState;
use super::{Feed, Refusal, Simulation};

impl<F: Feed> Simulation<F> {
    /// Return whether an external scheduler is deciding now.
    pub(super) fn is_deciding(&self) -> bool {
        self.cursor.at == LoopState::Proposing && self.scheduler.is_external()
    }

    /// Check that an external scheduler may start a queued job now, independently of its nodes.
    pub fn check_startable(&self, job: u32) -> Result<(), Refusal> {
        if !self.scheduler.is_external() {
            return Err(Refusal::DecidesItself);
        }
        if !self.is_deciding() {
            return Err(Refusal::NotDeciding);
        }
        self.check_in_queue(job)
    }

    /// Check that a job is in the queue and not on hold.
    pub(super) fn check_in_queue(&self, job: u32) -> Result<(), Refusal> {
        self.check_state(job, JobState::Queued, "queued")?;
        if self.state.queue.on_hold.contains(&job) { Err(Refusal::OnHold(job)) } else { Ok(()) }
    }

    /// Check that a job may be placed on these nodes now.
    pub fn check_placement(&self, job: u32, placement: &[NodeTasks]) -> Result<(), Refusal> {
        self.check_job(job)?;
        self.check_size(job, placement.iter().map(|part| u64::from(part.tasks)).sum())?;
        check_nodes_differ(job, placement)?;
        for part in placement {
            self.check_node(part.node)?;
        }
        let machine = &self.state.machine;
        let request = self.check_set(job, placement)?;
        if self.scenario.calendar.is_some() {
            let closed = self.view().closed_nodes(job);
            if let Some(part) = placement.iter().find(|part| closed.contains(part.node)) {
                return Err(Refusal::Reserved { job, node: part.node });
            }
        }
        for &NodeTasks { node, tasks } in placement {
            let slots = machine.slots(node, request);
            if slots < tasks {
                return Err(Refusal::NoRoom { job, node, tasks, slots });
            }
        }
        Ok(())
    }

    /// Return the request of a job in its first node set that contains all these nodes.
    pub(super) fn check_set(&self, job: u32, placement: &[NodeTasks]) -> Result<&Request, Refusal> {
        let first = self.scenario.request(job);
        let is_outside = |part: &&NodeTasks| !self.scenario.node_sets.contains(first.nodes, part.node);
        let outside = || placement.iter().find(is_outside).map_or(0, |part| part.node);
        self.view().request_on(job, placement).ok_or_else(|| Refusal::OutsideSet { job, node: outside() })
    }

    /// Check that an allocator's answer places all tasks of the job on allowed nodes with enough slots.
    pub(super) fn check_answer(&self, placement: &[NodeTasks]) -> Result<(), Refusal> {
        let question = self.allocator.as_external().and_then(|allocator| allocator.question());
        let Some(question) = question else { return Err(Refusal::NotDeciding) };
        let job = question.job;
        let placed: u64 = placement.iter().map(|part| u64::from(part.tasks)).sum();
        if placed != u64::from(question.tasks) {
            return Err(Refusal::WrongTasks { job, placed, tasks: question.tasks });
        }
        check_nodes_differ(job, placement)?;
        for &NodeTasks { node, tasks } in placement {
            self.check_node(node)?;
            self.check_set(job, &[NodeTasks { node, tasks }])?;
            let slots = question.slots[node as usize];
            if slots < tasks {
                return Err(Refusal::NoRoom { job, node, tasks, slots });
            }
        }
        Ok(())
    }

    pub(super) fn check_size(&self, job: u32, placed: u64) -> Result<(), Refusal> {
        let (least, most) = self.sizes(job);
        if (u64::from(least)..=u64::from(most)).contains(&placed) {
            return Ok(());
        }
        Err(if least == most {
            Refusal::WrongTasks { job, placed, tasks: least }
        } else {
            Refusal::BadSize { job, tasks: placed, least, most }
        })
    }

    pub(super) fn check_job(&self, job: u32) -> Result<(), Refusal> {
        if (job as usize) < self.state.jobs.len() { Ok(()) } else { Err(Refusal::NoSuchJob(job)) }
    }

    /// Check that a node exists.
    pub fn check_node(&self, node: u32) -> Result<(), Refusal> {
        let nodes = self.state.machine.nodes();
        if node < nodes { Ok(()) } else { Err(Refusal::NoSuchNode { node, nodes }) }
    }

    pub(super) fn check_time(&self, time: f64) -> Result<(), Refusal> {
        let now = self.state.now;
        if time.is_finite() && time >= now { Ok(()) } else { Err(Refusal::BadTime { time, now }) }
    }

    pub(super) fn check_state(
        &self,
        job: u32,
        wanted: JobState,
        needed: &'static str,
    ) -> Result<(), Refusal> {
        self.check_job(job)?;
        let state = self.state.jobs.state(job);
        if state == wanted { Ok(()) } else { Err(Refusal::WrongState { job, state, needed }) }
    }

    /// Check that a running job may be ended or preempted now.
    pub(super) fn check_interruptible(&self, job: u32) -> Result<(), Refusal> {
        if self.state.started.contains(&job) {
            return Err(Refusal::StartsNow(job));
        }
        if self.is_ending(job) { Err(Refusal::EndsNow(job)) } else { Ok(()) }
    }
}

/// Check that a placement names each node once.
pub(super) fn check_nodes_differ(job: u32, placement: &[NodeTasks]) -> Result<(), Refusal> {
    if placement.is_sorted_by(|a, b| a.node < b.node) {
        return Ok(());
    }
    let mut nodes: Vec<u32> = placement.iter().map(|part| part.node).collect();
    nodes.sort_unstable();
    match nodes.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Refusal::NodeTwice { job, node: pair[0] }),
        None => Ok(()),
    }
}
