//! What nodes are selected from.
use serde::{Deserialize, Serialize};

use super::free_amounts::FreeAmounts;
use super::node_bits::NodeBits;
use super::situation::Amounts;

/// In which order shared nodes are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filling {
    /// Those of the run of neighbours that fits best.
    BestFit,
    /// Those of which the greatest part is free (`CR_LLN`).
    LeastLoaded,
}

/// What is to be selected from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer<'a> {
    /// The nodes that may be used.
    pub usable: &'a NodeBits,
    /// What each node has when it is idle.
    pub machine: &'a [Amounts],
    /// What each has left.
    pub free: &'a FreeAmounts,
    /// Which of the generic resources counts GPUs.
    pub gpu: Option<usize>,
    /// The weights that nodes have now.
    pub weights: &'a [u32],
    /// In which order shared nodes are taken.
    pub filling: Filling,
    /// The most nodes that the partition allows a job.
    pub most_nodes: u32,
}
