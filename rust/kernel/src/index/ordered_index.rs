//! An ordered set with summaries of subtrees: the index of the queue, the running jobs and the nodes by load.
//!
//! A treap in flat arrays: insert, remove and "the first entry after this one that could match" cost O(log n) expected.
//! A search prunes every subtree with a summary that cannot match; if summaries are only necessary conditions, it may
//! visit more. Priorities are computed from a counter with `mix`, so that the shape depends only on the history.
#[cfg(test)]
mod tests;

use std::marker::PhantomData;

use serde::{Deserialize, Serialize};

use crate::random::mix;

const NIL: u32 = u32::MAX;

/// Combines summaries of two parts. Associative and commutative.
pub trait Summary {
    /// The summary of an empty set.
    const EMPTY: i64;
    /// Combines two summaries.
    fn join(a: i64, b: i64) -> i64;
}

/// Least value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Least;
/// Greatest value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Greatest;
/// Sum of the values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum;

impl Summary for Least {
    const EMPTY: i64 = i64::MAX;
    fn join(a: i64, b: i64) -> i64 {
        a.min(b)
    }
}

impl Summary for Greatest {
    const EMPTY: i64 = i64::MIN;
    fn join(a: i64, b: i64) -> i64 {
        a.max(b)
    }
}

impl Summary for Sum {
    const EMPTY: i64 = 0;
    fn join(a: i64, b: i64) -> i64 {
        a + b
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Node<K> {
    key: K,
    left: u32,
    right: u32,
    priority: u32,
}

/// The ordered set: keys of type `K`, each with `width` values, summarised by `S`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OrderedIndex<K, S> {
    width: usize,
    nodes: Vec<Node<K>>,
    values: Vec<i64>,
    summaries: Vec<i64>,
    root: u32,
    vacant: Vec<u32>,
    /// Scratch space.
    #[serde(skip)]
    path: Vec<u32>,
    inserted: u64,
    summary: PhantomData<S>,
}

impl<K: Ord + Copy, S: Summary> OrderedIndex<K, S> {
    /// Creates an empty set with `width` values per entry.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            width,
            nodes: Vec::new(),
            values: Vec::new(),
            summaries: Vec::new(),
            root: NIL,
            vacant: Vec::new(),
            path: Vec::new(),
            inserted: 0,
            summary: PhantomData,
        }
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len() - self.vacant.len()
    }

    /// Returns whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.root == NIL
    }

    /// Removes every entry.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.values.clear();
        self.summaries.clear();
        self.vacant.clear();
        self.root = NIL;
    }

    /// The summary of all entries, `width` values; `None` if the set is empty.
    #[must_use]
    pub fn summary(&self) -> Option<&[i64]> {
        (self.root != NIL).then(|| self.summary_of(self.root))
    }

    /// Adds an entry. The key must not be present.
    pub fn insert(&mut self, key: K, values: &[i64]) {
        debug_assert_eq!(values.len(), self.width);
        let priority = (mix(0, self.inserted) >> 32) as u32;
        self.inserted += 1;
        let new = self.allocate(key, priority, values);
        // Descend while the existing nodes have higher priority; each of them gets the new entry below it.
        let (mut parent, mut at) = (NIL, self.root);
        while at != NIL && self.nodes[at as usize].priority >= priority {
            self.join_into(at, new);
            parent = at;
            let node = &self.nodes[at as usize];
            at = if key < node.key { node.left } else { node.right };
        }
        if at != NIL {
            let (left, right) = self.split(at, &key);
            self.nodes[new as usize].left = left;
            self.nodes[new as usize].right = right;
            self.refresh(new);
        }
        self.replace_child(parent, at, new, &key);
    }

    /// Removes an entry; returns whether it was present.
    pub fn remove(&mut self, key: &K) -> bool {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        let mut at = self.root;
        while at != NIL && self.nodes[at as usize].key != *key {
            path.push(at);
            let node = &self.nodes[at as usize];
            at = if *key < node.key { node.left } else { node.right };
        }
        let found = at != NIL;
        if found {
            let Node { left, right, .. } = self.nodes[at as usize];
            let merged = self.merge(left, right);
            self.replace_child(path.last().copied().unwrap_or(NIL), at, merged, key);
            // Above an unchanged summary nothing changes.
            path.iter().rev().all(|&ancestor| self.refresh(ancestor));
            self.vacant.push(at);
        }
        self.path = path;
        found
    }

    /// Replaces every key; `key` is called in the present order and must return unique keys. O(n) if the new order is
    /// the same or nearly the same, otherwise O(n log n).
    pub fn rekey(&mut self, mut key: impl FnMut(&K) -> K) {
        let mut places = std::mem::take(&mut self.path);
        places.clear();
        self.places(self.root, &mut places);
        let (mut is_sorted, mut last) = (true, None);
        for &at in &places {
            let node = &mut self.nodes[at as usize];
            node.key = key(&node.key);
            is_sorted &= last.is_none_or(|last| last <= node.key);
            last = Some(node.key);
        }
        if !is_sorted {
            self.sort(&places);
        }
        self.path = places;
    }

    /// Sorts the entries at these positions; the tree keeps its shape.
    fn sort(&mut self, places: &[u32]) {
        let mut order: Vec<(K, u32)> = places.iter().map(|&at| (self.nodes[at as usize].key, at)).collect();
        order.sort();
        let before = self.values.clone();
        for (&at, (key, from)) in places.iter().zip(order) {
            self.nodes[at as usize].key = key;
            let (from, to) = (from as usize * self.width, at as usize * self.width);
            self.values[to..to + self.width].copy_from_slice(&before[from..from + self.width]);
        }
        self.refresh_all(self.root);
    }

    /// The first key in order, if any.
    #[must_use]
    pub fn first(&self) -> Option<K> {
        let mut at = self.root;
        let mut first = None;
        while at != NIL {
            first = Some(self.nodes[at as usize].key);
            at = self.nodes[at as usize].left;
        }
        first
    }

    /// The first entry after `after` (from the start if `None`) with values that satisfy `matches`.
    ///
    /// `matches` is also called with summaries: it must be true for a summary if it is true for any entry below.
    pub fn first_matching(&self, after: Option<&K>, matches: &impl Fn(&[i64]) -> bool) -> Option<K> {
        self.search(self.root, after, matches)
    }

    /// The last entry before `before` (from the end if `None`) with values that satisfy `matches`.
    pub fn last_matching(&self, before: Option<&K>, matches: &impl Fn(&[i64]) -> bool) -> Option<K> {
        self.search_back(self.root, before, matches)
    }

    /// Calls `visit` with the entries after `after` (from the start if `None`) with values that satisfy `matches`, in
    /// order, until it returns false; `matches` is also called with summaries. O(log n) and O(entries visited),
    /// expected.
    pub fn visit_matching(
        &self,
        after: Option<&K>,
        matches: &impl Fn(&[i64]) -> bool,
        visit: &mut impl FnMut(K) -> bool,
    ) {
        self.visit_matching_from(self.root, after, matches, visit);
    }

    /// Calls `visit` with every key in order, until it returns false.
    pub fn visit(&self, visit: &mut impl FnMut(K) -> bool) {
        self.visit_from(self.root, visit);
    }

    /// The first key such that `reached` is true for the combined values of all entries up to and including it.
    ///
    /// `reached` must be monotone along the order. `carried` contains `width` initial values, and is modified.
    pub fn first_prefix(&self, carried: &mut [i64], reached: &impl Fn(&[i64]) -> bool) -> Option<K> {
        let mut trial = carried.to_vec();
        let mut found = None;
        let mut at = self.root;
        while at != NIL {
            let node = &self.nodes[at as usize];
            trial.copy_from_slice(carried);
            if node.left != NIL {
                Self::join_slice(&mut trial, self.summary_of(node.left));
                if reached(&trial) {
                    at = node.left;
                    continue;
                }
            }
            Self::join_slice(&mut trial, self.value_of(at));
            if reached(&trial) {
                found = Some(node.key);
                break;
            }
            carried.copy_from_slice(&trial);
            at = node.right;
        }
        found
    }

    /// Combines into `carried` the values of all entries for which `within` is true; these must be a prefix.
    pub fn join_prefix(&self, carried: &mut [i64], within: &impl Fn(&K) -> bool) {
        let mut at = self.root;
        while at != NIL {
            let node = &self.nodes[at as usize];
            if within(&node.key) {
                Self::join_slice(carried, self.value_of(at));
                if node.left != NIL {
                    Self::join_slice(carried, self.summary_of(node.left));
                }
                at = node.right;
            } else {
                at = node.left;
            }
        }
    }

    fn search(&self, at: u32, after: Option<&K>, matches: &impl Fn(&[i64]) -> bool) -> Option<K> {
        if at == NIL || !matches(self.summary_of(at)) {
            return None;
        }
        let node = &self.nodes[at as usize];
        if after.is_some_and(|after| node.key <= *after) {
            return self.search(node.right, after, matches);
        }
        if let Some(found) = self.search(node.left, after, matches) {
            return Some(found);
        }
        if matches(self.value_of(at)) {
            return Some(node.key);
        }
        self.search(node.right, None, matches)
    }

    fn search_back(&self, at: u32, before: Option<&K>, matches: &impl Fn(&[i64]) -> bool) -> Option<K> {
        if at == NIL || !matches(self.summary_of(at)) {
            return None;
        }
        let node = &self.nodes[at as usize];
        if before.is_some_and(|before| node.key >= *before) {
            return self.search_back(node.left, before, matches);
        }
        if let Some(found) = self.search_back(node.right, before, matches) {
            return Some(found);
        }
        if matches(self.value_of(at)) {
            return Some(node.key);
        }
        self.search_back(node.left, None, matches)
    }

    fn visit_matching_from(
        &self,
        at: u32,
        after: Option<&K>,
        matches: &impl Fn(&[i64]) -> bool,
        visit: &mut impl FnMut(K) -> bool,
    ) -> bool {
        if at == NIL || !matches(self.summary_of(at)) {
            return true;
        }
        let node = &self.nodes[at as usize];
        if after.is_some_and(|after| node.key <= *after) {
            return self.visit_matching_from(node.right, after, matches, visit);
        }
        self.visit_matching_from(node.left, after, matches, visit)
            && (!matches(self.value_of(at)) || visit(node.key))
            && self.visit_matching_from(node.right, None, matches, visit)
    }

    fn visit_from(&self, at: u32, visit: &mut impl FnMut(K) -> bool) -> bool {
        if at == NIL {
            return true;
        }
        let node = self.nodes[at as usize];
        self.visit_from(node.left, visit) && visit(node.key) && self.visit_from(node.right, visit)
    }

    fn places(&self, at: u32, places: &mut Vec<u32>) {
        if at != NIL {
            let Node { left, right, .. } = self.nodes[at as usize];
            self.places(left, places);
            places.push(at);
            self.places(right, places);
        }
    }

    fn refresh_all(&mut self, at: u32) {
        if at != NIL {
            let Node { left, right, .. } = self.nodes[at as usize];
            self.refresh_all(left);
            self.refresh_all(right);
            self.refresh(at);
        }
    }

    /// Allocates an entry without children.
    fn allocate(&mut self, key: K, priority: u32, values: &[i64]) -> u32 {
        let node = Node { key, left: NIL, right: NIL, priority };
        if let Some(index) = self.vacant.pop() {
            let own = index as usize * self.width..(index as usize + 1) * self.width;
            self.nodes[index as usize] = node;
            self.values[own.clone()].copy_from_slice(values);
            self.summaries[own].copy_from_slice(values);
            index
        } else {
            self.nodes.push(node);
            self.values.extend_from_slice(values);
            self.summaries.extend_from_slice(values);
            (self.nodes.len() - 1) as u32
        }
    }

    fn replace_child(&mut self, parent: u32, old: u32, new: u32, key: &K) {
        if parent == NIL {
            self.root = new;
            return;
        }
        let node = &mut self.nodes[parent as usize];
        // `old` may be NIL on both sides, so the key decides.
        if *key < node.key {
            debug_assert_eq!(node.left, old);
            node.left = new;
        } else {
            debug_assert_eq!(node.right, old);
            node.right = new;
        }
    }

    /// Splits a subtree into the keys below `key` and the others.
    fn split(&mut self, at: u32, key: &K) -> (u32, u32) {
        if at == NIL {
            return (NIL, NIL);
        }
        if self.nodes[at as usize].key < *key {
            let (left, right) = self.split(self.nodes[at as usize].right, key);
            self.nodes[at as usize].right = left;
            self.refresh(at);
            (at, right)
        } else {
            let (left, right) = self.split(self.nodes[at as usize].left, key);
            self.nodes[at as usize].left = right;
            self.refresh(at);
            (left, at)
        }
    }

    /// Merges two subtrees; all keys of the first must be below all keys of the second.
    fn merge(&mut self, left: u32, right: u32) -> u32 {
        if left == NIL {
            return right;
        }
        if right == NIL {
            return left;
        }
        if self.nodes[left as usize].priority >= self.nodes[right as usize].priority {
            let merged = self.merge(self.nodes[left as usize].right, right);
            self.nodes[left as usize].right = merged;
            self.refresh(left);
            left
        } else {
            let merged = self.merge(left, self.nodes[right as usize].left);
            self.nodes[right as usize].left = merged;
            self.refresh(right);
            right
        }
    }

    fn value_of(&self, at: u32) -> &[i64] {
        let from = at as usize * self.width;
        &self.values[from..from + self.width]
    }

    fn summary_of(&self, at: u32) -> &[i64] {
        let from = at as usize * self.width;
        &self.summaries[from..from + self.width]
    }

    fn join_slice(into: &mut [i64], other: &[i64]) {
        for (a, b) in into.iter_mut().zip(other) {
            *a = S::join(*a, *b);
        }
    }

    fn join_into(&mut self, at: u32, new: u32) {
        let (to, from) = (at as usize * self.width, new as usize * self.width);
        Self::join_slice(&mut self.summaries[to..to + self.width], &self.values[from..from + self.width]);
    }

    /// Recomputes the summary of an entry from its children; returns whether it changes.
    fn refresh(&mut self, at: u32) -> bool {
        let Node { left, right, .. } = self.nodes[at as usize];
        let (width, own) = (self.width, at as usize * self.width);
        let mut has_changed = false;
        for offset in 0..width {
            let mut joined = self.values[own + offset];
            if left != NIL {
                joined = S::join(joined, self.summaries[left as usize * width + offset]);
            }
            if right != NIL {
                joined = S::join(joined, self.summaries[right as usize * width + offset]);
            }
            has_changed |= self.summaries[own + offset] != joined;
            self.summaries[own + offset] = joined;
        }
        has_changed
    }
}
