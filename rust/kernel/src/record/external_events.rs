//! Which external events applied.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;

/// The external events so far, in their order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventLog {
    /// Whether each changed something.
    pub applied: SharedColumn<bool>,
}

impl EventLog {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.applied.share();
    }
}
