//! Timers that were set from outside. O(log n) to set one and to take the next.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// One timer. The derived order is that of S2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timer {
    time: Time,
    /// Whether its caller only watches: this keeps no run going and makes no pass due.
    pub watching: bool,
    sequence: u64,
    /// The number of its caller.
    pub caller: u32,
}

/// The timers that are set.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
    set: u64,
    /// How many of them only watch.
    watching: usize,
}

impl Timers {
    /// Sets a timer.
    pub fn set(&mut self, time: f64, caller: u32, watching: bool) {
        self.heap.push(Reverse(Timer { time: Time(time + 0.0), watching, sequence: self.set, caller }));
        self.set += 1;
        self.watching += usize::from(watching);
    }

    /// When the next is due; [`Time::NEVER`] where there is none.
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |next| next.0.time)
    }

    /// Takes the next one, if it is due.
    pub fn pop_at(&mut self, now: Time) -> Option<Timer> {
        if self.next_time() > now {
            return None;
        }
        let timer = self.heap.pop()?.0;
        self.watching -= usize::from(timer.watching);
        Some(timer)
    }

    /// Whether there is one.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.heap.is_empty()
    }

    /// Whether there is one that may bring something about.
    #[must_use]
    pub fn any_acting(&self) -> bool {
        self.heap.len() > self.watching
    }
}
