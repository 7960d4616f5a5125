//! When nodes were on, asleep, and in between (S21): every change of a node's power state, as it happens.
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::state::View;

/// The changes of the power states of nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PowerStateLog {
    /// Since when all nodes were on.
    pub begin: f64,
    /// The number of each node's present state.
    present: Vec<u16>,
    /// When a node changed.
    pub time: SharedColumn<f64>,
    /// Which.
    pub node: SharedColumn<u32>,
    /// The number of the state that it has from then on.
    pub state: SharedColumn<u16>,
}

impl PowerStateLog {
    /// So many nodes are on since a time.
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

    /// How many nodes there are.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.present.len()
    }

    /// Lets the next clone share what is recorded.
    pub fn share(&mut self) {
        self.time.share();
        self.node.share();
        self.state.share();
    }

    /// Takes note of the present state of a node.
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
