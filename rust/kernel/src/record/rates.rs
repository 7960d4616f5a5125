//! The rates at which nodes served jobs, change by change.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

/// The changes of the rates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RateLog {
    /// When, seconds.
    pub time: SharedColumn<f64>,
    /// Of the nodes of which control.
    pub control: SharedColumn<u32>,
    /// From then on: work per second.
    pub rate: SharedColumn<f64>,
}

impl RateLog {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.time.share();
        self.control.share();
        self.rate.share();
    }

    /// Records a change.
    pub fn add(&mut self, time: f64, control: u32, rate: f64) {
        self.time.push(time);
        self.control.push(control);
        self.rate.push(rate);
    }
}
