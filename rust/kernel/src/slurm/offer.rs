//! What nodes are selected from.
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
    pub left: &'a [Amounts],
    /// The most nodes that the partition allows a job.
    pub most_nodes: u32,
}

/// Cuts nodes, given by index, into runs of neighbours.
pub(super) fn runs<T>(nodes: &[T], index: impl Fn(&T) -> u32) -> Vec<&[T]> {
    nodes.chunk_by(|one, next| index(one) + 1 == index(next)).collect()
}
