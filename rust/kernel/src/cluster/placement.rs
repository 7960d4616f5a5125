//! Where a job is: the tasks on each of its nodes.
use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Tasks of a job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeTasks {
    /// The node.
    pub node: u32,
    /// How many of the job's tasks are there.
    pub tasks: u32,
}

/// The nodes of a job, each once, in the order of its ranks. A clone shares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// No node: the job has not started.
    #[default]
    Nowhere,
    /// One node, as most jobs of many logs have it; kept in place.
    One([NodeTasks; 1]),
    /// Several nodes, by index.
    Many(Arc<[NodeTasks]>),
    /// Several nodes, in another order.
    Ranked(Arc<[NodeTasks]>),
}

impl Placement {
    /// The placement on these nodes, in this order.
    #[must_use]
    pub fn of(nodes: &[NodeTasks]) -> Self {
        match nodes {
            [] => Self::Nowhere,
            [one] => Self::One([*one]),
            many if many.is_sorted() => Self::Many(many.into()),
            many => Self::Ranked(many.into()),
        }
    }

    /// The nodes in the order of the ranks.
    #[must_use]
    pub fn nodes(&self) -> &[NodeTasks] {
        match self {
            Self::Nowhere => &[],
            Self::One(one) => one,
            Self::Many(many) | Self::Ranked(many) => many,
        }
    }

    /// The nodes by index.
    #[must_use]
    pub fn by_index(&self) -> Cow<'_, [NodeTasks]> {
        match self {
            Self::Ranked(ranked) => {
                let mut sorted = ranked.to_vec();
                sorted.sort_unstable();
                Cow::Owned(sorted)
            }
            _ => Cow::Borrowed(self.nodes()),
        }
    }

    /// Whether a node is among them. O(log k) where they stand by index, else O(k).
    #[must_use]
    pub fn has(&self, node: u32) -> bool {
        match self {
            Self::Ranked(ranked) => ranked.iter().any(|part| part.node == node),
            _ => self.nodes().binary_search_by_key(&node, |part| part.node).is_ok(),
        }
    }
}

/// The placement with one rank per entry, by node.
#[must_use]
pub fn placement_of_ranks(ranks: &[u32]) -> Vec<NodeTasks> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| NodeTasks { node: run[0], tasks: run.len() as u32 }).collect()
}

/// One entry per task, node by node.
#[must_use]
pub fn ranks_of_placement(placement: &[NodeTasks]) -> Vec<u32> {
    placement.iter().flat_map(|part| (0..part.tasks).map(|_| part.node)).collect()
}
