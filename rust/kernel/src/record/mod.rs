//! Recorders write down what a run does besides the state of the jobs. They observe changes; the state does not know them,
//! and a recorder that is not asked for costs nothing.
//!
//! A recorder that becomes a table is one file here that implements [`Log`], and one line in the list of `recorders!` below.
//! The line makes its field in [`Recorders`], and its table under the field's name.
mod changes;
mod closures;
mod column;
mod dispatch;
mod external_events;
mod gates;
mod intervals;
mod key_events;
mod power;
mod power_model;
mod power_rates;
mod power_states;
mod promises;
mod rates;
mod sensing;
mod usage;

use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;
use crate::measures::RunTally;
use crate::state::View;

pub use changes::{Change, Changes};
pub use closures::ClosureLog;
pub use column::{Column, Columns, Log};
pub use dispatch::DispatchLog;
pub use external_events::EventLog;
pub use gates::{
    ByTotals, EARLIER, Fit, FitTrial, Found, Gate, GateKind, GateLog, GateMemo, JobKind, NEW, NONE, Numbers,
    OVERTAKERS, PREEMPTED, Running, SELECTION, STOPPER, Submission, VICTIMS, Waiting,
};
pub use intervals::{AllocationIntervals, Interruptions};
pub use key_events::{Happened, KeyEventLog};
pub use power::PowerMeter;
pub use power_model::{PowerModel, Spent, ThermalModel};
pub use power_rates::PricedKind;
pub use power_states::PowerStateLog;
pub use promises::{Cause, PromiseLog};
pub use rates::RateLog;
pub use sensing::{MOST_LOOKS, PlatformSamples, PlatformSensor, Sensors};
pub use usage::UsageLog;

macro_rules! recorders {
    (
        asked { $($(#[$of_asked:meta])* $asked:ident by $option:literal: $asked_log:ty,)+ }
        given { $($(#[$of_given:meta])* $given:ident: $given_log:ty,)+ }
    ) => {
        /// The recorders of a run.
        #[derive(Clone, Debug, Default, Serialize, Deserialize)]
        pub struct Recorders {
            /// Changes since the last notification of observers.
            pub changes: Changes,
            /// The measures of the run, if requested.
            #[serde(skip)]
            pub tally: RunTally,
            /// The interrupted runs.
            pub interruptions: Interruptions,
            /// The nodes of jobs before they were resized.
            pub resizes: AllocationIntervals,
            /// The power of the nodes, if requested.
            pub power: Option<Box<PowerMeter>>,
            /// Samples of the use of the platform, if requested.
            pub platform: Option<PlatformSensor>,
            /// The effect of external events, if there are any.
            pub events: Option<Box<EventLog>>,
            $($(#[$of_asked])* pub $asked: Option<Box<$asked_log>>,)+
            $($(#[$of_given])* pub $given: Option<Box<$given_log>>,)+
        }

        impl Recorders {
            /// The recorders of the requested tables; other names are options of other parts.
            #[must_use]
            pub fn asked(names: &[String]) -> Self {
                let is_asked = |name: &str| names.iter().any(|each| each == name);
                Self {
                    $($asked: is_asked($option).then(Box::default),)+
                    ..Self::default()
                }
            }

            /// Prepares a clone that shares the logs.
            fn share_logs(&mut self) {
                $(if let Some(log) = &mut self.$asked {
                    log.share();
                })+
                $(if let Some(log) = &mut self.$given {
                    log.share();
                })+
            }

            /// The tables that were recorded, by name, as logs that share the entries: O(n / 1024) for n entries. What
            /// most runs record is never read.
            #[must_use]
            pub fn logs(&mut self) -> Vec<(&'static str, Box<dyn Log>)> {
                self.share_logs();
                let mut logs = Vec::<(&'static str, Box<dyn Log>)>::new();
                $(if let Some(log) = &self.$asked {
                    logs.push((stringify!($asked), log.clone()));
                })+
                $(if let Some(log) = &self.$given {
                    logs.push((stringify!($given), log.clone()));
                })+
                logs
            }
        }
    };
}

recorders! {
    // Made if the option of this name asks for them.
    asked {
        /// The cost of every pass.
        dispatch by "dispatch": DispatchLog,
        /// The gates of waiting jobs.
        gates by "explain": GateLog,
        /// The promised starts of waiting jobs.
        promises by "explain": PromiseLog,
        /// The usage of accounts.
        usage by "usage": UsageLog,
    }
    // Made by the parts of a run that they belong to.
    given {
        /// The rates at which nodes served jobs, if these are controlled.
        rates: RateLog,
        /// Arrivals, departures and changes of rates, if rates are controlled and they are requested.
        key_events: KeyEventLog,
        /// The power states of the nodes, if these may sleep.
        power_states: PowerStateLog,
        /// The times at which nodes were closed; None in runs that do not record them.
        closures: ClosureLog,
    }
}

impl Recorders {
    /// Prepares a clone that shares the records.
    pub fn share(&mut self) {
        self.share_logs();
        self.interruptions.share();
        self.resizes.share();
        if let Some(power) = &mut self.power {
            power.share();
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
        self.happens(Cause::Start, Some(job), view.now());
    }

    /// Must be called before a running job releases its nodes.
    pub fn nodes_to_be_released(&mut self, view: View<'_>, job: u32) {
        if let Some(power) = &mut self.power {
            let jobs = &view.state.jobs;
            let since = jobs.allocated_since(job);
            let (request, placement) = (view.request(job), jobs.placement(job));
            power.ends(&view.state.machine, request, job, placement, since, view.now());
        }
        self.happens(Cause::End, Some(job), view.now());
    }

    /// Record what may move promised starts; with its job, if it is about one.
    pub fn happens(&mut self, cause: Cause, job: Option<u32>, now: f64) {
        if let Some(promises) = &mut self.promises {
            promises.happens(cause, job, now);
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
