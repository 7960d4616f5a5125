//! A segment tree: maxima over ranges of entries with several values each.
//!
//! O(log n) to update an entry, and to find the next entry, by index, with sufficient values. With several values the
//! inner maxima are only necessary conditions, so a search may examine ranges without such an entry.
use serde::{Deserialize, Serialize};

/// The tree, with `width` values per entry.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SegmentTree {
    width: usize,
    leaves: usize,
    count: usize,
    greatest: Vec<i64>,
}

impl SegmentTree {
    /// Creates a tree over `values`, `width` per entry.
    #[must_use]
    pub fn new(width: usize, values: &[i64]) -> Self {
        let count = values.len() / width;
        let leaves = count.next_power_of_two();
        let mut greatest = vec![i64::MIN; 2 * leaves * width];
        greatest[leaves * width..leaves * width + values.len()].copy_from_slice(values);
        let mut tree = Self { width, leaves, count, greatest };
        for at in (1..leaves).rev() {
            tree.refresh(at);
        }
        tree
    }

    /// Values per entry.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// Values of an entry.
    #[must_use]
    pub fn values(&self, entry: usize) -> &[i64] {
        let at = self.leaves + entry;
        &self.greatest[at * self.width..(at + 1) * self.width]
    }

    /// Values of an entry, mutable; `refresh_range` must follow.
    pub fn values_mut(&mut self, entry: usize) -> &mut [i64] {
        let at = self.leaves + entry;
        &mut self.greatest[at * self.width..(at + 1) * self.width]
    }

    /// Moves the values of an entry to another, and sets its own to `rest`; `refresh_range` must follow for both.
    pub fn move_values(&mut self, from: usize, to: usize, rest: i64) {
        let (from, to) = ((self.leaves + from) * self.width, (self.leaves + to) * self.width);
        self.greatest.copy_within(from..from + self.width, to);
        self.greatest[from..from + self.width].fill(rest);
    }

    /// Moves the entries at these ascending positions to the front, and sets all others to `rest`. O(n).
    pub fn keep(&mut self, places: &[usize], rest: i64) {
        for (to, &from) in places.iter().enumerate() {
            let (from, to) = ((self.leaves + from) * self.width, (self.leaves + to) * self.width);
            self.greatest.copy_within(from..from + self.width, to);
        }
        let (mut left, mut mid, mut right) =
            (self.leaves, self.leaves + places.len(), self.leaves + self.count);
        while left > 0 {
            self.greatest[mid * self.width..right * self.width].fill(rest);
            // At higher levels, the nodes to the left of `mid` have a kept entry below them.
            (left, mid, right) = (left / 2, mid.div_ceil(2), right.div_ceil(2));
            if left > 0 && mid > left {
                self.refresh_level(left, mid - 1);
            }
        }
    }

    /// Updates the maxima over the entries `first..=last`.
    pub fn refresh_range(&mut self, first: usize, last: usize) {
        let (mut left, mut right) = (self.leaves + first, self.leaves + last);
        if self.width == 2 {
            // One resource, and the state of the node: the most common machine.
            let (pairs, _) = self.greatest.as_chunks_mut::<2>();
            return refresh_pairs(pairs, left, right);
        }
        let mut changed = true;
        while changed && left > 1 {
            left >>= 1;
            right >>= 1;
            changed = self.refresh_level(left, right);
        }
    }

    /// Updates the inner nodes `left..=right` of one level from their children; returns whether any changed.
    fn refresh_level(&mut self, left: usize, right: usize) -> bool {
        (left..=right).fold(false, |changed, at| changed | self.refresh(at))
    }

    /// The first entry in [from, until) with values that satisfy `admits`; the condition on `admits` is that of
    /// `visit`.
    #[must_use]
    pub fn next(&self, from: usize, until: usize, admits: impl Fn(&[i64]) -> bool) -> Option<usize> {
        let mut found = None;
        self.visit(from, until, admits, |entry, _| {
            found = Some(entry);
            false
        });
        found
    }

    /// Visits the entries in [from, until) with values that satisfy `admits`, by index, until `visit` returns false.
    ///
    /// `admits` is also called with the maxima of ranges: greater values must never make it false.
    pub fn visit(
        &self,
        from: usize,
        until: usize,
        admits: impl Fn(&[i64]) -> bool,
        visit: impl FnMut(usize, &[i64]) -> bool,
    ) {
        if self.width == 2 {
            let (pairs, _) = self.greatest.as_chunks::<2>();
            return self.visit_where(from, until, |at| &pairs[at], admits, visit);
        }
        let values = |at: usize| &self.greatest[at * self.width..(at + 1) * self.width];
        self.visit_where(from, until, values, admits, visit);
    }

    /// Like `visit`; `values` returns the values at a position of the tree.
    #[inline]
    fn visit_where<'a, V: AsRef<[i64]> + ?Sized + 'a>(
        &self,
        from: usize,
        until: usize,
        values: impl Fn(usize) -> &'a V,
        admits: impl Fn(&[i64]) -> bool,
        mut visit: impl FnMut(usize, &[i64]) -> bool,
    ) {
        let until = until.min(self.count);
        if from >= until {
            return;
        }
        // A search from the first entry begins at the root.
        let mut at = if from == 0 { 1 } else { self.leaves + from };
        loop {
            let own = values(at).as_ref();
            if admits(own) {
                if at < self.leaves {
                    at *= 2;
                    continue;
                }
                if !visit(at - self.leaves, own) {
                    return;
                }
            }
            // Go to the next range: up while this is a right child, then to the sibling.
            at >>= at.trailing_ones();
            if at == 0 {
                return;
            }
            at += 1;
            if until < self.count && self.first_leaf(at) >= self.leaves + until {
                return;
            }
        }
    }

    /// The last entry in [0, until) with values that satisfy `admits`; the condition on `admits` is that of `visit`.
    #[must_use]
    pub fn previous(&self, until: usize, admits: impl Fn(&[i64]) -> bool) -> Option<usize> {
        let last = until.min(self.count).checked_sub(1)?;
        let mut at = self.leaves + last;
        loop {
            if admits(&self.greatest[at * self.width..(at + 1) * self.width]) {
                if at >= self.leaves {
                    return Some(at - self.leaves);
                }
                at = 2 * at + 1;
                continue;
            }
            // Go to the previous range: up while this is a left child, then to the sibling.
            while at & 1 == 0 {
                at >>= 1;
            }
            if at <= 1 {
                return None;
            }
            at -= 1;
        }
    }

    /// The leftmost leaf below a position in the tree.
    fn first_leaf(&self, at: usize) -> usize {
        at << (self.leaves.ilog2() - at.ilog2())
    }

    /// Updates the maxima of an inner node from its children; returns whether they changed.
    fn refresh(&mut self, at: usize) -> bool {
        let width = self.width;
        let (above, below) = self.greatest.split_at_mut(2 * at * width);
        let (left, right) = below[..2 * width].split_at(width);
        let mut changed = false;
        for ((own, left), right) in above[at * width..(at + 1) * width].iter_mut().zip(left).zip(right) {
            let joined = *left.max(right);
            changed |= *own != joined;
            *own = joined;
        }
        changed
    }
}

/// Updates the maxima above the positions `left..=right` of one level, for two values per entry.
fn refresh_pairs(pairs: &mut [[i64; 2]], mut left: usize, mut right: usize) {
    while left > 1 {
        left >>= 1;
        right >>= 1;
        let mut changed = 0;
        for at in left..=right {
            let (other, one) = (pairs[2 * at + 1], pairs[2 * at]);
            let joined = [one[0].max(other[0]), one[1].max(other[1])];
            let own = std::mem::replace(&mut pairs[at], joined);
            changed |= (own[0] ^ joined[0]) | (own[1] ^ joined[1]);
        }
        if changed == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn next_agrees_with_a_scan(
            nodes in prop::collection::vec((0..5_i64, 0..5_i64), 1..40),
            updates in prop::collection::vec((0..40_usize, 0..5_i64, 0..5_i64), 0..20),
            from in 0..40_usize,
            until in 0..45_usize,
            asked in (0..6_i64, 0..6_i64),
        ) {
            let mut values: Vec<[i64; 2]> = nodes.iter().map(|&(a, b)| [a, b]).collect();
            let mut tree = SegmentTree::new(2, values.as_flattened());
            for (node, a, b) in updates {
                let node = node % values.len();
                values[node] = [a, b];
                tree.values_mut(node).copy_from_slice(&[a, b]);
                tree.refresh_range(node, node);
            }
            let admits = |has: &[i64]| has[0] >= asked.0 && has[1] >= asked.1;
            let expected = (from..values.len().min(until)).find(|&node| admits(&values[node]));
            prop_assert_eq!(tree.next(from, until, admits), expected);
            let expected = (0..values.len().min(until)).rfind(|&node| admits(&values[node]));
            prop_assert_eq!(tree.previous(until, admits), expected);
        }
    }
}
