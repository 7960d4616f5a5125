//! Generic resources (`gres`), as GPUs: what nodes have of them, and what jobs ask for.
use serde::{Deserialize, Serialize};

/// An amount of each generic resource on each node. Without generic resources it holds nothing, and nothing is done for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenericAmounts {
    kinds: usize,
    amounts: Vec<i64>,
}

impl GenericAmounts {
    /// These amounts of so many resources, node after node.
    #[must_use]
    pub fn new(kinds: usize, amounts: Vec<i64>) -> Self {
        Self { kinds, amounts }
    }

    /// How many resources there are.
    #[must_use]
    pub fn kinds(&self) -> usize {
        self.kinds
    }

    /// What a node has of each.
    #[must_use]
    pub fn of(&self, node: u32) -> &[i64] {
        &self.amounts[node as usize * self.kinds..][..self.kinds]
    }

    /// The same, to be changed.
    pub(super) fn of_mut(&mut self, node: u32) -> &mut [i64] {
        &mut self.amounts[node as usize * self.kinds..][..self.kinds]
    }
}

/// What a job asks for of each generic resource; of no resource where the list is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GenericRequest {
    /// So much on each node (`--gres`).
    PerNode(Vec<i64>),
    /// So much for each task (`--gpus-per-task`).
    PerTask(Vec<i64>),
}

impl GenericRequest {
    /// No resource.
    pub const NOTHING: Self = Self::PerTask(Vec::new());

    /// How much is asked for, on a node or for a task.
    fn asked(&self) -> &[i64] {
        match self {
            Self::PerNode(asked) | Self::PerTask(asked) => asked,
        }
    }

    /// Whether it asks for none.
    pub(super) fn is_nothing(&self) -> bool {
        self.asked().is_empty()
    }

    /// Whether it asks for some of one resource.
    pub(super) fn wants(&self, kind: usize) -> bool {
        self.asked().get(kind).is_some_and(|&asked| asked > 0)
    }

    /// The most tasks that these amounts admit on a node; None where these do not bound them.
    pub(super) fn tasks(&self, left: &[i64]) -> Option<i64> {
        let asked = self.asked().iter().zip(left).filter(|&(&asked, _)| asked > 0);
        match self {
            Self::PerNode(_) => asked.clone().any(|(asked, left)| left < asked).then_some(0),
            Self::PerTask(_) => asked.map(|(asked, left)| left / asked).min(),
        }
    }

    /// How much of a resource counts for a node that has so much left: no more than the job can have there.
    pub(super) fn counted(&self, kind: usize, left: i64, exclusive: bool) -> i64 {
        match self {
            Self::PerNode(asked) if !exclusive => left.min(asked[kind]),
            _ => left,
        }
    }

    /// What so many tasks of a job take on a node.
    pub fn with(&self, tasks: i64) -> impl Iterator<Item = i64> {
        let times = if matches!(self, Self::PerNode(_)) { 1 } else { tasks };
        self.asked().iter().map(move |asked| asked * times)
    }
}
