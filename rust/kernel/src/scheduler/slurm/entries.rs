//! Conversion of a simulation's jobs into queue entries and holdings of the controller.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeSets, NodeTasks, Request};
use crate::index::NodeBits;
use crate::scenario::Scenario;
use crate::slurm::{
    Allotment, Amounts, Entry, GenericAmounts, GenericRequest, Held, Memory, Partition, Select, Setup,
};
use crate::state::{JobRecords, View};
use crate::workload::Job;

use super::relations;
use super::settings::SlurmSettings;
use super::time_limits::{TimeLimits, whole_minutes};

/// Time limit, seconds, of a job without one.
const YEAR: f64 = 365.0 * 86_400.0;

/// Mapping from a simulation's jobs and nodes to the controller's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    core: Option<usize>,
    memory: Option<usize>,
    /// The other resources; each is a generic resource (GRES).
    generic: Vec<usize>,
    gpu: Option<usize>,
    select: Select,
    /// By request: how its tasks fill nodes, once computed.
    suitable_nodes: Vec<Option<SuitableNodes>>,
    pub(super) time_limits: TimeLimits,
}

/// How the tasks of a request fill idle nodes of its set.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SuitableNodes {
    /// Tasks per node, on nodes that take any.
    tasks: u32,
    /// Suitable nodes: nodes with the requested features and, for whole nodes, those that take any tasks. None if all
    /// nodes of the partition are suitable.
    suitable: Option<Arc<NodeBits>>,
}

impl Description {
    pub(super) fn new(settings: &SlurmSettings, resources: usize, seed: u64) -> Self {
        let SlurmSettings { ref parameters, core, memory, gpu, .. } = *settings;
        let select = parameters.select;
        let is_generic = |&resource: &usize| ![core, memory].contains(&Some(resource));
        // Jobs get whole nodes with all their resources: generic resources need not be counted.
        let generic = match select {
            Select::Linear => Vec::new(),
            Select::Cores => (0..resources).filter(is_generic).collect(),
        };
        let time_limits = TimeLimits::new(parameters, seed);
        Self { core, memory, generic, gpu, select, suitable_nodes: Vec::new(), time_limits }
    }

    /// Return the index of the generic resource that counts GPUs.
    pub(super) fn gpu_kind(&self) -> Option<usize> {
        self.generic.iter().position(|&resource| Some(resource) == self.gpu)
    }

    /// Return the nodes and partitions of a machine: each node set is a partition.
    pub(super) fn machine(
        &self,
        resources: usize,
        capacity: &[i64],
        node_sets: &NodeSets,
    ) -> (Vec<Amounts>, GenericAmounts, Vec<Partition>) {
        let amounts = |node: &[i64]| self.amounts(node, 1);
        let nodes: Vec<Amounts> = capacity.chunks_exact(resources).map(amounts).collect();
        let generic = capacity.chunks_exact(resources).flat_map(|node| self.generic_of(node)).collect();
        let generic = GenericAmounts::new(self.generic.len(), generic);
        let partition = |set| {
            let members = NodeBits::of(nodes.len(), node_sets.nodes_from(set, 0));
            Partition { nodes: members, most_nodes: nodes.len() as u32 }
        };
        let partitions = node_sets.ids().map(partition).collect();
        (nodes, generic, partitions)
    }

    /// Return the generic resources among these amounts.
    fn generic_of<'a>(&'a self, amounts: &'a [i64]) -> impl Iterator<Item = i64> + 'a {
        self.generic.iter().map(|&resource| amounts[resource])
    }

    /// Return the generic resources that a task requests.
    fn generic_request(&self, asked: &Request) -> GenericRequest {
        if self.generic_of(&asked.amounts).all(|amount| amount == 0) {
            return GenericRequest::NOTHING;
        }
        GenericRequest::PerTask(self.generic_of(&asked.amounts).collect())
    }

    /// Convert amounts of a node, or per-task amounts times a number of tasks, to CPUs and memory.
    fn amounts(&self, amounts: &[i64], tasks: u32) -> Amounts {
        let of = |resource: Option<usize>| resource.map(|resource| amounts[resource] * i64::from(tasks));
        Amounts { cpus: of(self.core).unwrap_or(i64::from(tasks)), memory: of(self.memory).unwrap_or(0) }
    }

    /// Return whether a job gets whole nodes.
    fn gives_whole_nodes(&self, asked: &Request) -> bool {
        self.select == Select::Linear || asked.exclusive
    }

    fn cpus_per_task(&self, request: &Request) -> u32 {
        self.core.map_or(1, |core| request.amounts[core].max(1) as u32)
    }

    fn memory_of(&self, request: &Request) -> Memory {
        let memory = self.memory.map_or(0, |memory| request.amounts[memory]);
        Memory::PerCpu(memory / i64::from(self.cpus_per_task(request)))
    }

    /// Return how tasks of a request fill nodes of its set. For whole nodes, all nodes that take any tasks take the
    /// same number.
    fn suitable_nodes(&mut self, view: View<'_>, request: u32) -> &SuitableNodes {
        let place = request as usize;
        if place >= self.suitable_nodes.len() {
            self.suitable_nodes.resize(place + 1, None);
        }
        let is_whole = self.gives_whole_nodes(view.scenario.requests.get(request));
        self.suitable_nodes[place].get_or_insert_with(|| SuitableNodes::of(view, request, is_whole))
    }

    fn tasks_of_node(&mut self, view: View<'_>, request: u32) -> u32 {
        self.suitable_nodes(view, request).tasks
    }

    /// Create the queue entry of a waiting job in one of its partitions, without preemption.
    pub(super) fn entry(&mut self, view: View<'_>, job: u32, request: u32) -> Entry {
        let Job { row, tasks, .. } = *view.scenario.job(job);
        let asked = view.scenario.requests.get(request);
        let has_whole_nodes = self.gives_whole_nodes(asked);
        let per_node = if has_whole_nodes { 0 } else { asked.tasks_per_node.min(tasks) };
        let nodes = match per_node {
            0 if has_whole_nodes => tasks.div_ceil(self.tasks_of_node(view, request)),
            0 => 0,
            tasks_per_node => tasks.div_ceil(tasks_per_node),
        };
        Entry {
            job,
            row,
            partition: asked.partition.index(),
            limit: limit(view, job),
            nodes,
            tasks,
            cpus_per_task: self.cpus_per_task(asked),
            tasks_per_node: per_node,
            memory: self.memory_of(asked),
            generic: self.generic_request(asked),
            exclusive: asked.exclusive,
            suitable: if has_whole_nodes || asked.nodes != asked.partition {
                self.suitable_nodes(view, request).suitable.clone()
            } else {
                None
            },
            limits: relations::limits(view, job),
            classes: relations::classes(view.scenario, job),
            may_preempt: false,
            reservation: used_by(view.scenario, job),
            owner: relations::owner(view.scenario, job),
            priority: 0.0,
            eligible: f64::NEG_INFINITY,
        }
    }

    /// Distribute the tasks of a job to its nodes: as many to each as its CPUs allow, the rest to the last one.
    pub(super) fn placement(
        &mut self,
        view: View<'_>,
        job: u32,
        request: u32,
        chosen: &[Allotment],
    ) -> Vec<NodeTasks> {
        let asked = view.scenario.requests.get(request);
        let has_whole_nodes = self.gives_whole_nodes(asked);
        let per_task = i64::from(self.cpus_per_task(asked));
        let mut left = view.scenario.job(job).tasks;
        let of_node = if has_whole_nodes { self.tasks_of_node(view, request) } else { 0 };
        let tasks_on = |each: &Allotment| {
            let room = if has_whole_nodes { of_node } else { (each.cpus / per_task) as u32 };
            let tasks = room.min(left);
            left -= tasks;
            NodeTasks { node: each.node, tasks }
        };
        chosen.iter().map(tasks_on).filter(|part| part.tasks > 0).collect()
    }

    /// Return what a running job holds, and until when. Whether it may be preempted is set later.
    pub(super) fn held(&self, view: View<'_>, job: u32, setup: &Setup) -> Held {
        let asked = view.scenario.request(job);
        let allot = |part: &NodeTasks| {
            let all = setup.machine[part.node as usize];
            let tasks = self.amounts(&asked.amounts, part.tasks);
            let own = match (self.select, asked.exclusive) {
                (Select::Linear, _) => all,
                (Select::Cores, true) => {
                    Amounts { cpus: all.cpus, memory: self.memory_of(asked).with(all.cpus) }
                }
                (Select::Cores, false) => Amounts { cpus: tasks.cpus.max(i64::from(part.tasks)), ..tasks },
            };
            Allotment { node: part.node, cpus: own.cpus, memory: own.memory }
        };
        let placement = view.state.jobs.placement_by_index(job);
        let end = view.state.jobs.start_time(job).floor() + limit(view, job);
        let row = view.scenario.job(job).row;
        let held = Held::new(job, row, end, placement.iter().map(allot).collect());
        let tasks = placement.iter().map(|part| (part.node, i64::from(part.tasks)));
        let generic = setup.generic_taken(&self.generic_request(asked), asked.exclusive, tasks);
        let held = held.with_generic(generic);
        let held = held.of(relations::classes(view.scenario, job), None).late_by(self.time_limits.over(job));
        match self.time_limits.notice_end(job) {
            Some(end) => held.noticed_until(end),
            None => held,
        }
    }

    /// Mark jobs as chosen for preemption. Return those that leave their nodes now: jobs without grace time, or already
    /// in it. For the others the grace time begins.
    pub(super) fn notice(&mut self, view: View<'_>, jobs: &[u32]) -> Vec<u32> {
        let grace_time = view.scenario.preemption.as_ref().map_or(0.0, |rules| rules.grace_time);
        let mut leaving = Vec::new();
        for &job in jobs {
            if grace_time > 0.0 && self.time_limits.notice_end(job).is_none() {
                let limit = view.state.jobs.start_time(job).floor() + limit(view, job);
                self.time_limits.notice(job, limit.min(view.now().floor() + grace_time));
            } else {
                leaving.push(job);
            }
        }
        self.time_limits.forget_notices(&leaving);
        leaving
    }

    /// Return why the rule cannot schedule these jobs, or None if it can.
    pub(super) fn refusal(
        &self,
        scenario: &Scenario,
        jobs: &JobRecords,
        machine: &[Amounts],
        capacity: &[i64],
    ) -> Option<String> {
        if let Some(row) = flexible_job(scenario) {
            return Some(format!(
                "the job of row {row} may use nodes beyond its reservation, which slurm does not model yet"
            ));
        }
        let wider = capacity.len() / machine.len().max(1);
        let mut checked = vec![false; 0];
        for slot in (0..scenario.jobs.len() as u32).filter(|&slot| jobs.rejection(slot).is_none()) {
            for &request in scenario.alternatives(slot) {
                let asked = scenario.requests.get(request);
                let tasks = scenario.job(slot).tasks;
                if let Some(reason) = self.uneven(asked, tasks) {
                    return Some(format!("the job of row {}: {reason}", scenario.job(slot).row));
                }
                let place = request as usize;
                if place >= checked.len() {
                    checked.resize(place + 1, false);
                }
                if std::mem::replace(&mut checked[place], true) {
                    continue;
                }
                if let Some(reason) = self.unlike(scenario, asked, capacity, wider) {
                    return Some(format!("the job of row {}: {reason}", scenario.job(slot).row));
                }
            }
        }
        None
    }

    /// Return why a job with this number of tasks is not supported, or None.
    fn uneven(&self, asked: &Request, tasks: u32) -> Option<String> {
        let per_node = asked.tasks_per_node.min(tasks);
        let is_shared = !self.gives_whole_nodes(asked);
        (is_shared && per_node > 0 && !tasks.is_multiple_of(per_node)).then(|| {
            format!("{tasks} tasks at {per_node} per node; under select=cores they must fill their nodes")
        })
    }

    /// Return why a request is not supported, or None.
    fn unlike(
        &self,
        scenario: &Scenario,
        asked: &Request,
        capacity: &[i64],
        resources: usize,
    ) -> Option<String> {
        let per_task = i64::from(self.cpus_per_task(asked));
        let memory = self.memory.map_or(0, |memory| asked.amounts[memory]);
        if self.select == Select::Cores && memory % per_task != 0 {
            return Some(format!(
                "{memory} of mem for a task of {per_task} cores; under select=cores it must be a multiple, as Slurm counts \
                 memory per CPU"
            ));
        }
        if self.gives_whole_nodes(asked) {
            let nodes = scenario.node_sets.nodes_from(asked.nodes, 0);
            let slots = |node: u32| {
                let from = node as usize * resources;
                asked.slots(&capacity[from..from + resources], true)
            };
            let found: Vec<u32> = nodes.map(slots).filter(|&slots| slots > 0).collect();
            if found.iter().any(|&slots| slots != found[0]) {
                return Some(
                    "its nodes take different numbers of its tasks; whole nodes must be alike in its partition, or take \
                     none"
                    .into(),
                );
            }
        }
        None
    }
}

impl SuitableNodes {
    /// Compute the filling of a request for whole nodes or for shared nodes.
    fn of(view: View<'_>, request: u32, is_whole: bool) -> Self {
        let (machine, wanted) = (&view.state.machine, view.scenario.requests.get(request));
        let nodes = || view.scenario.node_sets.nodes_from(wanted.nodes, 0);
        let slots = |node: u32| wanted.slots(machine.capacity_of(node), true);
        let is_suitable = |&node: &u32| !is_whole || slots(node) > 0;
        let has_all = wanted.nodes == wanted.partition && nodes().all(|node| is_suitable(&node));
        let suitable = || NodeBits::of(machine.nodes() as usize, nodes().filter(is_suitable));
        Self {
            tasks: nodes().map(slots).max().unwrap_or(0).max(1),
            suitable: (!has_all).then(|| Arc::new(suitable())),
        }
    }
}

/// Return the number of the reservation that a job uses.
pub(super) fn used_by(scenario: &Scenario, job: u32) -> Option<usize> {
    scenario.calendar.as_deref()?.used_by(job).map(|number| number as usize)
}

/// Return the row of the first job that may use nodes outside its reservation.
fn flexible_job(scenario: &Scenario) -> Option<usize> {
    let known = scenario.calendar.as_deref()?.occurrences();
    let is_flexible = |&slot: &u32| {
        let Some(own) = used_by(scenario, slot) else { return false };
        let mut requests = scenario.alternatives(slot).iter();
        requests.any(|&request| {
            let set = scenario.requests.get(request).nodes;
            scenario.node_sets.nodes_from(set, 0).any(|node| !known.nodes(own).contains(node))
        })
    };
    (0..scenario.jobs.len() as u32).find(is_flexible).map(|slot| scenario.job(slot).row as usize)
}

/// Return the time limit of a job, seconds, in whole minutes as in Slurm.
pub(super) fn limit(view: View<'_>, job: u32) -> f64 {
    let estimate = view.state.jobs.estimate(job);
    if estimate.is_finite() { whole_minutes(estimate) } else { YEAR }
}

/// Return the nodes that accept jobs: those with their full capacity available.
pub(super) fn available(view: View<'_>, nodes: usize) -> NodeBits {
    let machine = &view.state.machine;
    if !machine.has_unavailable() {
        return NodeBits::full(nodes);
    }
    NodeBits::of(nodes, (0..nodes as u32).filter(|&node| machine.offers_all(node)))
}
