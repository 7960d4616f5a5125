//! Record of every change of a node's power state: on, asleep, and in transition (S21).
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::state::View;

/// The changes of the power states of nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PowerStateLog {
    /// All nodes were on at this time.
    pub begin: f64,
    /// The number of each node's current state.
    present: Vec<u16>,
    /// Time of the change, seconds.
    pub time: SharedColumn<f64>,
    /// The node.
    pub node: SharedColumn<u32>,
    /// The number of its new state.
    pub state: SharedColumn<u16>,
}

impl PowerStateLog {
    /// Creates the record of a number of nodes that are on at `begin`.
    #[must_use]
    pub fn new(nodes: usize, begin: f64) -> Self {
        Self {
            begin,
            present: vec![0; nodes],
            time: SharedColumn::default(),
            node: SharedColumn::default(),
            state: SharedColumn::default(),
        }
    }

    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.present.len()
    }

    /// Prepares a clone that shares the records.
    pub fn share(&mut self) {
        self.time.share();
        self.node.share();
        self.state.share();
    }

    /// Records the current state of a node, if it has changed.
    pub fn look(&mut self, view: View<'_>, node: u32) {
        let Some(sleep) = &view.state.sleep else { return };
        let state = sleep.of(node).number() as u16;
        if std::mem::replace(&mut self.present[node as usize], state) != state {
            self.time.push(view.now());
            self.node.push(node);
            self.state.push(state);
        }
    }
}
