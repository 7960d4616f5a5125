//! Impossible changes of the machine, whatever is decided: a sign of a defect in the kernel.
use std::fmt;

use serde::{Deserialize, Serialize};

/// A change of a node that no sequence of starts and ends can produce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Breach {
    /// A node without jobs is released.
    Empty {
        /// The node.
        node: u32,
    },
    /// Jobs hold more of a resource than the node has, or a negative amount.
    Amount {
        /// The node.
        node: u32,
        /// Index of the resource.
        resource: usize,
        /// The amount that jobs would hold.
        held: i64,
        /// The capacity of the node.
        capacity: i64,
    },
}

impl fmt::Display for Breach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty { node } => write!(out, "gave back node {node}, which held no job"),
            Self::Amount { node, resource, held, capacity } => {
                write!(
                    out,
                    "left jobs with {held} of resource {resource} on node {node}, which has {capacity}"
                )
            }
        }
    }
}
