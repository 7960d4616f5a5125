//! Rank orders: the order in which the ranks of a job occupy the places on its nodes (S23).
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeTasks, ranks_of_placement};

/// The order in which the ranks of a job occupy the places on its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RankOrder {
    /// Node after node.
    #[default]
    Packed,
    /// One rank per node in turn; full nodes are skipped.
    Cyclic,
    /// Such that messages cross few links; node after node without messages.
    Mapped,
    /// Node after node, with the ranks in this order: a permutation.
    Listed(Arc<[u32]>),
}

impl RankOrder {
    /// The rules without a list, with their names.
    pub const NAMES: [(&str, Self); 3] =
        [("packed", Self::Packed), ("cyclic", Self::Cyclic), ("mapped", Self::Mapped)];

    /// Returns whether the order is valid for a number of tasks: a list must be a permutation.
    #[must_use]
    pub fn holds_for(&self, tasks: u32) -> bool {
        let Self::Listed(ranks) = self else { return true };
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..tasks)
    }

    /// The node of each rank of a job with this placement; packed for ranks that are still to be mapped. O(ranks).
    #[must_use]
    pub fn nodes(&self, placement: &[NodeTasks]) -> Vec<u32> {
        match self {
            Self::Packed | Self::Mapped => ranks_of_placement(placement),
            Self::Cyclic => around(placement),
            Self::Listed(ranks) => {
                let mut nodes = ranks_of_placement(placement);
                for (&rank, node) in ranks.iter().zip(nodes.clone()) {
                    nodes[rank as usize] = node;
                }
                nodes
            }
        }
    }
}

/// Assigns one rank to each node in turn that has a place left.
fn around(placement: &[NodeTasks]) -> Vec<u32> {
    let mut nodes = Vec::new();
    let mut open = placement.to_vec();
    while !open.is_empty() {
        for part in &mut open {
            nodes.push(part.node);
            part.tasks -= 1;
        }
        open.retain(|part| part.tasks > 0);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACEMENT: [NodeTasks; 3] =
        [NodeTasks { node: 7, tasks: 1 }, NodeTasks { node: 4, tasks: 3 }, NodeTasks { node: 5, tasks: 2 }];

    #[test]
    fn ranks_take_places() {
        assert_eq!(RankOrder::Packed.nodes(&PLACEMENT), [7, 4, 4, 4, 5, 5]);
        assert_eq!(RankOrder::Cyclic.nodes(&PLACEMENT), [7, 4, 5, 4, 5, 4]);
        let listed = RankOrder::Listed([5, 0, 1, 2, 4, 3].into());
        assert_eq!(listed.nodes(&PLACEMENT), [4, 4, 4, 5, 5, 7]);
        assert!(listed.holds_for(6) && !listed.holds_for(5) && RankOrder::Cyclic.holds_for(1));
    }
}
