//! The description of a run: all that a simulation is built from, except its feed.
use std::sync::Arc;

use crate::accounting::Usage;
use crate::cluster::{Availability, Machine};
use crate::execution::Execution;
use crate::priority::FORMULA_NAMES;
use crate::record::{PowerStateLog, Recorders};
use crate::scenario::Scenario;
use crate::scheduler::{Capacities, PolicyChoice, PolicyParts};
use crate::state::{ClosedJobs, JobRecords, LimitState, ServiceState, SleepState, State};
use crate::workload::ConditionState;

use super::{Agenda, Feed, Listeners, Simulation};

/// The description of a run. Optional parts of the state follow from the scenario when the run is built.
#[derive(Debug)]
pub struct RunDescription {
    /// The constant input: jobs, rules and optional features.
    pub scenario: Scenario,
    /// The records of the jobs of the scenario.
    pub records: JobRecords,
    /// Amount of each resource on each node, node-major.
    pub amounts: Vec<i64>,
    /// The policy.
    pub policy: PolicyChoice,
    /// Names of the further columns that formulas may use.
    pub columns: Vec<String>,
    /// The order of events with the same time stamp.
    pub agenda: Agenda,
    /// Initial state of the conditions of the scenario.
    pub conditions: Option<ConditionState>,
    /// The engine that executes the applications of the scenario.
    pub execution: Option<Execution>,
    /// Seconds between two calculations of priorities; None if they are not calculated.
    pub period: Option<f64>,
    /// Usage of the accounts of the scenario before the run.
    pub usage: Option<Usage>,
    /// Requested recorders, except those that belong to features of the scenario.
    pub recorders: Recorders,
    /// True to record arrivals, departures and changes of rates.
    pub key_events: bool,
    /// Subscriptions of hooks outside the kernel.
    pub listeners: Listeners,
}

/// Returns the names that a formula may use, given the names of further columns.
#[must_use]
pub fn formula_names(columns: &[String]) -> Vec<&str> {
    FORMULA_NAMES.into_iter().chain(columns.iter().map(String::as_str)).collect()
}

impl RunDescription {
    /// Creates the description of a scenario under a policy, without records of jobs and optional parts.
    #[must_use]
    pub fn new(scenario: Scenario, amounts: Vec<i64>, policy: PolicyChoice) -> Self {
        Self {
            scenario,
            records: JobRecords::default(),
            amounts,
            policy,
            columns: Vec::new(),
            agenda: Agenda::default(),
            conditions: None,
            execution: None,
            period: None,
            usage: None,
            recorders: Recorders::default(),
            key_events: false,
            listeners: Listeners::default(),
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.amounts.len() / self.scenario.requests.resources().max(1)
    }

    /// Builds the simulation before its first instant. O(jobs + nodes).
    ///
    /// # Errors
    /// If a part of the policy is unknown or invalid, or the policy does not support a feature of the run.
    pub fn build<F: Feed>(mut self, feed: F) -> Result<Simulation<F>, String> {
        let resources = self.scenario.requests.resources();
        let node_sets = Arc::clone(&self.scenario.node_sets);
        let has_calendar = self.scenario.calendar.is_some();
        let amounts = std::mem::take(&mut self.amounts);
        let capacities = Capacities { resources, amounts, node_sets, has_calendar };
        let mut policy = self.policy.parts(&capacities, &formula_names(&self.columns))?;
        let machine = capacities.machine();
        let origin = feed.first_submission();
        self.check_supported::<F>(&policy, &machine)?;
        if self.recorders.gates.is_some() {
            policy.scheduler.explain();
        }
        if self.recorders.promises.is_some() {
            policy.scheduler.note_promises();
        }
        let nodes = machine.nodes() as usize;
        let mut state = State::new(self.records, machine);
        begin_features(&self.scenario, &mut state, self.conditions, (origin, self.key_events));
        let recorders = recorders_of::<F>(self.recorders, &self.scenario, (nodes, origin), self.key_events);
        let mut simulation = Simulation::new(self.scenario, state, policy, self.agenda, feed)
            .with_listeners(self.listeners)
            .with_recorders(recorders);
        if let Some(period) = self.period {
            simulation = simulation.with_calculations(period, self.usage);
        }
        if let Some(execution) = self.execution {
            simulation = simulation.with_applications(execution);
        }
        Ok(simulation)
    }

    fn check_supported<F: Feed>(&self, policy: &PolicyParts, machine: &Machine) -> Result<(), String> {
        if !F::KEEPS_JOBS && policy.scheduler.checks_all_jobs() {
            return Err("this policy checks all jobs before a run; leave --stream out".to_owned());
        }
        policy.scheduler.refusal(&self.scenario, &self.records, machine.capacity()).map_or(Ok(()), Err)
    }
}

/// Creates the state of each feature that the scenario has; the run begins at `origin`.
fn begin_features(
    scenario: &Scenario,
    state: &mut State,
    conditions: Option<ConditionState>,
    (origin, key_events): (f64, bool),
) {
    state.preemption = scenario.preemption.as_ref().map(|_| Box::default());
    let have_grace = scenario.preemption.as_ref().is_some_and(|rules| rules.grace_time > 0.0);
    if scenario.limits.is_some() || scenario.calendar.is_some() || have_grace {
        let limits = scenario.limits.as_deref().cloned().unwrap_or_default();
        state.limited = Some(Box::new(LimitState::new(&limits, scenario.requests.resources() + 1)));
        state.queue.closed = ClosedJobs::new(limits.counters_in_all());
    }
    state.conditions = conditions.map(Box::new);
    let service = scenario.service.as_ref();
    state.service = service.map(|service| Box::new(ServiceState::new(service, key_events, origin)));
    state.sleep = scenario.sleep.as_ref().map(|rules| Box::new(SleepState::new(rules, origin)));
}

/// Adds the recorders that belong to features of the scenario; tables by job or node only if jobs are kept.
fn recorders_of<F: Feed>(
    mut recorders: Recorders,
    scenario: &Scenario,
    (nodes, origin): (usize, f64),
    key_events: bool,
) -> Recorders {
    if !F::KEEPS_JOBS {
        return recorders;
    }
    recorders.closures = Some(Box::default());
    if scenario.service.is_some() {
        recorders.rates = Some(Box::default());
        recorders.key_events = key_events.then(Box::default);
    }
    if scenario.sleep.is_some() {
        recorders.power_states = Some(Box::new(PowerStateLog::new(nodes, origin)));
    }
    recorders
}
