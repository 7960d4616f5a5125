//! Arrivals, departures and switches of rates, each with what the machine was like after it and its pass (S19).
use serde::{Deserialize, Serialize};

use crate::control::KeyEvent;
use crate::index::SharedColumn;
use crate::state::View;

/// An event whose consequences are not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Happened {
    /// What happened.
    pub event: KeyEvent,
    /// When, seconds.
    pub time: f64,
    /// The row of the job that came or went; None for a switch.
    pub row: Option<u64>,
}

/// The events of a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KeyEventLog {
    last: Option<Happened>,
    /// Seconds.
    pub time: SharedColumn<f64>,
    /// The place of the event in [`KeyEvent::NAMES`].
    pub event: SharedColumn<u8>,
    /// The row of the job; -1 for a switch.
    pub row: SharedColumn<i64>,
    /// The rate of the first control.
    pub rate: SharedColumn<f64>,
    /// The work left, and that of each job times its processors.
    pub workload: SharedColumn<f64>,
    /// See `workload`.
    pub weighted_workload: SharedColumn<f64>,
    /// How many jobs wait or run.
    pub present: SharedColumn<u64>,
    /// How many are served.
    pub served: SharedColumn<u64>,
    /// The processors that jobs hold.
    pub busy: SharedColumn<f64>,
}

impl KeyEventLog {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.time.share();
        self.event.share();
        self.row.share();
        self.rate.share();
        self.workload.share();
        self.weighted_workload.share();
        self.present.share();
        self.served.share();
        self.busy.share();
    }

    /// An event happens: the one before has had its pass.
    pub fn happens(&mut self, view: View<'_>, happened: Happened) {
        self.close(view);
        self.last = Some(happened);
    }

    /// The latest event has had its pass.
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
