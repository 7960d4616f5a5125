//! The rates at which nodes serve jobs, and the controls that set them (S19).
use serde::{Deserialize, Serialize};

use crate::cluster::NodeTasks;

use super::RateControl;

/// The rates at which nodes serve jobs (S19).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// The controls.
    pub controls: Vec<RateControl>,
    /// The control of each node, from 1; 0 if it serves at rate 1. Empty if the first control has all nodes.
    pub control_of_node: Vec<u32>,
    /// The processors of the nodes of each control; empty if no control is a governor.
    pub processors: Vec<f64>,
}

impl Service {
    /// The control of a node; None if it serves at rate 1.
    #[must_use]
    pub fn control_of(&self, node: u32) -> Option<u32> {
        match self.control_of_node.get(node as usize) {
            None => Some(0),
            Some(control) => control.checked_sub(1),
        }
    }

    /// The known rates at which a node may serve jobs by its control; 1 if it has none.
    #[must_use]
    pub fn rates_of(&self, node: u32) -> Vec<f64> {
        match self.control_of(node).and_then(|control| self.controls.get(control as usize)) {
            None => vec![1.0],
            Some(control) if control.may_change() => control.rates.clone(),
            Some(control) => vec![control.rates[control.first]],
        }
    }

    /// The controls of some nodes, in ascending order; `u32::MAX` stands for nodes without a control.
    #[must_use]
    pub fn controls_of(&self, placement: &[NodeTasks]) -> Vec<u32> {
        if self.control_of_node.is_empty() {
            return vec![0];
        }
        let mut found: Vec<u32> =
            placement.iter().map(|part| self.control_of(part.node).unwrap_or(u32::MAX)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
