//! What a change of a profile names: of each node, which amount of which resource.
use serde::{Deserialize, Serialize};

/// What a job holds or gives up on one node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) node: u32,
    /// The plane of the resource; where it holds nothing of any, the one behind, and one.
    pub(super) plane: u32,
    pub(super) amount: i64,
}
