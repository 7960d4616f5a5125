//! What nodes are selected from.
use super::free_amounts::FreeAmounts;
use super::node_bits::NodeBits;
use super::situation::Amounts;

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
    /// The most nodes that the partition allows a job.
    pub most_nodes: u32,
}
