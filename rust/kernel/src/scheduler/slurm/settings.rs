//! The rule `slurm` on a machine.
use std::iter::{repeat, repeat_n};

use crate::slurm::SlurmParameters;

/// Parameters of the rule `slurm`, and the resources that it knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SlurmSettings {
    /// Its parameters.
    pub parameters: SlurmParameters,
    /// The resource that counts CPUs; None if each node is one CPU.
    pub core: Option<usize>,
    /// The memory resource.
    pub memory: Option<usize>,
    /// The resource that counts GPUs.
    pub gpu: Option<usize>,
    /// Run-length encoded node weights (weight, number of nodes), in node order; 1 for the remaining nodes.
    pub weights: Vec<(u32, u32)>,
}

impl SlurmSettings {
    /// Return the weight of each node.
    pub(super) fn node_weights(&self, nodes: usize) -> Vec<u32> {
        let given = self.weights.iter().flat_map(|&(weight, count)| repeat_n(weight, count as usize));
        given.chain(repeat(1)).take(nodes).collect()
    }
}
