//! Ranks that wait for a time: a heap, O(log n). Adjacent ranks that wait for the same time share one entry.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::time::FineTime;

/// Ranks of a run that wait for a time, ordered by `(time, sequence)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timer {
    /// The time at which they continue.
    pub time: FineTime,
    sequence: u64,
    /// The index of the run, which may be reused.
    pub slot: u32,
    /// The serial number of the run, which is unique.
    pub serial: u64,
    /// The first rank.
    pub first: u32,
    /// Number of ranks.
    pub count: u32,
}

/// Timers, the earliest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
    /// The last timer, while others may join it.
    open: Option<Timer>,
    sequence: u64,
}

impl Timers {
    /// Makes a rank wait until `time`.
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

    /// The time of the next timer that is not stale, i.e. with a run that still exists.
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

    /// Removes and returns the next timer.
    pub fn pop(&mut self) -> Option<Timer> {
        self.heap.pop().map(|next| next.0)
    }
}
