//! The scenario of a run: its immutable input, shared by all forks of a simulation.
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::accounting::{Accounts, Limits};
use crate::application::{ApplicationJob, ApplicationJobs};
use crate::cluster::{Calendar, NodeSets, NodeTasks, Request, Requests, SleepRules};
use crate::control::Service;
use crate::workload::{Attributes, Conditions, Job, PreemptionRules, TimedEvent, value_of};

/// The rule for a job that reaches its requested time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum WallTime {
    /// The job continues: every job runs its run_time.
    #[default]
    Run,
    /// The job is killed.
    Kill,
}

impl WallTime {
    /// All rules, by their names.
    pub const NAMES: [(&str, Self); 2] = [("run", Self::Run), ("kill", Self::Kill)];
}

/// The check of a job at its submission; a job that does not pass is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobCheck {
    /// The job must fit on the nodes of its set without other jobs.
    #[default]
    Nodes,
    /// The total capacity of these nodes must suffice.
    Total,
    /// No check: a job that can never start waits until the end of the run.
    None,
}

impl JobCheck {
    /// All checks with their names.
    pub const NAMES: [(&str, Self); 3] =
        [("nodes", Self::Nodes), ("total", Self::Total), ("none", Self::None)];
}

/// Seconds that a job spends on its nodes before and after its run, while it holds them (S17).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// From the start of the job to the begin of its run.
    pub launch: f64,
    /// From the end of its run to the release of its nodes.
    pub completion: f64,
    /// From the decision to suspend it to the release of its nodes.
    pub suspend: f64,
    /// Additional time of a launch after which the job continues work that it kept.
    pub resume: f64,
}

/// The overheads of all jobs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overheads {
    /// By slot.
    pub of_job: Vec<Overhead>,
    /// True if time limits include overheads.
    pub counted: bool,
    /// True if accounts are charged for overheads.
    pub billed: bool,
}

impl Overheads {
    /// Sets the overheads of a slot of a streamed run, which is new or was vacated.
    pub fn put(&mut self, slot: u32, overhead: Overhead) {
        match self.of_job.get_mut(slot as usize) {
            Some(own) => *own = overhead,
            None => self.of_job.push(overhead),
        }
    }
}

/// The jobs that may run in several node sets, and their requests in each.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Alternatives {
    /// By slot: 1 + the index of its list; 0 if it has one request only. Empty if all jobs have one request only.
    of_job: Vec<u32>,
    /// Lists of requests that differ in their node sets.
    lists: Vec<Vec<u32>>,
}

impl Alternatives {
    /// Creates alternatives from `lists` of requests and, for each slot, 1 + the index of its list, or 0.
    #[must_use]
    pub fn new(of_job: Vec<u32>, lists: Vec<Vec<u32>>) -> Self {
        if lists.is_empty() { Self::default() } else { Self { of_job, lists } }
    }

    /// 1 + the index of a job's list; 0 if it has one request only.
    #[must_use]
    pub fn list_of(&self, slot: u32) -> u32 {
        self.of_job.get(slot as usize).copied().unwrap_or_default()
    }

    /// The requests of a job that has several.
    fn of(&self, slot: u32) -> Option<&[u32]> {
        self.lists.get((self.list_of(slot) as usize).checked_sub(1)?).map(Vec::as_slice)
    }
}

/// The input of a run. A streamed run adds jobs while it reads them, and is never forked.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Scenario {
    /// Submit time of the first job, seconds: the origin of integrals, averages and intervals (S1). Set by the
    /// simulation from its feed.
    pub first_submission: f64,
    /// The jobs by slot: the row of the workload, or a slot that a streamed run reuses.
    pub jobs: Vec<Job>,
    /// Further columns for formulas: one value per slot, or empty.
    pub columns: Vec<Vec<f64>>,
    /// The requests of tasks.
    pub requests: Requests,
    /// The node sets of requests.
    pub node_sets: Arc<NodeSets>,
    /// The requests of jobs that may run in several node sets.
    pub alternatives: Alternatives,
    /// Names and groups of jobs as numbers, if anything uses them.
    pub attributes: Attributes,
    /// The accounts that jobs are charged to; None if nothing uses them.
    pub accounts: Option<Box<Accounts>>,
    /// The resource that counts as processors, if there is one.
    pub core: Option<usize>,
    /// The rule for jobs that reach their requested time.
    pub wall_time: WallTime,
    /// The check of a job at its submission.
    pub job_check: JobCheck,
    /// The conditions before jobs enter the queue; None if no job has any.
    pub conditions: Option<Box<Conditions>>,
    /// The jobs with applications; None if no job has one.
    pub applications: Option<ApplicationJobs>,
    /// The limits of jobs; None if nothing is limited.
    pub limits: Option<Box<Limits>>,
    /// The rules of preemption; None if no job may preempt another.
    pub preemption: Option<Box<PreemptionRules>>,
    /// The reservations; None without reservations.
    pub calendar: Option<Box<Calendar>>,
    /// The overheads of jobs; None without overheads.
    pub overheads: Option<Box<Overheads>>,
    /// The rates at which nodes serve jobs; None if all serve at rate 1.
    pub service: Option<Box<Service>>,
    /// The sleep states of the nodes and their rules; None if no node sleeps.
    pub sleep: Option<Box<SleepRules>>,
    /// The external events in time order; empty without events, or if the feed reads them.
    pub events: Vec<TimedEvent>,
    /// The digest of the scenario, after it was first computed.
    #[serde(skip)]
    pub(crate) digest: OnceLock<[u8; 32]>,
}

impl Scenario {
    /// Creates a scenario of these jobs; `columns` are further values, one per job each.
    #[must_use]
    pub fn new(jobs: Vec<Job>, columns: Vec<Vec<f64>>, requests: Requests, node_sets: Arc<NodeSets>) -> Self {
        Self { jobs, columns, requests, node_sets, ..Self::default() }
    }

    /// Creates a scenario without jobs, on nodes of these amounts of each resource (node-major).
    #[must_use]
    pub fn on_nodes(resources: usize, amounts: &[i64]) -> Self {
        let node_sets = NodeSets::whole((amounts.len() / resources.max(1)) as u32);
        Self::new(Vec::new(), Vec::new(), Requests::new(resources, amounts), Arc::new(node_sets))
    }

    /// The earliest submit time of its jobs, seconds; 0 without jobs. O(jobs).
    #[must_use]
    pub fn earliest_submission(&self) -> f64 {
        self.jobs.iter().map(|job| job.submit_time).reduce(f64::min).unwrap_or_default()
    }

    /// The job in a slot.
    #[must_use]
    pub fn job(&self, slot: u32) -> &Job {
        &self.jobs[slot as usize]
    }

    /// The request of each task of a job.
    #[must_use]
    pub fn request(&self, slot: u32) -> &Request {
        self.requests.get(self.job(slot).request)
    }

    /// The requests of a job, one for each node set that it may run in, in the order of attempts.
    #[must_use]
    pub fn alternatives(&self, slot: u32) -> &[u32] {
        self.alternatives.of(slot).unwrap_or_else(|| std::slice::from_ref(&self.job(slot).request))
    }

    /// The request of each task of a job, in the first of its node sets that contains all these nodes; None if none
    /// does.
    #[must_use]
    pub fn request_on(&self, slot: u32, placement: &[NodeTasks]) -> Option<&Request> {
        self.request_id_on(slot, placement).map(|request| self.requests.get(request))
    }

    /// The id of that request.
    #[must_use]
    pub fn request_id_on(&self, slot: u32, placement: &[NodeTasks]) -> Option<u32> {
        let has = |set, part: &NodeTasks| self.node_sets.contains(set, part.node);
        let has_all =
            |&request: &u32| placement.iter().all(|part| has(self.requests.get(request).nodes, part));
        self.alternatives(slot).iter().copied().find(has_all)
    }

    /// The least amount of a resource that a job needs.
    #[must_use]
    pub fn need(&self, slot: u32, resource: usize) -> i64 {
        let job = self.job(slot);
        self.requests.get(job.request).need(resource, job.tasks)
    }

    /// The processors of a job: its cores, or its tasks if no resource counts as processors.
    #[must_use]
    pub fn processors(&self, slot: u32) -> f64 {
        match self.core {
            Some(core) => self.need(slot, core) as f64,
            None => f64::from(self.job(slot).tasks),
        }
    }

    /// The resource that counts as servers: `core`, or the first one.
    #[must_use]
    pub fn server(&self) -> usize {
        self.core.unwrap_or(0)
    }

    /// The servers of a job: its requested amount of the resource that counts as servers.
    #[must_use]
    pub fn servers(&self, slot: u32) -> i64 {
        self.need(slot, self.server())
    }

    /// Splits the lists of limit counters such that jobs of one list also have the same factors of the multifactor
    /// priority, except age and requested amounts, so that their order never changes. O(jobs).
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

    /// The value of a further column.
    #[must_use]
    pub fn column(&self, column: usize, slot: u32) -> f64 {
        self.columns[column][slot as usize]
    }

    /// Returns whether accounts are charged for the runs of jobs only.
    #[must_use]
    pub fn bills_runs_only(&self) -> bool {
        self.overheads.as_ref().is_some_and(|overheads| !overheads.billed)
    }

    /// The application of a job and its properties, if jobs have applications.
    #[must_use]
    pub fn application_job(&self, slot: u32) -> Option<&ApplicationJob> {
        self.applications.as_ref().and_then(|given| given.jobs.get(slot as usize))
    }

    /// Sets the job of a slot of a streamed run, which is new or was vacated.
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
