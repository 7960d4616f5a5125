//! Timers set from outside. O(log n) to set one and to remove the next one.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::decision::TimerPurpose;
use crate::time::Time;

/// A timer. The derived order is that defined in S2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Timer {
    time: Time,
    /// True if its caller only observes: it neither keeps a run going nor makes a pass due.
    pub watching: bool,
    sequence: u64,
    /// Number of its caller.
    pub caller: u32,
    /// True if its only effect is that nodes become available again.
    repairs: bool,
}

/// The pending timers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Timers {
    heap: BinaryHeap<Reverse<Timer>>,
    set: u64,
    /// Number of timers that only observe.
    watching: usize,
    /// Number of timers that only return nodes.
    repairing: usize,
}

impl Timers {
    /// Set a timer.
    pub fn set(&mut self, time: f64, caller: u32, purpose: TimerPurpose) {
        let (watching, repairs) = (purpose == TimerPurpose::Watch, purpose == TimerPurpose::Repair);
        self.heap.push(Reverse(Timer {
            time: Time(time + 0.0),
            watching,
            sequence: self.set,
            caller,
            repairs,
        }));
        self.set += 1;
        self.watching += usize::from(watching);
        self.repairing += usize::from(repairs);
    }

    /// Return when the next timer is due; [`Time::NEVER`] without timers.
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |next| next.0.time)
    }

    /// Remove and return the next timer if it is due.
    pub fn pop_at(&mut self, now: Time) -> Option<Timer> {
        if self.next_time() > now {
            return None;
        }
        let timer = self.heap.pop()?.0;
        self.watching -= usize::from(timer.watching);
        self.repairing -= usize::from(timer.repairs);
        Some(timer)
    }

    /// Return whether a timer is pending.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.heap.is_empty()
    }

    /// Return whether a timer is pending that may have any effect.
    #[must_use]
    pub fn any_acting(&self) -> bool {
        self.heap.len() > self.watching + self.repairing
    }

    /// Return whether a timer is pending that returns nodes.
    #[must_use]
    pub fn any_repairing(&self) -> bool {
        self.repairing > 0
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
            timers.set(time, caller, if watching { TimerPurpose::Watch } else { TimerPurpose::Act });
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
        timers.set(1.0, 0, TimerPurpose::Watch);
        assert!(timers.any() && !timers.any_acting());
        timers.set(1.5, 1, TimerPurpose::Repair);
        assert!(timers.any_repairing() && !timers.any_acting());
        timers.set(2.0, 2, TimerPurpose::Act);
        assert!(timers.any_acting());
        timers.pop_at(Time(1.0));
        timers.pop_at(Time(1.5));
        assert!(timers.any_acting() && !timers.any_repairing());
    }
}
