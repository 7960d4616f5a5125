//! The state of a run: everything that changes, and nothing else. A clone is a fork; its cost is proportional to the
//! live jobs.
mod applications;
mod calculation;
mod calendar;
mod closed;
mod closed_partitions;
mod defect;
mod job_records;
mod limits;
mod ordering;
mod partition_values;
mod powered_nodes;
mod preemption;
mod queue;
mod rank;
mod reason;
mod request_values;
mod requests_asked;
mod revision;
mod run_events;
mod running;
mod service;
mod short_runs;
mod sleep;
mod suspending;
mod total_head;
mod usage;
mod view;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, NodeTasks, Occurrences};
use crate::execution::{EndKey, FixedWork};
use crate::index::IndexedHeap;
use crate::scenario::{JobCheck, Scenario};
use crate::time::Time;
use crate::workload::{ConditionState, JobState};

pub use applications::{ApplicationState, SchedulingPoint};
pub use calculation::{Calculation, Due};
pub use closed::{BEYOND_RESERVATION, ClosedJobs, VICTIM};
pub use closed_partitions::ClosedPartitions;
pub use defect::{Defect, Violation};
pub use job_records::JobRecords;
pub use limits::LimitState;
pub use powered_nodes::PoweredNodes;
pub use preemption::PreemptionState;
pub use queue::{JobQueue, QueueIndex};
pub use rank::Rank;
pub use reason::Reason;
pub use requests_asked::{LeastAsked, RequestsAsked, each_asked};
pub use run_events::LegState;
pub use running::{ExpectedEnd, ExpectedEnds, Phase, Run, RunningJobs};
pub use service::{RateChange, ServiceState};
pub use short_runs::{ShortRun, ShortRuns};
pub use sleep::{Demand, SleepState};
pub use suspending::Suspension;
pub use total_head::TotalHead;
pub use usage::AccountUsage;
pub use view::View;

/// The state of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// Current time, seconds.
    pub now: f64,
    /// State of every job.
    pub jobs: JobRecords,
    /// The waiting jobs.
    pub queue: JobQueue,
    /// The nodes and their free resources.
    pub machine: Machine,
    /// The running jobs.
    pub running: RunningJobs,
    /// Progress of jobs with a fixed amount of work.
    pub work: FixedWork,
    /// When running jobs are killed at their time limit, by their indices among the running jobs.
    pub limits: IndexedHeap<EndKey>,
    /// When running jobs reach their estimates, if estimates can be renewed then.
    pub expiries: IndexedHeap<EndKey>,
    /// Progress of jobs with applications; None if there are none.
    pub applications: Option<Box<ApplicationState>>,
    /// Times of priority calculations; None if priorities are not calculated periodically.
    pub calculation: Option<Box<Calculation>>,
    /// Usage of the accounts; None if it is not needed.
    pub usage: Option<Box<AccountUsage>>,
    /// Counts of limits; None if there are no limits.
    pub limited: Option<Box<LimitState>>,
    /// The known reservations of the machine, if an external event has changed them.
    known_reservations: Option<Arc<Occurrences>>,
    /// State of preemption; None if no job may preempt another.
    pub preemption: Option<Box<PreemptionState>>,
    /// Service of jobs under rate control; None if no rate is controlled.
    pub service: Option<Box<ServiceState>>,
    /// Suspended jobs that still hold their nodes.
    suspending: Vec<Suspension>,
    /// The last runs of jobs with phases that did not last as planned.
    pub short_runs: ShortRuns,
    /// Conditions that jobs wait for before they enter the queue; None if there are none.
    pub conditions: Option<Box<ConditionState>>,
    /// Power states of the nodes; None without sleep rules.
    pub sleep: Option<Box<SleepState>>,
    /// True in a look-ahead in which every job takes exactly its estimate from start to end.
    pub assumes_estimates: bool,
    /// True if no pass runs until the scheduler is started again.
    pub is_stopped: bool,
    /// Jobs not yet submitted that are on hold from their submission on.
    pub held_ahead: BTreeSet<u32>,
    /// Events of present jobs from the workload: cancellations of jobs without a run time, and returns of suspended
    /// jobs to the queue; time, row and slot.
    pub own_events: BTreeSet<(Time, u64, u32)>,
    /// Progress of jobs with events during their runs. Snapshots store it last, and only if there are any.
    #[serde(skip)]
    pub legs: LegState,
    /// Priorities of jobs fixed by external events, by slot.
    fixed_priorities: BTreeMap<u32, f64>,
    /// Number of times that nodes were released or changed. While it is constant, a job that did not fit does not fit.
    pub releases: u64,
    /// Number of changes that a scheduler's decision may depend on.
    pub revision: u64,
    /// Jobs started in this pass.
    pub started: Vec<u32>,
    /// Jobs that ended since the last pass.
    pub ended: Vec<u32>,
    /// Jobs started so far.
    pub starts: u64,
    /// Jobs that ended or were rejected so far.
    pub finished: u64,
    /// The first violation of an invariant; None if there is none.
    pub defect: Option<Defect>,
    /// For each request, the number of tasks that the empty machine holds; None if not computed.
    most_tasks: Vec<Option<u64>>,
    values: Vec<i64>,
}

impl State {
    /// Create the state before the first event.
    #[must_use]
    pub fn new(jobs: JobRecords, machine: Machine) -> Self {
        Self {
            now: 0.0,
            jobs,
            queue: JobQueue::new(&machine),
            machine,
            running: RunningJobs::default(),
            work: FixedWork::default(),
            limits: IndexedHeap::default(),
            expiries: IndexedHeap::default(),
            applications: None,
            calculation: None,
            usage: None,
            limited: None,
            known_reservations: None,
            preemption: None,
            service: None,
            suspending: Vec::new(),
            short_runs: ShortRuns::new(),
            conditions: None,
            sleep: None,
            assumes_estimates: false,
            is_stopped: false,
            held_ahead: BTreeSet::new(),
            own_events: BTreeSet::new(),
            legs: LegState::default(),
            fixed_priorities: BTreeMap::new(),
            releases: 0,
            revision: 0,
            started: Vec::new(),
            ended: Vec::new(),
            starts: 0,
            finished: 0,
            defect: None,
            most_tasks: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Share the job records with the next clone, so that its cost is proportional to the live jobs.
    pub fn share(&mut self) {
        self.jobs.share();
        self.queue.closed.share();
        if let Some(calculation) = &mut self.calculation {
            calculation.share();
        }
        if let Some(conditions) = &mut self.conditions {
            conditions.share();
        }
        if let Some(sleep) = &mut self.sleep {
            sleep.share();
        }
    }

    /// Connect a restored state to the data that it shares with a new one: the platform of the applications.
    pub(crate) fn rejoin(&mut self, fresh: &Self) {
        if let (Some(running), Some(fresh)) = (&mut self.applications, &fresh.applications) {
            running.execution.rejoin(&fresh.execution);
        }
    }

    /// Return how many tasks of a request the empty machine holds on nodes of its set: node by node, or by the set's
    /// totals if jobs are checked that way. O(n) for a new request, then O(1).
    pub fn most_tasks(&mut self, scenario: &Scenario, request: u32) -> u64 {
        let index = request as usize;
        if self.most_tasks.len() <= index {
            self.most_tasks.resize(index + 1, None);
        }
        let machine = &self.machine;
        *self.most_tasks[index].get_or_insert_with(|| {
            let request = scenario.requests.get(request);
            match scenario.job_check {
                JobCheck::Total => machine.most_tasks_in_total(request),
                JobCheck::Nodes | JobCheck::None => machine.most_tasks(request),
            }
        })
    }

    /// Account for what a job holds after it got its nodes: charges, limits and expected end.
    fn account_for(&mut self, scenario: &Scenario, job: u32) {
        self.add_expected_end(scenario, job);
        if self.usage.is_none() && self.limited.is_none() {
            return;
        }
        let mut held = std::mem::take(&mut self.values);
        self.held(scenario, job, &mut held);
        if !scenario.bills_runs_only() {
            self.charge(scenario, job, &held);
        }
        self.count_held(scenario, job, &mut held, 1);
        self.values = held;
    }

    /// Charge a job for its resources from the begin of its run on.
    pub(crate) fn begin_charge(&mut self, scenario: &Scenario, job: u32) {
        if self.usage.is_none() {
            return;
        }
        let mut held = std::mem::take(&mut self.values);
        self.held(scenario, job, &mut held);
        self.charge(scenario, job, &held);
        self.values = held;
    }

    fn charge(&mut self, scenario: &Scenario, job: u32, held: &[i64]) {
        if let (Some(usage), Some(accounts)) = (&mut self.usage, &scenario.accounts) {
            usage.start(accounts, job, held, self.now);
        }
    }

    /// Stop charging a job that releases its nodes.
    pub(crate) fn end_charge(&mut self, scenario: &Scenario, job: u32) {
        if let (Some(usage), Some(accounts)) = (&mut self.usage, &scenario.accounts) {
            usage.end(accounts, job, self.now);
        }
    }

    /// Set the run time that schedulers assume for a job outside the queue order.
    pub fn set_estimate(&mut self, scenario: &Scenario, job: u32, estimate: f64) {
        let is_indexed = self.running.is_indexed() && self.jobs.state(job) == JobState::Running;
        if is_indexed {
            self.remove_expected_end(scenario, job);
        }
        self.jobs.set_estimate(job, estimate);
        self.running.estimate_changed(job);
        if is_indexed {
            self.add_expected_end(scenario, job);
        }
    }

    /// Start a queued job, which is not closed, on these nodes, which must have room.
    pub fn start(&mut self, scenario: &Scenario, job: u32, placement: &[NodeTasks]) {
        self.machine.take(scenario.request(job), placement);
        self.queue.index.remove(&self.rank_of(scenario, job));
        let run = self.running.add(Run::new(job));
        self.jobs.start(job, self.now, placement, run);
        self.started.push(job);
        self.check_nodes(job);
        self.wake_nodes(scenario, job, placement);
        self.account_for(scenario, job);
    }

    /// Record a violation if it is the first.
    #[cold]
    pub(crate) fn violates(&mut self, job: u32, violation: Violation) {
        self.defect.get_or_insert(Defect { job, time: self.now, violation });
    }

    /// Record a violation if the nodes that a job took or released are inconsistent. O(1).
    fn check_nodes(&mut self, job: u32) {
        if let Some(breach) = self.machine.breach() {
            self.violates(job, Violation::Nodes(breach));
        }
    }

    /// Return whether a running job holds its nodes: it may have released them before its end is processed.
    #[must_use]
    pub fn holds_nodes(&self, job: u32) -> bool {
        self.jobs.run(job).is_some_and(|run| !self.running.get(run).gave_back)
    }

    /// Record whether a running job holds its nodes.
    fn set_holding(&mut self, job: u32, holds: bool) {
        if let Some(run) = self.jobs.run(job) {
            self.running.set_gave_back(run, !holds);
        }
    }

    /// Release the nodes of a running job.
    pub fn give_back(&mut self, scenario: &Scenario, job: u32) {
        if !self.holds_nodes(job) {
            return self.violates(job, Violation::GaveBackTwice);
        }
        self.set_holding(job, false);
        self.end_charge(scenario, job);
        self.machine.release(scenario.request(job), self.jobs.placement(job));
        self.check_nodes(job);
        self.touch_placement(scenario, job);
        self.releases += 1;
        self.remove_expected_end(scenario, job);
        if self.limited.is_some() {
            let mut held = std::mem::take(&mut self.values);
            self.held(scenario, job, &mut held);
            self.count_held(scenario, job, &mut held, -1);
            self.values = held;
        }
        if let (Some(rules), Some(preemption)) = (&scenario.preemption, &mut self.preemption) {
            preemption.end_exemption(job, self.jobs.start_time(job) + rules.exempt_time);
        }
    }

    /// Return whether these nodes have room for a running job in place of its current ones.
    #[must_use]
    pub fn has_room_to_resize(&mut self, scenario: &Scenario, job: u32, placement: &[NodeTasks]) -> bool {
        let request = scenario.request_on(job, placement).unwrap_or_else(|| scenario.request(job));
        let old = &*self.jobs.placement_by_index(job);
        let has = |node| match old.binary_search_by_key(&node, |part| part.node) {
            Ok(at) => old[at].tasks,
            Err(_) => 0,
        };
        // The job may stay on its nodes, also if they are drained: only additional tasks need room.
        let more: Vec<NodeTasks> =
            placement.iter().copied().filter(|part| part.tasks > has(part.node)).collect();
        let closed = View { scenario, state: self }.closed_nodes(job);
        if more.iter().any(|part| closed.contains(part.node)) {
            return false;
        }
        // The nodes that the job releases itself provide room.
        self.machine.give_back(request, old);
        let has_room = self.machine.has_room(request, &more);
        self.machine.take(request, old);
        self.check_nodes(job);
        has_room
    }

    /// Put a running job that has released its nodes on these nodes.
    pub fn take_again(&mut self, scenario: &Scenario, job: u32, placement: &[NodeTasks]) {
        self.machine.take(scenario.request(job), placement);
        self.set_holding(job, true);
        self.check_nodes(job);
        self.jobs.resize(job, self.now, placement);
        self.touch_placement(scenario, job);
        self.account_for(scenario, job);
    }

    /// Remove a job that has released its nodes from the running jobs; no further events of its run may follow.
    pub fn leave_running(&mut self, scenario: &Scenario, job: u32) {
        self.end_service(scenario, job);
        if let Some(run) = self.jobs.run(job) {
            self.work.stop(run);
            self.limits.remove(run);
            self.expiries.remove(run);
            if let Some(preemption) = &mut self.preemption {
                preemption.end_grace(run);
            }
            self.running.remove(run);
            self.forget_suspension(job);
        }
    }

    /// Index the running jobs by expected end from now on: always current, or, if `is_asked_seldom`, as of the latest
    /// call of `complete_expected_ends`. O(r log r) the first time.
    pub fn index_running(&mut self, scenario: &Scenario, is_asked_seldom: bool) {
        self.running.set_asked_seldom(is_asked_seldom);
        if !self.running.is_indexed() {
            self.running.begin_index(self.machine.node_sets().count() * self.machine.resources());
            let mut running = self.running.jobs();
            running.sort_unstable();
            for job in running {
                self.add_expected_end(scenario, job);
            }
        }
        if !is_asked_seldom {
            self.complete_expected_ends(scenario);
        }
    }

    /// Add the expected end of a job to the index, if there is one: now, or before the next query if queries are rare.
    fn add_expected_end(&mut self, scenario: &Scenario, job: u32) {
        let Some(run) = self.jobs.run(job).filter(|_| self.running.is_indexed()) else { return };
        if self.running.is_asked_seldom() {
            self.running.enter_later(run);
        } else {
            self.insert_expected_end(scenario, job);
        }
    }

    fn insert_expected_end(&mut self, scenario: &Scenario, job: u32) {
        let mut held = std::mem::take(&mut self.values);
        self.held(scenario, job, &mut held);
        self.add_held_in_sets(scenario, job, &mut held);
        let end = self.expected_end(scenario, job);
        if let Some(index) = self.running.by_expected_end_mut() {
            index.insert(end, &held);
        }
        self.values = held;
    }

    /// Bring the index of expected ends up to date, if there is one. O(log r) for each job that got its nodes since.
    pub fn complete_expected_ends(&mut self, scenario: &Scenario) {
        while let Some(run) = self.running.next_fresh() {
            self.insert_expected_end(scenario, self.running.get(run).job);
        }
    }

    fn remove_expected_end(&mut self, scenario: &Scenario, job: u32) {
        let is_fresh = self.jobs.run(job).is_some_and(|run| self.running.enter_never(run));
        if is_fresh || !self.running.is_indexed() {
            return;
        }
        let end = self.expected_end(scenario, job);
        if let Some(index) = self.running.by_expected_end_mut() {
            index.remove(&end);
        }
    }

    /// Return the end of a running job according to its estimate.
    #[must_use]
    pub fn estimated_end(&self, job: u32) -> Time {
        Time(self.counts_from(job) + self.jobs.estimate(job))
    }

    /// Return when a running job is expected to release its nodes: by its estimate, as a victim, or after its
    /// suspension. May be in the past.
    #[must_use]
    pub fn expected_end(&self, scenario: &Scenario, job: u32) -> ExpectedEnd {
        let time = self.estimated_end(job).min(self.grace_end(job)).min(self.suspension_end(job));
        ExpectedEnd { time, row: scenario.job(job).row, job }
    }

    /// Append what a placed job holds of each resource in each proper node set, set-major.
    fn add_held_in_sets(&self, scenario: &Scenario, job: u32, amounts: &mut Vec<i64>) {
        let (resources, sets) = (self.machine.resources(), self.machine.node_sets());
        amounts.resize(sets.count() * resources, 0);
        let request = scenario.request(job);
        for &part in self.jobs.placement(job) {
            for set in sets.others_of(part.node) {
                for (resource, amount) in amounts[set.block(resources)].iter_mut().enumerate() {
                    *amount += self.machine.held(request, part, resource);
                }
            }
        }
    }

    /// Write what a placed job holds of each resource to `amounts`.
    pub fn held(&self, scenario: &Scenario, job: u32, amounts: &mut Vec<i64>) {
        let request = scenario.request(job);
        amounts.clear();
        let placement = self.jobs.last_placement(job);
        if !request.exclusive {
            let tasks = placement.tasks() as i64;
            amounts.extend(request.amounts.iter().map(|&amount| tasks * amount));
            return;
        }
        amounts.resize(self.machine.resources(), 0);
        for &part in &*placement.listed() {
            for (resource, amount) in amounts.iter_mut().enumerate() {
                *amount += self.machine.held(request, part, resource);
            }
        }
    }
}
