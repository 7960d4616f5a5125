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

/// The nodes of a job, each once: by index, and in the order of its ranks where that is another. A clone shares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// No node: the job has not started.
    #[default]
    Nowhere,
    /// One node, as most jobs of many logs have it; kept in place.
    One([NodeTasks; 1]),
    /// Several nodes, ranks by index.
    Many(Arc<[NodeTasks]>),
    /// Several nodes, ranks in an order of their own.
    Ranked(Arc<Ranked>),
}

/// The same nodes twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    by_index: Box<[NodeTasks]>,
    by_rank: Box<[NodeTasks]>,
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

    /// The placement whose ranks follow one another on these nodes, in the order in which they come.
    #[must_use]
    pub fn in_order(nodes: &[NodeTasks]) -> Self {
        if nodes.is_sorted() {
            return Self::of(nodes);
        }
        let by_rank = Box::from(nodes);
        let mut by_index: Box<[NodeTasks]> = Box::from(nodes);
        by_index.sort_unstable();
        Self::Ranked(Arc::new(Ranked { by_index, by_rank }))
    }

    /// The nodes in the order of the ranks.
    #[must_use]
    pub fn ranks(&self) -> &[NodeTasks] {
        match self {
            Self::Ranked(ranked) => &ranked.by_rank,
            _ => self.nodes(),
        }
    }

    /// The nodes by index.
    #[must_use]
    pub fn nodes(&self) -> &[NodeTasks] {
        match self {
            Self::Nowhere => &[],
            Self::One(one) => one,
            Self::Many(many) => many,
            Self::Ranked(ranked) => &ranked.by_index,
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
