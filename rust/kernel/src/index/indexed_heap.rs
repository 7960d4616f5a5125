//! An addressable binary heap: the position of every entry is known, so that a key can be changed or removed at any
//! time.
//!
//! O(log n) to set, remove and pop, O(1) to read the least entry, or an entry by its id; it never contains stale
//! entries. The order of entries with equal keys depends on the history; if the order matters, keys must be unique
//! (e.g. a time and a sequence number). Memory is O(greatest id + entries).

use serde::{Deserialize, Serialize};

/// Marks an id that is not in the heap.
const ABSENT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Entry<K> {
    key: K,
    id: u32,
}

/// A heap of ids `0, 1, …`, each at most once, with the least key first. Ids should be dense: each takes memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IndexedHeap<K> {
    heap: Vec<Entry<K>>,
    /// The position of each id in `heap`.
    places: Vec<u32>,
}

impl<K> Default for IndexedHeap<K> {
    fn default() -> Self {
        Self { heap: Vec::new(), places: Vec::new() }
    }
}

impl<K: Ord + Copy> IndexedHeap<K> {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Returns whether the heap is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// The key of an id; None if it is not in the heap.
    #[must_use]
    pub fn key(&self, id: u32) -> Option<K> {
        self.place(id).map(|place| self.heap[place].key)
    }

    /// The least key, and its id.
    #[must_use]
    pub fn peek(&self) -> Option<(K, u32)> {
        self.heap.first().map(|entry| (entry.key, entry.id))
    }

    /// All entries, unordered.
    pub fn iter(&self) -> impl Iterator<Item = (K, u32)> {
        self.heap.iter().map(|entry| (entry.key, entry.id))
    }

    /// All entries with keys <= `most`, unordered. O(entries found).
    #[must_use]
    pub fn due(&self, most: &K) -> Vec<(K, u32)> {
        self.due_where(|key| key <= most)
    }

    /// All entries with due keys, unordered. Keys less than a due key must be due too. O(entries found).
    #[must_use]
    pub fn due_where(&self, is_due: impl Fn(&K) -> bool) -> Vec<(K, u32)> {
        let mut found = Vec::new();
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if let Some(entry) = self.heap.get(at).filter(|entry| is_due(&entry.key)) {
                found.push((entry.key, entry.id));
                open.extend([2 * at + 1, 2 * at + 2]);
            }
        }
        found
    }

    /// Inserts an id, or changes its key; returns its previous key.
    pub fn set(&mut self, id: u32, key: K) -> Option<K> {
        if let Some(place) = self.place(id) {
            let before = std::mem::replace(&mut self.heap[place].key, key);
            if key < before {
                self.rise(place);
            } else {
                self.fall(place);
            }
            return Some(before);
        }
        if self.places.len() <= id as usize {
            self.places.resize(id as usize + 1, ABSENT);
        }
        self.heap.push(Entry { key, id });
        self.rise(self.heap.len() - 1);
        None
    }

    /// Removes an id; returns its key, or None if it was not in the heap.
    pub fn remove(&mut self, id: u32) -> Option<K> {
        let place = self.place(id)?;
        Some(self.take(place, id))
    }

    /// Removes the entry at a position.
    fn take(&mut self, place: usize, id: u32) -> K {
        self.places[id as usize] = ABSENT;
        let entry = self.heap.swap_remove(place);
        if place < self.heap.len() {
            self.settle(place);
        }
        entry.key
    }

    /// Removes the entry with the least key.
    pub fn pop(&mut self) -> Option<(K, u32)> {
        let first = self.peek()?;
        self.remove(first.1);
        Some(first)
    }

    /// Removes all entries, and keeps the memory. O(entries).
    pub fn clear(&mut self) {
        for entry in self.heap.drain(..) {
            self.places[entry.id as usize] = ABSENT;
        }
    }

    #[inline]
    fn place(&self, id: u32) -> Option<usize> {
        self.places.get(id as usize).filter(|place| **place != ABSENT).map(|place| *place as usize)
    }

    /// Moves an entry to its position.
    fn settle(&mut self, at: usize) {
        if at > 0 && self.heap[at].key < self.heap[(at - 1) / 2].key {
            self.rise(at);
        } else {
            self.sink(at);
        }
    }

    fn rise(&mut self, at: usize) {
        self.rise_to(0, at);
    }

    /// Moves an entry up to its position, at most to `top`.
    fn rise_to(&mut self, top: usize, mut at: usize) {
        let entry = self.heap[at];
        while at > top {
            let above = (at - 1) / 2;
            if entry.key >= self.heap[above].key {
                break;
            }
            self.put(at, self.heap[above]);
            at = above;
        }
        self.put(at, entry);
    }

    /// Moves an entry to the bottom and from there up again. The entry mostly came from the bottom, so this takes about
    /// one comparison per level.
    fn sink(&mut self, mut at: usize) {
        let entry = self.heap[at];
        let top = at;
        let end = self.heap.len();
        let mut below = 2 * at + 1;
        while let Some([left, right]) = self.heap.get(below..below + 2) {
            let is_right = right.key < left.key;
            let least = if is_right { *right } else { *left };
            below += usize::from(is_right);
            self.put(at, least);
            at = below;
            below = 2 * at + 1;
        }
        if below < end {
            self.put(at, self.heap[below]);
            at = below;
        }
        self.heap[at] = entry;
        self.rise_to(top, at);
    }

    /// Moves an entry down to its position; an entry with an increased key mostly stays near.
    fn fall(&mut self, mut at: usize) {
        let entry = self.heap[at];
        let end = self.heap.len();
        let mut below = 2 * at + 1;
        while below < end {
            below += usize::from(below + 1 < end && self.heap[below + 1].key < self.heap[below].key);
            if entry.key <= self.heap[below].key {
                break;
            }
            self.put(at, self.heap[below]);
            at = below;
            below = 2 * at + 1;
        }
        self.put(at, entry);
    }

    fn put(&mut self, at: usize, entry: Entry<K>) {
        self.heap[at] = entry;
        self.places[entry.id as usize] = at as u32;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_least_key_comes_first_and_keys_can_be_changed() {
        let mut heap = IndexedHeap::default();
        assert_eq!(heap.peek(), None::<(u32, u32)>);
        assert_eq!(heap.set(7, 30), None);
        assert_eq!(heap.set(2, 20), None);
        assert_eq!(heap.set(7, 10), Some(30));
        assert_eq!((heap.peek(), heap.key(2), heap.key(3)), (Some((10, 7)), Some(20), None));
        assert_eq!((heap.remove(9), heap.remove(7), heap.remove(7)), (None, Some(10), None));
        assert_eq!((heap.pop(), heap.pop(), heap.is_empty()), (Some((20, 2)), None, true));
    }

    proptest! {
        #[test]
        fn it_does_what_a_map_searched_through_does(
            steps in prop::collection::vec((0..4u8, 0..40u32, 0..50u32), 0..400)
        ) {
            let mut heap = IndexedHeap::default();
            let mut map = BTreeMap::new();
            for (at, (kind, id, number)) in steps.into_iter().enumerate() {
                // Keys are unique, so the order is total.
                let key = (number, at);
                match kind {
                    0 => prop_assert_eq!(heap.remove(id), map.remove(&id)),
                    1 => {
                        let least = map.iter().map(|(&id, &key)| (key, id)).min();
                        prop_assert_eq!(heap.pop(), least);
                        least.map(|(_, id)| map.remove(&id));
                    }
                    _ => prop_assert_eq!(heap.set(id, key), map.insert(id, key)),
                }
                prop_assert_eq!(heap.len(), map.len());
                prop_assert_eq!(heap.peek(), map.iter().map(|(&id, &key)| (key, id)).min());
                prop_assert_eq!(heap.key(id), map.get(&id).copied());
                let mut all: Vec<_> = heap.iter().collect();
                all.sort_unstable_by_key(|entry| entry.1);
                prop_assert_eq!(all, map.iter().map(|(&id, &key)| (key, id)).collect::<Vec<_>>());
            }
            heap.clear();
            prop_assert!(heap.is_empty() && heap.key(0).is_none());
        }
    }
}
