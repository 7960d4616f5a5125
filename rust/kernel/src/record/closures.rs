//! When nodes were closed: drained, failed, or not there yet.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::state::View;

/// The times at which nodes closed and opened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClosureLog {
    /// The nodes that are closed.
    present: BTreeSet<u32>,
    /// When a node changed.
    pub time: SharedColumn<f64>,
    /// Which.
    pub node: SharedColumn<u32>,
    /// Whether it is closed from then on.
    pub closed: SharedColumn<bool>,
}

impl ClosureLog {
    /// Lets the next clone share what is recorded.
    pub fn share(&mut self) {
        self.time.share();
        self.node.share();
        self.closed.share();
    }

    /// Records whether a node is closed, if that has changed.
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
