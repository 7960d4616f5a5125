//! Changes of the machine that cannot be, whatever is decided: the sign of a defect in the kernel.
use std::fmt;

use serde::{Deserialize, Serialize};

/// A change of a node that no sequence of starts and ends can bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Breach {
    /// A node is given back that holds no job.
    Empty {
        /// The node.
        node: u32,
    },
    /// Jobs hold more of a resource than the node has, or less than nothing.
    Amount {
        /// The node.
        node: u32,
        /// The number of the resource.
        resource: usize,
        /// What jobs would hold of it.
        held: i64,
        /// What the node has of it.
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
