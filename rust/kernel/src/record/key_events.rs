//! Arrivals, departures and changes of rates, each with the state of the machine after the event and its pass (S19).
use serde::{Deserialize, Serialize};

use crate::control::KeyEvent;
use crate::index::SharedColumn;
use crate::record::column::log_of_columns;
use crate::state::View;

/// An event before its pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// The kind of event.
    pub event: KeyEvent,
    /// Time of the event, seconds.
    pub time: f64,
    /// The row of the job that arrived or departed; None for a change of rate.
    pub row: Option<u64>,
}

/// The events of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KeyEventLog {
    last: Option<Happened>,
    /// Time of the event, seconds.
    pub time: SharedColumn<f64>,
    /// The index of the event in [`KeyEvent::NAMES`].
    pub event: SharedColumn<u8>,
    /// The row of the job; -1 for a change of rate.
    pub row: SharedColumn<i64>,
    /// The rate of the first control.
    pub rate: SharedColumn<f64>,
    /// The sum of the remaining work of the jobs.
    pub workload: SharedColumn<f64>,
    /// The sum of each job's remaining work times its processors.
    pub weighted_workload: SharedColumn<f64>,
    /// Number of waiting and running jobs.
    pub present: SharedColumn<u64>,
    /// Number of jobs in service.
    pub served: SharedColumn<u64>,
    /// Number of processors held by jobs.
    pub busy: SharedColumn<f64>,
}

log_of_columns!(KeyEventLog { time, event, row, rate, workload, weighted_workload, present, served, busy });

impl KeyEventLog {
    /// Adds an event, after the pass of the previous one.
    pub fn happens(&mut self, view: View<'_>, happened: Happened) {
        self.close(view);
        self.last = Some(happened);
    }

    /// Completes the latest event, after its pass.
    pub fn close(&mut self, view: View<'_>) {
        let (Some(last), Some(service)) = (self.last.take(), &view.state.service) else { return };
        let [workload, weighted] = service.workload_at(last.time, &view.state.work);
        let place = KeyEvent::NAMES.iter().position(|(_, event)| *event == last.event);
        self.time.push(last.time);
        self.event.push(place.unwrap_or_default() as u8);
        self.row.push(last.row.map_or(-1, |row| row as i64));
        self.rate.push(service.rate(0));
        self.workload.push(workload);
        self.weighted_workload.push(weighted);
        self.present.push(service.present());
        self.served.push(service.served());
        self.busy.push(service.busy());
    }
}
