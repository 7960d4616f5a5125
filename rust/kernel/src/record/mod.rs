//! Recorders: optional records of a run, in addition to the state of the jobs. They are notified of changes; the state
//! does not depend on them, and a record that is not requested costs nothing.
mod changes;
mod closures;
mod dispatch;
mod external_events;
mod intervals;
mod key_events;
mod power;
mod power_model;
mod power_rates;
mod power_states;
mod rates;
mod reasons;
mod sensing;
mod usage;

use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;
use crate::state::View;

pub use changes::{Change, Changes};
pub use closures::ClosureLog;
pub use dispatch::DispatchLog;
pub use external_events::EventLog;
pub use intervals::{AllocationIntervals, Interruptions};
pub use key_events::{Happened, KeyEventLog};
pub use power::PowerMeter;
pub use power_model::{PowerModel, Spent, ThermalModel};
pub use power_rates::PricedKind;
pub use power_states::PowerStateLog;
pub use rates::RateLog;
pub use reasons::ReasonLog;
pub use sensing::{MOST_LOOKS, PlatformSamples, PlatformSensor, Sensors};
pub use usage::UsageLog;

/// The recorders of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Recorders {
    /// Changes since the last notification of observers.
    pub changes: Changes,
    /// The cost of every pass, if requested.
    pub dispatch: Option<DispatchLog>,
    /// The reasons why jobs waited, if requested.
    pub reasons: Option<Box<ReasonLog>>,
    /// The interrupted runs.
    pub interruptions: Interruptions,
    /// The nodes of jobs before they were resized.
    pub resizes: AllocationIntervals,
    /// The power of the nodes, if requested.
    pub power: Option<Box<PowerMeter>>,
    /// The power states of the nodes, if these may sleep.
    pub power_states: Option<Box<PowerStateLog>>,
    /// The times at which nodes were closed; None in runs that do not record them.
    pub closures: Option<Box<ClosureLog>>,
    /// Samples of the use of the platform, if requested.
    pub platform: Option<PlatformSensor>,
    /// The usage of accounts, if requested.
    pub usage: Option<Box<UsageLog>>,
    /// The rates at which nodes served jobs, if these are controlled.
    pub rates: Option<Box<RateLog>>,
    /// Arrivals, departures and changes of rates, if requested.
    pub key_events: Option<Box<KeyEventLog>>,
    /// The effect of external events, if there are any.
    pub events: Option<Box<EventLog>>,
}

impl Recorders {
    /// Prepares a clone that shares the records.
    pub fn share(&mut self) {
        if let Some(dispatch) = &mut self.dispatch {
            dispatch.share();
        }
        if let Some(reasons) = &mut self.reasons {
            reasons.share();
        }
        self.interruptions.share();
        self.resizes.share();
        if let Some(power) = &mut self.power {
            power.share();
        }
        if let Some(log) = &mut self.power_states {
            log.share();
        }
        if let Some(log) = &mut self.closures {
            log.share();
        }
        if let Some(usage) = &mut self.usage {
            usage.share();
        }
        if let Some(rates) = &mut self.rates {
            rates.share();
        }
        if let Some(events) = &mut self.key_events {
            events.share();
        }
        if let Some(events) = &mut self.events {
            events.share();
        }
    }

    /// Must be called after nodes were allocated to a job.
    pub fn nodes_taken(&mut self, view: View<'_>, job: u32, placement: &[NodeTasks]) {
        if let Some(log) = &mut self.power_states {
            for part in placement {
                log.look(view, part.node);
            }
        }
        if let Some(power) = &mut self.power {
            power.started(view, job, placement);
        }
    }

    /// Must be called before a running job releases its nodes.
    pub fn nodes_to_be_released(&mut self, view: View<'_>, job: u32) {
        if let Some(power) = &mut self.power {
            let jobs = &view.state.jobs;
            let since = jobs.allocated_since(job);
            let (request, placement) = (view.request(job), jobs.placement(job));
            power.ends(&view.state.machine, request, job, placement, since, view.now());
        }
    }

    /// Must be called after a job released its nodes, while its record still has them.
    pub fn nodes_released(&mut self, view: View<'_>, job: u32) {
        if let Some(power) = &mut self.power {
            for part in view.state.jobs.placement(job) {
                power.changed(view, part.node);
            }
        }
    }

    /// Must be called after a node was drained or resumed, or its power state changed.
    pub fn node_changed(&mut self, view: View<'_>, node: u32) {
        if let Some(log) = &mut self.closures {
            log.look(view, node);
        }
        if let Some(log) = &mut self.power_states {
            log.look(view, node);
        }
        if let Some(power) = &mut self.power {
            power.changed(view, node);
        }
    }

    /// Energy of all runs of a job so far, joules; 0 if the power is not measured.
    #[must_use]
    pub fn energy_of(&self, view: View<'_>, job: u32) -> f64 {
        let Some(power) = &self.power else { return 0.0 };
        let over = power.energy_of_job(job);
        if !power.runs(job) {
            return over;
        }
        let jobs = &view.state.jobs;
        let (placement, start) = (jobs.placement(job), jobs.allocated_since(job));
        let machine = &view.state.machine;
        over + power.energy_of_run(machine, view.request(job), job, placement, start, view.now())
    }
}
