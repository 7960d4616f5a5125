//! The jobs with applications, and the hosts of the nodes on the platform.
use serde::{Deserialize, Serialize};

use crate::platform::Fabric;

use super::ApplicationJob;

/// The jobs with applications, and the hosts of the nodes on the platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationJobs {
    /// By slot.
    pub jobs: Vec<ApplicationJob>,
    /// The host of each node.
    pub hosts: Vec<u32>,
    /// The resource that counts GPUs, if there is one.
    pub gpus: Option<usize>,
    /// The positions of the nodes in their network, if ranks are mapped.
    pub fabric: Option<Fabric>,
}

impl ApplicationJobs {
    /// The hosts of nodes, one per entry.
    #[must_use]
    pub fn hosts_of(&self, nodes: &[u32]) -> Vec<u32> {
        nodes.iter().map(|&node| self.hosts[node as usize]).collect()
    }
}
