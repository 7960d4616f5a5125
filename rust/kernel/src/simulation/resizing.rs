//! Resizing: what somebody outside may do to the nodes of a running job, checked and done whole or refused.
use std::collections::BTreeMap;

use crate::application::{JobType, Value};
use crate::cluster::Room;
use crate::record::Change;
use crate::workload::jobs::{Share, State};

use super::applications::{both, shares_of};
use super::{Feed, Refusal, Simulation};

impl<F: Feed> Simulation<F> {
    /// Gives a running job these nodes, one entry per rank: at once where it is at a point, else from the next one on.
    ///
    /// Nodes that it gains are its own from now on. `gpus` is how many GPUs it uses on each, where that changes too.
    pub fn resize_to(&mut self, job: u32, nodes: &[u32], gpus: Option<u32>) -> Result<(), Refusal> {
        self.check_resizable(job, nodes.len())?;
        for &node in nodes {
            self.check_node(node)?;
        }
        let Some(applications) = &self.applications else { return Err(Refusal::Rigid(job)) };
        let then = shares_of(nodes);
        let held = if applications.is_at_point(job) {
            then
        } else {
            both(&shares_of(applications.ranks(job)), &then)
        };
        if self.site.jobs.placement(job) != held && !self.reshape(job, &held) {
            return Err(self.no_room(job, &held));
        }
        if let Some(applications) = &mut self.applications {
            let others = gpus.is_some_and(|gpus| applications.chosen_gpus.insert(job, gpus) != Some(gpus));
            if nodes == applications.ranks(job) && !others {
                applications.wanted.remove(&job);
            } else {
                applications.wanted.insert(job, nodes.to_vec());
            }
        }
        Ok(())
    }

    /// Changes the number of tasks of a running job: it loses its last ranks; or it keeps some that it was to lose at its
    /// next point, and gains such as the allocator chooses.
    pub fn resize(&mut self, job: u32, tasks: u32) -> Result<(), Refusal> {
        self.check_resizable(job, tasks as usize)?;
        let Some(applications) = &self.applications else { return Err(Refusal::Rigid(job)) };
        let mut nodes = applications.last_wanted(job).to_vec();
        let tasks = tasks as usize;
        if nodes.len() < tasks {
            let kept = applications.to_lose(job, &nodes);
            nodes.extend(kept);
        }
        let more = tasks.saturating_sub(nodes.len()) as u32;
        nodes.truncate(tasks);
        if more > 0 {
            let mut shares = Vec::new();
            if !self.site.place_tasks_now(job, more, &mut shares) {
                return Err(Refusal::NoRoomToGrow { job, more });
            }
            nodes.extend(shares.iter().flat_map(|share| (0..share.tasks).map(|_| share.node)));
        }
        self.resize_to(job, &nodes, None)
    }

    /// How many more tasks of a job, up to `most`, there is room for now: what it was to lose counts.
    #[must_use]
    pub fn room(&self, job: u32, most: u32) -> u32 {
        let applications = self.applications.as_ref();
        let kept =
            applications.map_or(0, |running| running.to_lose(job, running.last_wanted(job)).len() as u32);
        kept.min(most) + self.site.room(job, most.saturating_sub(kept))
    }

    /// Sets arguments that formulas see from the next start or resizing of a job on.
    pub fn set_runtime_arguments(
        &mut self,
        job: u32,
        arguments: BTreeMap<String, Value>,
    ) -> Result<(), Refusal> {
        self.check_job(job)?;
        match &mut self.applications {
            Some(applications) if applications.runs(job) => {
                applications.execution.set_runtime_arguments(job, arguments);
                Ok(())
            }
            _ => Err(Refusal::NoApplication(job)),
        }
    }

    pub(super) fn reshape(&mut self, job: u32, shares: &[Share]) -> bool {
        let before = self.applications.as_ref().map(|applications| applications.resizes.job.len());
        if let Some(applications) = &mut self.applications {
            applications.resizes.add(&self.site, job, self.site.jobs.since(job));
        }
        if !self.site.reshape(job, shares) {
            if let (Some(applications), Some(before)) = (&mut self.applications, before) {
                applications.resizes.truncate(before, self.site.machine.resources());
            }
            return false;
        }
        self.nodes_changed();
        self.tell(Change::Resized, job);
        true
    }

    pub(super) fn check_resizable(&self, job: u32, tasks: usize) -> Result<(), Refusal> {
        self.check_job(job)?;
        let elastic = self.applications.as_ref().and_then(|applications| {
            let asks = |&(other, asks_for): &(u32, Option<u32>)| other == job && asks_for.is_some();
            applications.of(job).map(|elastic| (elastic, applications.at_point.iter().any(asks)))
        });
        let Some((elastic, asks)) = elastic
            .filter(|(elastic, _)| elastic.application.is_some() && elastic.job_type != JobType::Rigid)
        else {
            return Err(Refusal::Rigid(job));
        };
        self.check_state(job, State::Running, "running")?;
        if self.site.started.contains(&job) {
            return Err(Refusal::StartsNow(job));
        }
        let may = elastic.job_type.is_malleable() || (elastic.job_type.is_evolving() && asks);
        if !may {
            return Err(Refusal::NotAsking(job));
        }
        let (least, most) = (elastic.tasks_min, elastic.tasks_max);
        if tasks < least as usize || tasks > most as usize {
            return Err(Refusal::BadSize { job, tasks: tasks as u64, least, most });
        }
        Ok(())
    }

    fn no_room(&self, job: u32, held: &[Share]) -> Refusal {
        let (beside, request) = (self.site.beside(job), self.site.request(job));
        let slots = |node| beside.tasks_on(node) + beside.slots(node, request);
        let full = held.iter().find(|share| slots(share.node) < share.tasks).unwrap_or(&held[0]);
        if !self.site.may_use(job, full.node) {
            return Refusal::OutsideSet { job, node: full.node };
        }
        Refusal::NoRoom { job, node: full.node, tasks: full.tasks, slots: slots(full.node) }
    }
}
