//! Input of the selection of nodes.
use serde::{Deserialize, Serialize};

use super::controller_input::Amounts;
use super::free_amounts::FreeAmounts;
use crate::index::NodeBits;

/// Order in which shared nodes are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CoreFillOrder {
    /// The best-fitting run of consecutive nodes.
    BestFit,
    /// Nodes with the largest free fraction of CPUs first (`CR_LLN`).
    LeastLoaded,
    /// Like `BestFit`, but jobs of one CPU get the last node (`pack_serial_at_end`).
    SerialAtEnd,
}

impl CoreFillOrder {
    /// Return the order for `CR_LLN` and `pack_serial_at_end`; the former takes precedence.
    #[must_use]
    pub fn of(least_loaded: bool, serial_at_end: bool) -> Self {
        match (least_loaded, serial_at_end) {
            (true, _) => Self::LeastLoaded,
            (false, true) => Self::SerialAtEnd,
            (false, false) => Self::BestFit,
        }
    }
}

/// Input of the selection of nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SelectionInput<'a> {
    /// Nodes that may be used.
    pub usable: &'a NodeBits,
    /// Amounts of each idle node.
    pub machine: &'a [Amounts],
    /// Free amounts of each node.
    pub free: &'a FreeAmounts,
    /// Index of the generic resource that counts GPUs.
    pub gpu: Option<usize>,
    /// Current node weights.
    pub weights: &'a [u32],
    /// Order in which shared nodes are used.
    pub core_fill_order: CoreFillOrder,
    /// The nodes that are idle now, if nodes in use are preferred to them (`bf_busy_nodes`).
    pub idle_now: Option<&'a NodeBits>,
    /// Maximum number of nodes of a job in the partition.
    pub most_nodes: u32,
}
