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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_go_off_by_time_then_those_that_only_watch_then_as_set() {
        let mut timers = Timers::default();
        for (time, caller, watching) in
            [(5.0, 0, true), (5.0, 1, false), (-0.0, 2, true), (5.0, 3, false), (0.0, 4, true)]
        {
            timers.set(time, caller, watching);
        }
        assert_eq!(timers.next_time(), Time(0.0));
        let mut taken = Vec::new();
        while let Some(timer) = timers.pop_at(Time(0.0)) {
            taken.push(timer.caller);
        }
        assert_eq!(taken, [2, 4]);
        assert!(timers.any() && timers.any_acting());
        while let Some(timer) = timers.pop_at(Time(9.0)) {
            taken.push(timer.caller);
        }
        assert_eq!(taken, [2, 4, 1, 3, 0]);
        assert!(!timers.any());
        assert_eq!(timers.next_time(), Time::NEVER);
    }

    #[test]
    fn timers_that_only_watch_bring_nothing_about() {
        let mut timers = Timers::default();
        timers.set(1.0, 0, true);
        assert!(timers.any() && !timers.any_acting());
        timers.set(2.0, 1, false);
        assert!(timers.any_acting());
    }
}
