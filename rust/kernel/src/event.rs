//! The event queue and its written total order: `(time, kind, sequence)`.
//!
//! Submissions are not kept here: the workload hands them over in order, so they are merged with this queue.
//! A binary heap: O(log n) to push and to pop, n the number of running jobs.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::time::Time;

/// What happens; at one instant, in the order in which the kinds stand here (S2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Somebody outside wanted to be woken; what it then does to nodes comes before everything else.
    Timer,
    /// Somebody outside wanted to look: this keeps nothing going, and lets nobody decide.
    Watch,
    /// A running job ends, by itself or killed at its requested time.
    Completion,
    /// A running job reaches its estimate.
    Expiry,
}

/// One event. The derived order is the total order of S2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// When it happens.
    pub time: Time,
    /// What happens.
    pub kind: Kind,
    /// Breaks ties within a kind: the job's row, or the number of its start where there is a pass after every event.
    pub sequence: u64,
    /// The job it happens to; for a timer, whose it is.
    pub job: u32,
}

/// Pending events, the next one first.
#[derive(Clone, Debug, Default)]
pub struct EventQueue {
    heap: BinaryHeap<Reverse<Event>>,
}

impl EventQueue {
    /// Adds an event.
    pub fn push(&mut self, event: Event) {
        self.heap.push(Reverse(event));
    }

    /// The time of the next event; [`Time::NEVER`] where there is none.
    #[must_use]
    pub fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |next| next.0.time)
    }

    /// Drops events from the front while they are stale: those of runs that were interrupted.
    pub fn drop_stale(&mut self, is_stale: impl Fn(&Event) -> bool) {
        while self.heap.peek().is_some_and(|next| is_stale(&next.0)) {
            self.heap.pop();
        }
    }

    /// Whether the next event is a timer, and due at `time`.
    #[must_use]
    pub fn wakes_at(&self, time: Time) -> bool {
        self.heap.peek().is_some_and(|next| next.0.time == time && next.0.kind <= Kind::Watch)
    }

    /// Drops all events of a kind. O(n).
    pub fn drop_kind(&mut self, kind: Kind) {
        self.heap.retain(|event| event.0.kind != kind);
    }

    /// Takes the next event if it is due at `time`.
    pub fn pop_at(&mut self, time: Time) -> Option<Event> {
        if self.next_time() == time { self.heap.pop().map(|next| next.0) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_row() {
        let mut queue = EventQueue::default();
        for (time, sequence) in [(5.0, 1), (3.0, 9), (3.0, 2), (4.0, 0)] {
            queue.push(Event { time: Time(time), kind: Kind::Completion, sequence, job: 0 });
        }
        let mut seen = Vec::new();
        while queue.next_time() != Time::NEVER {
            let event = queue.pop_at(queue.next_time()).expect("one is due");
            seen.push((event.time.0, event.sequence));
        }
        assert_eq!(seen, [(3.0, 2), (3.0, 9), (4.0, 0), (5.0, 1)]);
    }
}
