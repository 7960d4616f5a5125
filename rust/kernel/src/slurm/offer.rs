//! What nodes are selected from.
use super::free_amounts::FreeAmounts;
use super::node_bits::NodeBits;
use super::parameters::Setup;
use super::situation::{Amounts, Entry};

/// What is to be selected from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer<'a> {
    /// The nodes that may be used.
    pub usable: &'a NodeBits,
    /// What each node has when it is idle.
    pub machine: &'a [Amounts],
    /// What each has left.
    pub free: &'a FreeAmounts,
    /// The weights that nodes have now.
    pub weights: &'a [u32],
    /// The most nodes that the partition allows a job.
    pub most_nodes: u32,
}

impl<'a> Offer<'a> {
    /// What a job is offered on these nodes.
    pub fn of(
        setup: &'a Setup,
        entry: &Entry,
        usable: &'a NodeBits,
        weights: &'a [u32],
        free: &'a FreeAmounts,
    ) -> Self {
        let most_nodes = setup.partitions[entry.partition].most_nodes;
        Self { usable, machine: &setup.machine, free, weights, most_nodes }
    }
}
