//! Ranks that wait for a time: a heap, O(log n). Neighbours that wait for the same time share one entry.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::time::FineTime;

/// Some ranks of a run that wait for a time, in the order `(time, sequence)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timer {
    /// When they go on.
    pub time: FineTime,
    sequence: u64,
    /// Where the run is, and which it is: places are given back.
    pub slot: u32,
    /// See above.
    pub serial: u64,
    /// The first of the ranks.
    pub first: u32,
    /// How many.
    pub count: u32,
}

/// Timers, the next one first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
    /// The last one, as long as others may join it.
    open: Option<Timer>,
    sequence: u64,
}

impl Timers {
    /// Has a rank wait until `time`.
    pub fn add(&mut self, time: FineTime, slot: u32, serial: u64, rank: u32) {
        if let Some(open) = &mut self.open
            && open.serial == serial
            && open.time == time
            && open.first + open.count == rank
        {
            open.count += 1;
            return;
        }
        self.sequence += 1;
        let timer = Timer { time, sequence: self.sequence, slot, serial, first: rank, count: 1 };
        self.heap.extend(self.open.replace(timer).map(Reverse));
    }

    /// The time of the next timer that is not stale: whose run is still there.
    pub fn next_time(&mut self, is_stale: impl Fn(&Timer) -> bool) -> FineTime {
        self.heap.extend(self.open.take().map(Reverse));
        while let Some(next) = self.heap.peek() {
            if !is_stale(&next.0) {
                return next.0.time;
            }
            self.heap.pop();
        }
        FineTime::NEVER
    }

    /// Takes the next timer.
    pub fn pop(&mut self) -> Option<Timer> {
        self.heap.pop().map(|next| next.0)
    }
}
