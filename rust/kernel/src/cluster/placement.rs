//! Where a job is: the tasks on each of its nodes.
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

/// The nodes of a job, by index, each once. A clone shares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// No node: the job has not started.
    #[default]
    Nowhere,
    /// One node, as most jobs of many logs have it; kept in place.
    One([NodeTasks; 1]),
    /// Several nodes.
    Many(Arc<[NodeTasks]>),
}

impl Placement {
    /// The placement on these nodes, in whatever order they come.
    #[must_use]
    pub fn of(nodes: &[NodeTasks]) -> Self {
        match nodes {
            [] => Self::Nowhere,
            [one] => Self::One([*one]),
            many if many.is_sorted() => Self::Many(many.into()),
            many => {
                let mut sorted = many.to_vec();
                sorted.sort_unstable();
                Self::Many(sorted.into())
            }
        }
    }

    /// The nodes by index.
    #[must_use]
    pub fn nodes(&self) -> &[NodeTasks] {
        match self {
            Self::Nowhere => &[],
            Self::One(one) => one,
            Self::Many(many) => many,
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
