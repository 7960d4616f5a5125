//! The nodes that no plan holds within a window of time that moves on.
use super::node_bits::NodeBits;
use super::node_space::{NodeSpace, Record};

/// The records of a plan that meet a window of time, and the nodes that are free in all of them.
///
/// It is a queue as two stacks: of the older records the nodes free from each on are kept, of the newer ones those free in
/// all. So to move the window on costs O(nodes / 64) for each record that comes or goes, on average.
#[derive(Debug)]
pub(super) struct FreeWindow {
    /// The nodes that are free from each of the older records on, to the last of these; the oldest comes last.
    older: Vec<NodeBits>,
    /// The nodes that are free in all of the newer records.
    newer: NodeBits,
    /// The first of the records, the first of the newer ones, and the end of these.
    first: usize,
    middle: usize,
    end: usize,
    all: NodeBits,
}

impl FreeWindow {
    /// A window from this time on, of no length.
    pub(super) fn new(nodes: usize, space: &NodeSpace, start: f64) -> Self {
        let first = space.first_after(start);
        let all = NodeBits::full(nodes);
        Self { older: Vec::new(), newer: all.clone(), first, middle: first, end: first, all }
    }

    /// The first of the records that end after the start of the window.
    pub(super) fn first(&self) -> usize {
        self.first
    }

    /// Moves the window on to [start, end], neither of which is earlier than before, and leaves those of the nodes that are
    /// free in all of it; a plan that begins just at the end counts.
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

    /// Makes the newer records the older ones.
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
