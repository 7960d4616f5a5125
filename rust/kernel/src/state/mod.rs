//! The state of a run: everything that changes, and nothing else. A clone is a fork; it costs what is alive.
mod applications;
mod awake;
mod calculation;
mod closed;
mod closed_partitions;
mod defect;
mod job_records;
mod known_reservations;
mod limited;
mod ordering;
mod partition_values;
mod preempting;
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
pub use awake::Awake;
pub use calculation::{Calculation, Due};
pub use closed::{ClosedJobs, FALLEN, OUT_OF_TIME};
pub use closed_partitions::ClosedPartitions;
pub use defect::{Defect, Violation};
pub use job_records::JobRecords;
pub use limited::LimitState;
pub use preempting::PreemptionState;
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
pub use usage::AccountUsage;
pub use view::View;

/// The state of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct State {
    /// The present time, seconds.
    pub now: f64,
    /// What has become of every job.
    pub jobs: JobRecords,
    /// The jobs that wait.
    pub queue: JobQueue,
    /// The nodes, and what is free on them.
    pub machine: Machine,
    /// The jobs that run.
    pub running: RunningJobs,
    /// How far the jobs are whose work is a time.
    pub work: FixedWork,
    /// When running jobs are killed by the wall time rule, by their places among the running jobs.
    pub limits: IndexedHeap<EndKey>,
    /// When running jobs reach their estimates, where they may get others then.
    pub expiries: IndexedHeap<EndKey>,
    /// How far the jobs are that carry applications; None where there are none.
    pub applications: Option<Box<ApplicationState>>,
    /// When priorities are calculated; None where keys are not calculated so.
    pub calculation: Option<Box<Calculation>>,
    /// What accounts have used; None where that is not asked for.
    pub usage: Option<Box<AccountUsage>>,
    /// What jobs have that limits count; None where nothing is limited.
    pub limited: Option<Box<LimitState>>,
    /// The reservations of the machine that are known, once an external event has changed that.
    known_reservations: Option<Arc<Occurrences>>,
    /// How far preemption is; None where no job may preempt another.
    pub preemption: Option<Box<PreemptionState>>,
    /// What serves jobs; None where no rate is controlled.
    pub service: Option<Box<ServiceState>>,
    /// The jobs that have been suspended and still hold their nodes.
    suspending: Vec<Suspension>,
    /// The last runs of jobs whose phases did not last as planned.
    pub short_runs: ShortRuns,
    /// How far that is what jobs wait for before they enter the queue; None where none does.
    pub conditions: Option<Box<ConditionState>>,
    /// Which nodes sleep; None where no rule lets nodes sleep.
    pub sleep: Option<Box<SleepState>>,
    /// Whether this is a look ahead in which every job takes its estimate in all, from its start to its end.
    pub assumes_estimates: bool,
    /// Whether no pass is made until the scheduler is started again.
    pub is_stopped: bool,
    /// The jobs that are held from their submission on, which is to come.
    pub held_ahead: BTreeSet<u32>,
    /// What the workload says of jobs that are there: when those without a run time of their own are cancelled, and those that
    /// were suspended return to the queue; time, row and slot.
    pub own_events: BTreeSet<(Time, u64, u32)>,
    /// How far jobs are to which something happens while they run. Snapshots have it last, and only where there is any.
    #[serde(skip)]
    pub legs: LegState,
    /// The priorities of jobs that external events have fixed, by slot.
    fixed_priorities: BTreeMap<u32, f64>,
    /// How often nodes were given back or changed so far: where it stands still, nothing that did not fit fits now.
    pub releases: u64,
    /// How often anything changed so far that a scheduler may decide by.
    pub revision: u64,
    /// Jobs started in this pass.
    pub started: Vec<u32>,
    /// Jobs that ended since the last pass.
    pub ended: Vec<u32>,
    /// Jobs started so far.
    pub starts: u64,
    /// Jobs that ended or were rejected so far.
    pub finished: u64,
    /// The first violation of what must hold in every run; None as long as all is well.
    pub defect: Option<Defect>,
    /// For each request, how many tasks the empty machine holds; None where that was not asked.
    most_tasks: Vec<Option<u64>>,
    values: Vec<i64>,
}

impl State {
    /// The state before the first instant.
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

    /// Lets the next clone share the records of jobs, so that it costs what is alive.
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

    /// Takes over what a restored state shares with one that was made anew: the platform of the applications.
    pub(crate) fn rejoin(&mut self, fresh: &Self) {
        if let (Some(running), Some(fresh)) = (&mut self.applications, &fresh.applications) {
            running.execution.rejoin(&fresh.execution);
        }
    }

    /// How many tasks of a request the empty machine holds, on nodes of its set: node by node, or by what these have in
    /// all where jobs are checked for that. O(n) for a request seen for the first time, O(1) after that.
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

    /// Takes into account what a job holds that has got its nodes: for charges, limits and expected ends.
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

    /// Charges a job, whose run begins, for what it holds.
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

    /// Stops charging a job that gives back its nodes.
    pub(crate) fn end_charge(&mut self, scenario: &Scenario, job: u32) {
        if let (Some(usage), Some(accounts)) = (&mut self.usage, &scenario.accounts) {
            usage.end(accounts, job, self.now);
        }
    }

    /// Sets what schedulers take the run_time of a job to be that is not in the order of the queue.
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

    /// Gives a queued job, which is not closed, these nodes, which have room.
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

    /// Takes note of the first violation.
    #[cold]
    pub(crate) fn violates(&mut self, job: u32, violation: Violation) {
        self.defect.get_or_insert(Defect { job, time: self.now, violation });
    }

    /// Takes note of it where the nodes that a job took or gave back do not add up. O(1).
    fn check_nodes(&mut self, job: u32) {
        if let Some(breach) = self.machine.breach() {
            self.violates(job, Violation::Nodes(breach));
        }
    }

    /// Whether a running job holds its nodes: it may have given them back before its end is taken in.
    #[must_use]
    pub fn holds_nodes(&self, job: u32) -> bool {
        self.jobs.run(job).is_some_and(|run| !self.running.get(run).gave_back)
    }

    /// Notes whether a running job holds its nodes.
    fn set_holding(&mut self, job: u32, holds: bool) {
        if let Some(run) = self.jobs.run(job) {
            self.running.set_gave_back(run, !holds);
        }
    }

    /// Gives back the nodes of a running job.
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

    /// Whether these nodes have room for a running job in place of those that it has.
    #[must_use]
    pub fn has_room_to_resize(&mut self, scenario: &Scenario, job: u32, placement: &[NodeTasks]) -> bool {
        let request = scenario.request_on(job, placement).unwrap_or_else(|| scenario.request(job));
        let old = &*self.jobs.placement_by_index(job);
        let has = |node| match old.binary_search_by_key(&node, |part| part.node) {
            Ok(at) => old[at].tasks,
            Err(_) => 0,
        };
        // It may stay where it is, drained or not: room is asked for where it gets more.
        let more: Vec<NodeTasks> =
            placement.iter().copied().filter(|part| part.tasks > has(part.node)).collect();
        let closed = View { scenario, state: self }.closed_nodes(job);
        if more.iter().any(|part| closed.contains(part.node)) {
            return false;
        }
        // What it gives up itself is room for it.
        self.machine.give_back(request, old);
        let has_room = self.machine.has_room(request, &more);
        self.machine.take(request, old);
        self.check_nodes(job);
        has_room
    }

    /// Gives a running job, which gave back its nodes, these nodes.
    pub fn take_again(&mut self, scenario: &Scenario, job: u32, placement: &[NodeTasks]) {
        self.machine.take(scenario.request(job), placement);
        self.set_holding(job, true);
        self.check_nodes(job);
        self.jobs.resize(job, self.now, placement);
        self.touch_placement(scenario, job);
        self.account_for(scenario, job);
    }

    /// Takes a job, which gave back its nodes, out of the running jobs; nothing more is to happen to its run.
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

    /// From now on the running jobs are kept by expected end: at any time, or where that is asked seldom as of the latest
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

    /// Notes when a job is expected to end, where the index is kept; where it is asked seldom, before it is asked next.
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

    /// Brings the index of expected ends up to date, where it is kept. O(log r) for each job that got its nodes since.
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

    /// When a running job ends by its estimate.
    #[must_use]
    pub fn estimated_end(&self, job: u32) -> Time {
        Time(self.counts_from(job) + self.jobs.estimate(job))
    }

    /// When a running job is expected to give back its nodes, not raised to now: by its estimate, or as a victim.
    #[must_use]
    pub fn expected_end(&self, scenario: &Scenario, job: u32) -> ExpectedEnd {
        let time = self.estimated_end(job).min(self.grace_end(job)).min(self.suspension_end(job));
        ExpectedEnd { time, row: scenario.job(job).row, job }
    }

    /// Adds to what a placed job holds of each resource what it holds in each of the other node sets, set-major.
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

    /// Puts into `amounts` what a placed job holds of each resource.
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
