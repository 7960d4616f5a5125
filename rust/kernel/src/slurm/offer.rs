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
    /// As the first, but that jobs of one CPU get the last node (`pack_serial_at_end`).
    SerialAtEnd,
}

impl Filling {
    /// That of `CR_LLN` and `pack_serial_at_end`, of which the first comes before the other.
    #[must_use]
    pub fn of(least_loaded: bool, serial_at_end: bool) -> Self {
        match (least_loaded, serial_at_end) {
            (true, _) => Self::LeastLoaded,
            (false, true) => Self::SerialAtEnd,
            (false, false) => Self::BestFit,
        }
    }
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
    /// Where nodes in use come before idle ones, those that are idle now (`bf_busy_nodes`).
    pub idle_now: Option<&'a NodeBits>,
    /// The most nodes that the partition allows a job.
    pub most_nodes: u32,
}
