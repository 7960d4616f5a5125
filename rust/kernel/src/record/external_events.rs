//! Record of the external events that had an effect.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

/// The external events so far, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventLog {
    /// True if the event changed something.
    pub applied: SharedColumn<bool>,
}

impl EventLog {
    /// Prepares a clone that shares the entries.
    pub fn share(&mut self) {
        self.applied.share();
    }
}
