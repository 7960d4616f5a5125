//! The inputs of a run, converted from Python to the kernel's description of it.
use batchlab_kernel::record::{Changes, Recorders};
use batchlab_kernel::scenario::{JobCheck, Scenario, WallTime};
use batchlab_kernel::simulation::{Agenda, Listeners, RunDescription};
use batchlab_kernel::state::JobRecords;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::accounting::AccountInputs;
use crate::application_jobs::{ApplicationInputs, Invocation};
use crate::columns::Columns;
use crate::conditions::ConditionColumns;
use crate::external_events::EventColumns;
use crate::policy::PolicyNames;
use crate::service::ServiceInputs;
use crate::sleep::SleepInputs;

/// The rules of a run: attributes of `batchlab.RunOptions`.
#[derive(FromPyObject)]
pub struct RunRules {
    walltime: String,
    order_at_instant: String,
    job_check: String,
}

impl RunRules {
    /// Sets the rules of a scenario, and returns the agenda.
    fn apply(&self, scenario: &mut Scenario) -> PyResult<Agenda> {
        scenario.wall_time = parse("walltime", &self.walltime, &WallTime::NAMES)?;
        scenario.job_check = parse("job_check", &self.job_check, &JobCheck::NAMES)?;
        parse("order_at_instant", &self.order_at_instant, &Agenda::NAMES).map(|make| make())
    }
}

/// The rule with this name, or an error that lists the names.
pub fn parse<T: Copy>(option: &str, name: &str, known: &[(&str, T)]) -> PyResult<T> {
    if let Some((_, value)) = known.iter().find(|(known, _)| *known == name) {
        return Ok(*value);
    }
    let names: Vec<String> = known.iter().map(|(known, _)| format!("'{known}'")).collect();
    Err(PyValueError::new_err(format!("{option} = '{name}'; must be {}", names.join(" or "))))
}

/// The subscriptions of hooks outside the kernel.
#[derive(Clone, Copy, Default, FromPyObject)]
#[pyo3(from_item_all)]
struct Listening {
    estimates: bool,
    changes: u16,
    every_instant: bool,
}

/// A machine: its resources and groups of nodes.
#[derive(Clone, FromPyObject)]
#[pyo3(from_item_all)]
pub struct Machine {
    /// Names of the resources.
    pub resources: Vec<String>,
    /// Number of nodes and amounts per node, for each group.
    groups: Vec<(usize, Vec<i64>)>,
    /// The amount of each resource per processor.
    pub processor: Vec<i64>,
}

impl Machine {
    pub fn index(&self, name: &str) -> Option<usize> {
        self.resources.iter().position(|resource| resource == name)
    }

    pub fn totals(&self) -> Vec<i64> {
        let total =
            |resource| self.groups.iter().map(|(count, amounts)| *count as i64 * amounts[resource]).sum();
        (0..self.resources.len()).map(total).collect()
    }

    /// The amount of each resource on each node, node-major.
    fn amounts(&self) -> Vec<i64> {
        self.groups.iter().flat_map(|(count, amounts)| amounts.repeat(*count)).collect()
    }
}

/// The inputs of a run: attributes of `batchlab.options.run_inputs.RunInputs`.
#[derive(FromPyObject)]
pub struct RunInputs<'py> {
    pub machine: Machine,
    policy: PolicyNames,
    rules: RunRules,
    /// The jobs; None if they come from a log that the kernel reads.
    columns: Option<Columns<'py>>,
    recorded: Vec<String>,
    listening: Option<Listening>,
    applications: Option<ApplicationInputs<'py>>,
    conditions: Option<ConditionColumns<'py>>,
    invocation: Option<Invocation>,
    period: Option<f64>,
    accounts: Option<AccountInputs<'py>>,
    events: Option<EventColumns<'py>>,
    service: Option<ServiceInputs<'py>>,
    sleep: Option<SleepInputs<'py>>,
    /// The first submission of a run that began earlier, seconds; None for that of the jobs.
    pub begun: Option<f64>,
}

impl RunInputs<'_> {
    /// Converts the inputs.
    pub fn description(self, py: Python<'_>) -> PyResult<RunDescription> {
        let (resources, amounts) = (self.machine.resources.len(), self.machine.amounts());
        let (scenario, records) = match &self.columns {
            Some(columns) => columns.scenario(resources, &amounts)?,
            None => (Scenario::on_nodes(resources, &amounts), JobRecords::default()),
        };
        let mut run = RunDescription::new(scenario, amounts, self.policy.try_into()?);
        run.records = records;
        let formula = self.columns.iter().flat_map(|columns| &columns.formula);
        run.columns = formula.map(|(name, _)| name.clone()).collect();
        run.scenario.core = self.machine.index("core");
        run.agenda = self.rules.apply(&mut run.scenario)?;
        if let Some(invocation) = self.invocation {
            run.agenda = run.agenda.asking(invocation.into());
        }
        let Listening { estimates, changes, every_instant } = self.listening.unwrap_or_default();
        run.listeners = Listeners { estimates, every_instant };
        run.recorders =
            Recorders { changes: Changes::subscribed(changes), ..Recorders::asked(&self.recorded) };
        run.period = self.period;
        let (jobs, nodes) = (run.scenario.jobs.len(), run.nodes());
        if let Some(conditions) = self.conditions {
            let (given, begun) = conditions.parts(jobs)?;
            (run.scenario.conditions, run.conditions) = (Some(Box::new(given)), Some(begun));
        }
        if let Some(applications) = self.applications {
            let (given, execution, sensor) = applications.parts()?;
            (run.scenario.applications, run.execution) = (Some(given), Some(execution));
            run.recorders.platform = sensor;
        }
        if let Some(events) = self.events {
            run.scenario.events = events.events(jobs, nodes as u32)?;
            run.recorders.events = Some(Box::default());
        }
        if let Some(service) = self.service {
            run.key_events = service.key_events;
            run.scenario.service = Some(Box::new(service.service(nodes)?));
        }
        if let Some(sleep) = self.sleep {
            run.scenario.sleep = Some(Box::new(sleep.rules(nodes)?));
        }
        if let Some(accounts) = self.accounts {
            let (given, begun) =
                accounts.parts(py, self.begun.unwrap_or_else(|| run.scenario.earliest_submission()))?;
            (run.scenario.accounts, run.usage) = (Some(Box::new(given)), Some(begun));
        }
        Ok(run)
    }
}
