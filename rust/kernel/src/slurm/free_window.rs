//! Nodes that are free of plans within a moving window of time.
use super::node_space::{NodeSpace, Record};
use crate::index::NodeBits;

/// The records of a plan that overlap a window of time, and the nodes that are free in all of them.
///
/// A queue as two stacks: for each older record, the nodes free from it on are kept; for the newer ones, the nodes free
/// in all of them. So moving the window costs amortised O(nodes / 64) for each record that enters or leaves.
#[derive(Debug)]
pub(super) struct FreeWindow {
    /// For each older record, the nodes that are free in it and all later older records; the oldest comes last.
    older: Vec<NodeBits>,
    /// Nodes that are free in all newer records.
    newer: NodeBits,
    /// Indices of the first record, of the first newer one, and the end of these.
    first: usize,
    middle: usize,
    end: usize,
    all: NodeBits,
}

impl FreeWindow {
    /// Create an empty window that begins at this time.
    pub(super) fn new(nodes: usize, space: &NodeSpace, start: f64) -> Self {
        let first = space.first_after(start);
        let all = NodeBits::full(nodes);
        Self { older: Vec::new(), newer: all.clone(), first, middle: first, end: first, all }
    }

    /// Return the first record that ends after the begin of the window.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// Move the window to [start, end], neither of which may decrease, and remove the nodes that are not free in all of
    /// it. A plan that begins exactly at the end counts.
    pub(super) fn keep_free(&mut self, space: &NodeSpace, start: f64, end: f64, nodes: &mut NodeBits) {
        let records = space.records();
        while records.get(self.end).is_some_and(|record| record.begin <= end) {
            self.newer.keep(&records[self.end].free);
            self.end += 1;
        }
        while records[self.first..self.end].first().is_some_and(|record| record.end <= start) {
            if self.first == self.middle {
                self.turn(records);
            }
            self.older.pop();
            self.first += 1;
        }
        nodes.keep(self.older.last().unwrap_or(&self.all));
        nodes.keep(&self.newer);
    }

    /// Turn the newer records into older ones.
    fn turn(&mut self, records: &[Record]) {
        for record in records[self.first..self.end].iter().rev() {
            let mut free = record.free.clone();
            if let Some(later) = self.older.last() {
                free.keep(later);
            }
            self.older.push(free);
        }
        self.middle = self.end;
        self.newer.clone_from(&self.all);
    }
}
