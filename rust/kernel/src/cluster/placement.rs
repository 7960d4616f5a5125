//! Placements: the tasks of a job on each of its nodes.
use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Tasks of a job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeTasks {
    /// The node index.
    pub node: u32,
    /// Number of the job's tasks on the node.
    pub tasks: u32,
}

/// Consecutive nodes with the same number of tasks of a job on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeRange {
    /// The first node.
    pub first: u32,
    /// Number of nodes.
    pub count: u32,
    /// Number of the job's tasks on each node.
    pub tasks: u32,
}

impl NodeRange {
    /// The nodes in ascending order.
    pub fn nodes(self) -> impl Iterator<Item = NodeTasks> {
        (self.first..self.first + self.count).map(move |node| NodeTasks { node, tasks: self.tasks })
    }

    /// Splits nodes, in this order, into the fewest ranges. O(k).
    fn of(nodes: &[NodeTasks]) -> impl Iterator<Item = Self> {
        let is_next = |one: &NodeTasks, next: &NodeTasks| {
            one.tasks == next.tasks && one.node.checked_add(1) == Some(next.node)
        };
        let range =
            |run: &[NodeTasks]| Self { first: run[0].node, count: run.len() as u32, tasks: run[0].tasks };
        nodes.chunk_by(is_next).map(range)
    }
}

/// The nodes of a job, each once, in the order of its ranks. A clone shares them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// No node: the job has not started.
    #[default]
    Nowhere,
    /// One node, the most frequent case in many logs; stored inline.
    One([NodeTasks; 1]),
    /// Several nodes in ascending order.
    Many(Arc<[NodeTasks]>),
    /// Several nodes in another order.
    Ranked(Arc<[NodeTasks]>),
    /// Several nodes in ascending order, of a job that released them: a fifth of the memory on real logs.
    Ranges(Arc<[NodeRange]>),
    /// One range of nodes of a job that released them; stored inline.
    Range([NodeRange; 1]),
}

impl Placement {
    /// Creates the placement on these nodes, in this order.
    #[must_use]
    pub fn of(nodes: &[NodeTasks]) -> Self {
        match nodes {
            [] => Self::Nowhere,
            [one] => Self::One([*one]),
            many if many.is_sorted() => Self::Many(many.into()),
            many => Self::Ranked(many.into()),
        }
    }

    /// The nodes in the order of the ranks, of a job that has not released them.
    #[must_use]
    pub fn nodes(&self) -> &[NodeTasks] {
        match self {
            Self::Nowhere => &[],
            Self::One(one) => one,
            Self::Many(many) | Self::Ranked(many) => many,
            Self::Ranges(_) | Self::Range(_) => {
                debug_assert!(false, "what became of a job is asked by `listed` or `ranges`");
                &[]
            }
        }
    }

    /// The ranges of a job that released its nodes, if they are stored as ranges.
    fn shortened(&self) -> Option<&[NodeRange]> {
        match self {
            Self::Ranges(ranges) => Some(ranges),
            Self::Range(range) => Some(range),
            _ => None,
        }
    }

    /// The nodes in the order of the ranks.
    #[must_use]
    pub fn listed(&self) -> Cow<'_, [NodeTasks]> {
        match self.shortened() {
            Some(ranges) => ranges.iter().flat_map(|range| range.nodes()).collect(),
            None => Cow::Borrowed(self.nodes()),
        }
    }

    /// The nodes in the order of the ranks, as ranges.
    pub fn ranges(&self) -> impl Iterator<Item = NodeRange> {
        let short = self.shortened();
        let long: &[NodeTasks] = if short.is_some() { &[] } else { self.nodes() };
        short.unwrap_or_default().iter().copied().chain(NodeRange::of(long))
    }

    /// Returns whether the placement has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Nowhere)
    }

    /// Number of tasks. O(nodes), or O(ranges) if stored as ranges.
    #[must_use]
    pub fn tasks(&self) -> u64 {
        match self.shortened() {
            Some(ranges) => ranges.iter().map(|range| u64::from(range.count) * u64::from(range.tasks)).sum(),
            None => self.nodes().iter().map(|part| u64::from(part.tasks)).sum(),
        }
    }

    /// Stores several ascending nodes as ranges if these take less memory. O(k).
    pub fn shorten(&mut self) {
        let Self::Many(many) = self else { return };
        let count = NodeRange::of(many).count();
        if count * size_of::<NodeRange>() < size_of_val(&**many) {
            let first = if count == 1 { NodeRange::of(many).next() } else { None };
            let all = || Self::Ranges(NodeRange::of(many).collect());
            *self = first.map_or_else(all, |range| Self::Range([range]));
        }
    }

    /// The nodes in ascending order.
    #[must_use]
    pub fn by_index(&self) -> Cow<'_, [NodeTasks]> {
        match self {
            Self::Ranked(ranked) => {
                let mut sorted = ranked.to_vec();
                sorted.sort_unstable();
                Cow::Owned(sorted)
            }
            _ => self.listed(),
        }
    }

    /// Returns whether the placement contains a node. O(log k) if the nodes are in ascending order, otherwise O(k).
    #[must_use]
    pub fn has(&self, node: u32) -> bool {
        match self {
            Self::Ranked(ranked) => ranked.iter().any(|part| part.node == node),
            _ => match self.shortened() {
                Some(ranges) => {
                    let next = ranges.partition_point(|range| range.first <= node);
                    next > 0 && node - ranges[next - 1].first < ranges[next - 1].count
                }
                None => self.nodes().binary_search_by_key(&node, |part| part.node).is_ok(),
            },
        }
    }
}

/// The placement of tasks on these nodes, one entry per task, grouped by node in ascending order.
#[must_use]
pub fn placement_of_ranks(ranks: &[u32]) -> Vec<NodeTasks> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| NodeTasks { node: run[0], tasks: run.len() as u32 }).collect()
}

/// The node of each task, node by node.
#[must_use]
pub fn ranks_of_placement(placement: &[NodeTasks]) -> Vec<u32> {
    placement.iter().flat_map(|part| (0..part.tasks).map(|_| part.node)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_are_the_same_nodes(parts in prop::collection::btree_map(0..40_u32, 1..3_u32, 0..20)) {
            let nodes: Vec<NodeTasks> = parts.iter().map(|(&node, &tasks)| NodeTasks { node, tasks }).collect();
            let (long, mut short) = (Placement::of(&nodes), Placement::of(&nodes));
            short.shorten();
            prop_assert_eq!(&*short.listed(), &*nodes);
            prop_assert!(short.ranges().eq(long.ranges()));
            prop_assert_eq!(short.tasks(), long.tasks());
            prop_assert!((0..41).all(|node| short.has(node) == long.has(node)));
            prop_assert_eq!(short.is_empty(), nodes.is_empty());
        }
    }

    #[test]
    fn nodes_in_the_order_of_ranks_stay_as_they_are() {
        let nodes = [3, 2, 1].map(|node| NodeTasks { node, tasks: 1 });
        let mut placement = Placement::of(&nodes);
        placement.shorten();
        assert_eq!(&*placement.listed(), &nodes);
    }
}
