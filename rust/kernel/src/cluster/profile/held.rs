//! The amounts that a change of a profile affects: node, resource, amount.
use serde::{Deserialize, Serialize};

/// The amount that a job holds or releases on one node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) node: u32,
    /// The plane of the resource. A job that holds nothing on the node has the plane after the last resource, and
    /// amount 1.
    pub(super) plane: u32,
    pub(super) amount: i64,
}
