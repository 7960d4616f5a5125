//! The scenario of a run: what is given and never changes, shared by all forks of a simulation.
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::accounting::{Accounts, Limits};
use crate::application::ApplicationJob;
use crate::cluster::{Calendar, NodeSets, NodeTasks, Request, Requests, SleepRules};
use crate::control::RateControl;
use crate::platform::Fabric;
use crate::workload::{Attributes, Conditions, Job, PreemptionRules, TimedEvent, value_of};

/// What happens to a job that reaches its requested time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WallTime {
    /// It runs on: every job runs its run_time.
    #[default]
    Run,
    /// It is killed.
    Kill,
}

impl WallTime {
    /// All rules, by their names.
    pub const NAMES: [(&str, Self); 2] = [("run", Self::Run), ("kill", Self::Kill)];
}

/// What a job is checked for at its submission; one that does not pass is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobCheck {
    /// Whether it fits on the nodes of its set, all of them empty.
    #[default]
    Nodes,
    /// Whether these have as much in all, however it is spread.
    Total,
    /// Nothing: a job that can never start waits for ever.
    None,
}

impl JobCheck {
    /// All checks, by their names.
    pub const NAMES: [(&str, Self); 3] =
        [("nodes", Self::Nodes), ("total", Self::Total), ("none", Self::None)];
}

/// Seconds that a job spends on its nodes before and after its run; its nodes are taken all the while (S17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// From the start of the job to the begin of its run.
    pub launch: f64,
    /// From the end of its run to the release of its nodes.
    pub completion: f64,
    /// From the decision to suspend it to the release of its nodes.
    pub suspend: f64,
    /// How much longer a launch takes after which it goes on with work that it kept.
    pub resume: f64,
}

/// The overheads of all jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overheads {
    /// By slot.
    pub of_job: Vec<Overhead>,
    /// Whether a job's limit counts them.
    pub counted: bool,
    /// Whether accounts are charged for them.
    pub billed: bool,
}

impl Overheads {
    /// Sets those of a slot that a streamed run uses, which is new or was vacated.
    pub fn put(&mut self, slot: u32, overhead: Overhead) {
        match self.of_job.get_mut(slot as usize) {
            Some(own) => *own = overhead,
            None => self.of_job.push(overhead),
        }
    }
}

/// At which rates nodes serve jobs (S19).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// The controls.
    pub controls: Vec<RateControl>,
    /// The control of each node, from 1; 0 where it is served at rate 1. Empty where the first control has all nodes.
    pub control_of_node: Vec<u32>,
    /// The processors of the nodes of each control; empty where none is a governor.
    pub processors: Vec<f64>,
}

impl Service {
    /// The control of a node; None where it is served at rate 1.
    #[must_use]
    pub fn control_of(&self, node: u32) -> Option<u32> {
        match self.control_of_node.get(node as usize) {
            None => Some(0),
            Some(control) => control.checked_sub(1),
        }
    }

    /// At which rates a node may serve jobs by its control, as far as they are known; 1 where it has none.
    #[must_use]
    pub fn rates_of(&self, node: u32) -> Vec<f64> {
        match self.control_of(node).and_then(|control| self.controls.get(control as usize)) {
            None => vec![1.0],
            Some(control) if control.may_change() => control.rates.clone(),
            Some(control) => vec![control.rates[control.first]],
        }
    }

    /// The controls of some nodes, in ascending order; a number beyond all stands for nodes that have none.
    #[must_use]
    pub fn controls_of(&self, placement: &[NodeTasks]) -> Vec<u32> {
        if self.control_of_node.is_empty() {
            return vec![0];
        }
        let mut found: Vec<u32> =
            placement.iter().map(|part| self.control_of(part.node).unwrap_or(u32::MAX)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The jobs that carry applications, and the hosts of the nodes on the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationJobs {
    /// By slot.
    pub jobs: Vec<ApplicationJob>,
    /// The host of each node.
    pub hosts: Vec<u32>,
    /// The resource that counts GPUs, if there is one.
    pub gpus: Option<usize>,
    /// Where the nodes are in their network, where ranks are mapped.
    pub fabric: Option<Fabric>,
}

impl ApplicationJobs {
    /// The hosts of nodes, one per entry.
    #[must_use]
    pub fn hosts_of(&self, nodes: &[u32]) -> Vec<u32> {
        nodes.iter().map(|&node| self.hosts[node as usize]).collect()
    }
}

/// The jobs that may run in several sets of nodes, and their requests in each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Alternatives {
    /// By slot: the place of its list, from 1; 0 where it has its one request only. Empty where that is so of all.
    of_job: Vec<u32>,
    /// Requests that differ in their sets of nodes.
    lists: Vec<Vec<u32>>,
}

impl Alternatives {
    /// `lists` of requests, and for each slot the place of its list, from 1, or 0.
    #[must_use]
    pub fn new(of_job: Vec<u32>, lists: Vec<Vec<u32>>) -> Self {
        if lists.is_empty() { Self::default() } else { Self { of_job, lists } }
    }

    /// The number of a job's list, from 1; 0 where it has its one request only.
    #[must_use]
    pub fn list_of(&self, slot: u32) -> u32 {
        self.of_job.get(slot as usize).copied().unwrap_or_default()
    }

    /// The requests of a job that has several.
    fn of(&self, slot: u32) -> Option<&[u32]> {
        self.lists.get((self.list_of(slot) as usize).checked_sub(1)?).map(Vec::as_slice)
    }
}

/// What is given of a run. A streamed run adds jobs as it reads them, and is never forked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scenario {
    /// When the first job is submitted, seconds: the origin of all that is integrated, averaged or done in intervals (S1). Set by
    /// the simulation, which asks its feed.
    pub first_submission: f64,
    /// The jobs, by slot: the row of the workload, or a slot that a streamed run uses again.
    pub jobs: Vec<Job>,
    /// Further columns for formulas: one value per slot, or none.
    pub columns: Vec<Vec<f64>>,
    /// What tasks ask.
    pub requests: Requests,
    /// The sets of nodes that requests name.
    pub node_sets: Arc<NodeSets>,
    /// The requests of jobs that may run in several sets of nodes.
    pub alternatives: Alternatives,
    /// What jobs are called and belong to, where anything asks for it.
    pub attributes: Attributes,
    /// What jobs are charged to; None where nothing asks for it.
    pub accounts: Option<Box<Accounts>>,
    /// The resource that counts as processors, if there is one.
    pub core: Option<usize>,
    /// What happens to a job that reaches its requested time.
    pub wall_time: WallTime,
    /// What a job is checked for at its submission.
    pub job_check: JobCheck,
    /// What jobs wait for before they enter the queue; None where none does.
    pub conditions: Option<Box<Conditions>>,
    /// The jobs that carry applications; None where there are none.
    pub applications: Option<ApplicationJobs>,
    /// What jobs may have at a time; None where nothing is limited.
    pub limits: Option<Box<Limits>>,
    /// Which jobs may preempt which; None where none may.
    pub preemption: Option<Box<PreemptionRules>>,
    /// When which nodes are reserved; None where there are no reservations.
    pub calendar: Option<Box<Calendar>>,
    /// What jobs spend on their nodes besides their runs; None where they spend nothing.
    pub overheads: Option<Box<Overheads>>,
    /// At which rates nodes serve jobs; None where all serve at rate 1.
    pub service: Option<Box<Service>>,
    /// The sleep states of the nodes, and by which rules they sleep; None where none does.
    pub sleep: Option<Box<SleepRules>>,
    /// The external events, by time; empty where there are none, or where the feed reads them.
    pub events: Vec<TimedEvent>,
    /// What identifies it, once it was asked for.
    #[serde(skip)]
    pub(crate) digest: OnceLock<[u8; 32]>,
}

impl Scenario {
    /// A scenario of these jobs; `columns` are further values, one per job each.
    #[must_use]
    pub fn new(jobs: Vec<Job>, columns: Vec<Vec<f64>>, requests: Requests, node_sets: Arc<NodeSets>) -> Self {
        Self { jobs, columns, requests, node_sets, ..Self::default() }
    }

    /// The job in a slot.
    #[must_use]
    pub fn job(&self, slot: u32) -> &Job {
        &self.jobs[slot as usize]
    }

    /// What each task of a job asks.
    #[must_use]
    pub fn request(&self, slot: u32) -> &Request {
        self.requests.get(self.job(slot).request)
    }

    /// The requests of a job, one for each set of nodes that it may run in, in the order in which they are tried.
    #[must_use]
    pub fn alternatives(&self, slot: u32) -> &[u32] {
        self.alternatives.of(slot).unwrap_or_else(|| std::slice::from_ref(&self.job(slot).request))
    }

    /// What each task of a job asks, in the first of its node sets that has all these nodes; None where none has.
    #[must_use]
    pub fn request_on(&self, slot: u32, placement: &[NodeTasks]) -> Option<&Request> {
        let mut requests = self.alternatives(slot).iter().map(|&request| self.requests.get(request));
        let has = |set, part: &NodeTasks| self.node_sets.contains(set, part.node);
        requests.find(|request| placement.iter().all(|part| has(request.nodes, part)))
    }

    /// The amount of a resource that a job needs at least.
    #[must_use]
    pub fn need(&self, slot: u32, resource: usize) -> i64 {
        let job = self.job(slot);
        self.requests.get(job.request).need(resource, job.tasks)
    }

    /// The processors of a job: its cores, or its tasks where no resource counts as processors.
    #[must_use]
    pub fn processors(&self, slot: u32) -> f64 {
        match self.core {
            Some(core) => self.need(slot, core) as f64,
            None => f64::from(self.job(slot).tasks),
        }
    }

    /// The resource that counts servers: `core`, or the first one.
    #[must_use]
    pub fn server(&self) -> usize {
        self.core.unwrap_or(0)
    }

    /// The servers of a job: what it asks for of the resource that counts them.
    #[must_use]
    pub fn servers(&self, slot: u32) -> i64 {
        self.need(slot, self.server())
    }

    /// Lets jobs of one list of counters also have the same factors of the multifactor priority, but for their ages and what
    /// they ask for: so their order stays. O(jobs).
    pub fn split_limits_by_factors(&mut self) {
        let Self { limits: Some(limits), attributes, accounts, .. } = self else { return };
        let mut columns = vec![&attributes.nodes];
        if let Some(factors) = &attributes.factors {
            columns.extend([&factors.association, &factors.partition, &factors.qos, &factors.nice]);
            columns.extend(&factors.resources);
        }
        for column in columns.into_iter().filter(|column| !column.is_empty()) {
            limits.split_lists(|slot| value_of(column, slot).to_bits());
        }
        if let Some(accounts) = accounts {
            limits.split_lists(|slot| accounts.node(slot).map_or(0, |node| u64::from(node) + 1));
        }
    }

    /// A further column's value.
    #[must_use]
    pub fn column(&self, column: usize, slot: u32) -> f64 {
        self.columns[column][slot as usize]
    }

    /// Whether accounts are charged for a job's run only.
    #[must_use]
    pub fn bills_runs_only(&self) -> bool {
        self.overheads.as_ref().is_some_and(|overheads| !overheads.billed)
    }

    /// What a job carries besides its row, where jobs carry applications.
    #[must_use]
    pub fn application_job(&self, slot: u32) -> Option<&ApplicationJob> {
        self.applications.as_ref().and_then(|given| given.jobs.get(slot as usize))
    }

    /// Sets the job of a slot that a streamed run uses, which is new or was vacated.
    pub fn put(&mut self, slot: u32, job: Job, columns: &[f64]) {
        if self.columns.len() < columns.len() {
            self.columns.resize(columns.len(), Vec::new());
        }
        let at = slot as usize;
        if at == self.jobs.len() {
            self.jobs.push(job);
            for (column, value) in self.columns.iter_mut().zip(columns) {
                column.push(*value);
            }
        } else {
            self.jobs[at] = job;
            for (column, value) in self.columns.iter_mut().zip(columns) {
                column[at] = *value;
            }
        }
    }
}
