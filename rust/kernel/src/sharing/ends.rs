//! The queue of predicted ends: a binary heap in which every entry knows its place.
//!
//! O(log n) to add, move and remove; nothing stale is ever in it.

use serde::{Deserialize, Serialize};

/// No place in the heap.
const ABSENT: u32 = u32::MAX;

/// When something happens to an activity; ordered by time, then by start.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry {
    time: f64,
    sequence: u64,
    activity: u32,
}

impl Entry {
    fn before(&self, other: &Self) -> bool {
        self.time < other.time || (self.time == other.time && self.sequence < other.sequence)
    }
}

/// The heap.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Ends {
    heap: Vec<Entry>,
    place: Vec<u32>,
}

impl Ends {
    /// The next time and whose it is.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        self.heap.first().map(|entry| (entry.time, entry.activity))
    }

    /// Sets the time of an activity; infinite: it is not waited for.
    pub(super) fn set(&mut self, activity: u32, sequence: u64, time: f64) {
        if self.place.len() <= activity as usize {
            self.place.resize(activity as usize + 1, ABSENT);
        }
        let at = self.place[activity as usize];
        if time.is_infinite() {
            self.remove(activity);
        } else if at == ABSENT {
            self.heap.push(Entry { time, sequence, activity });
            self.rise(self.heap.len() - 1);
        } else {
            self.heap[at as usize] = Entry { time, sequence, activity };
            self.settle(at as usize);
        }
    }

    /// Takes an activity out, if it is in.
    pub(super) fn remove(&mut self, activity: u32) {
        let Some(&at) = self.place.get(activity as usize) else { return };
        if at == ABSENT {
            return;
        }
        self.place[activity as usize] = ABSENT;
        self.heap.swap_remove(at as usize);
        if (at as usize) < self.heap.len() {
            self.settle(at as usize);
        }
    }

    /// Moves an entry to where it belongs.
    fn settle(&mut self, at: usize) {
        let at = self.rise(at);
        self.sink(at);
    }

    fn rise(&mut self, mut at: usize) -> usize {
        let entry = self.heap[at];
        while at > 0 {
            let above = (at - 1) / 2;
            if !entry.before(&self.heap[above]) {
                break;
            }
            self.put(at, self.heap[above]);
            at = above;
        }
        self.put(at, entry);
        at
    }

    fn sink(&mut self, mut at: usize) {
        let entry = self.heap[at];
        loop {
            let mut below = 2 * at + 1;
            if below >= self.heap.len() {
                break;
            }
            if below + 1 < self.heap.len() && self.heap[below + 1].before(&self.heap[below]) {
                below += 1;
            }
            if !self.heap[below].before(&entry) {
                break;
            }
            self.put(at, self.heap[below]);
            at = below;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry) {
        self.heap[at] = entry;
        self.place[entry.activity as usize] = at as u32;
    }
}
