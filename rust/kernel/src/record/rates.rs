//! Record of the rates at which nodes served jobs.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::log_of_columns;

/// The changes of the rates.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RateLog {
    /// Time of the change, seconds.
    pub time: SharedColumn<f64>,
    /// The control of the nodes.
    pub control: SharedColumn<u32>,
    /// New rate, work per second.
    pub rate: SharedColumn<f64>,
}

log_of_columns!(RateLog { time, control, rate });

impl RateLog {
    /// Records a change.
    pub fn add(&mut self, time: f64, control: u32, rate: f64) {
        self.time.push(time);
        self.control.push(control);
        self.rate.push(rate);
    }
}
