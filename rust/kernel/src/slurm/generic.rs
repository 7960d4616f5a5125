//! Generic resources (`gres`) such as GPUs: amounts of nodes, and requests of jobs.
use serde::{Deserialize, Serialize};

/// Amounts of each generic resource on each node. Empty, and without cost, if there are no generic resources.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenericAmounts {
    kinds: usize,
    amounts: Vec<i64>,
}

impl GenericAmounts {
    /// Create amounts of `kinds` resources, node-major.
    #[must_use]
    pub fn new(kinds: usize, amounts: Vec<i64>) -> Self {
        Self { kinds, amounts }
    }

    /// Return the number of resources.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.kinds
    }

    /// Return the amounts of a node.
    #[must_use]
    pub fn of(&self, node: u32) -> &[i64] {
        &self.amounts[node as usize * self.kinds..][..self.kinds]
    }

    /// Return the amounts of a node for modification.
    pub(super) fn of_mut(&mut self, node: u32) -> &mut [i64] {
        &mut self.amounts[node as usize * self.kinds..][..self.kinds]
    }
}

/// Requested amounts of each generic resource; an empty list requests none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GenericRequest {
    /// Amounts on each node (`--gres`).
    PerNode(Vec<i64>),
    /// Amounts for each task (`--gpus-per-task`).
    PerTask(Vec<i64>),
}

impl GenericRequest {
    /// An empty request.
    pub const NOTHING: Self = Self::PerTask(Vec::new());

    /// Return the requested amounts, per node or per task.
    fn asked(&self) -> &[i64] {
        match self {
            Self::PerNode(asked) | Self::PerTask(asked) => asked,
        }
    }

    /// Return whether nothing is requested.
    pub(super) fn is_nothing(&self) -> bool {
        self.asked().is_empty()
    }

    /// Return whether some of this resource is requested.
    pub(super) fn wants(&self, kind: usize) -> bool {
        self.asked().get(kind).is_some_and(|&asked| asked > 0)
    }

    /// Return the maximum number of tasks that these free amounts allow on a node; None if they impose no bound.
    pub(super) fn tasks(&self, left: &[i64]) -> Option<i64> {
        let asked = self.asked().iter().zip(left).filter(|&(&asked, _)| asked > 0);
        match self {
            Self::PerNode(_) => asked.clone().any(|(asked, left)| left < asked).then_some(0),
            Self::PerTask(_) => asked.map(|(asked, left)| left / asked).min(),
        }
    }

    /// Return the amount of a resource to count for a node with this free amount: at most what the job can have there.
    pub(super) fn counted(&self, kind: usize, left: i64, exclusive: bool) -> i64 {
        match self {
            Self::PerNode(asked) if !exclusive => left.min(asked[kind]),
            _ => left,
        }
    }

    /// Return the amounts that this many tasks of a job take on a node.
    pub(super) fn with(&self, tasks: i64) -> impl Iterator<Item = i64> {
        let times = if matches!(self, Self::PerNode(_)) { 1 } else { tasks };
        self.asked().iter().map(move |asked| asked * times)
    }
}
