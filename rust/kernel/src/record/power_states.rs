//! Record of every change of a node's power state: on, asleep, and in transition (S21).
use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::{Columns, Log};
use crate::state::View;

/// The changes of the power states of nodes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PowerStateLog {
    /// All nodes were on at this time.
    begin: f64,
    /// The number of each node's current state.
    present: Vec<u16>,
    /// Time of the change, seconds.
    pub time: SharedColumn<f64>,
    /// The node.
    pub node: SharedColumn<u32>,
    /// The number of its new state.
    pub state: SharedColumn<u16>,
}

impl Log for PowerStateLog {
    fn share(&mut self) {
        self.time.share();
        self.node.share();
        self.state.share();
    }

    /// All nodes are on at first.
    fn columns(&self) -> Columns {
        let nodes = self.present.len();
        let time: Vec<f64> = vec![self.begin; nodes].into_iter().chain(self.time.to_vec()).collect();
        let node: Vec<u32> = (0..nodes as u32).chain(self.node.to_vec()).collect();
        let state: Vec<u16> = vec![0; nodes].into_iter().chain(self.state.to_vec()).collect();
        vec![("time", time.into()), ("node", node.into()), ("state", state.into())]
    }
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
