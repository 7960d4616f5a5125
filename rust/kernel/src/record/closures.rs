//! Record of the times at which nodes were closed: drained, failed, or not yet added.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::log_of_columns;
use crate::state::View;

/// The times at which nodes closed and opened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClosureLog {
    /// The currently closed nodes.
    present: BTreeSet<u32>,
    /// Time of the change, seconds.
    pub time: SharedColumn<f64>,
    /// The node.
    pub node: SharedColumn<u32>,
    /// True if the node is closed from then on.
    pub closed: SharedColumn<bool>,
}

log_of_columns!(ClosureLog { time, node, closed });

impl ClosureLog {
    /// Records whether a node is closed, if this has changed.
    pub fn look(&mut self, view: View<'_>, node: u32) {
        let closed = view.state.machine.is_drained(node);
        let is_new = if closed { self.present.insert(node) } else { self.present.remove(&node) };
        if is_new {
            self.time.push(view.now());
            self.node.push(node);
            self.closed.push(closed);
        }
    }
}
