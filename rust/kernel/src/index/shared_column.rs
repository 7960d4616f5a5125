//! A column of values in chunks that clones share until one of them writes.
//!
//! After [`SharedColumn::share`] a clone costs O(n / 1024). The first write to a shared chunk copies its 1024 values;
//! every other access is O(1). So the cost of a fork of a simulation depends on the rows that change after it, not on
//! the rows of the workload.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Values per chunk: the rows of simultaneously active jobs are in few chunks of this size, and copying one is fast.
const CHUNK: usize = 1024;

/// Values by index; see the module documentation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SharedColumn<T> {
    chunks: Vec<Chunk<T>>,
    length: usize,
}

/// One chunk. An owned chunk is written without checking whether another column shares it.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Chunk<T> {
    Owned(Vec<T>),
    Shared(Arc<Vec<T>>),
}

impl<T> Default for SharedColumn<T> {
    fn default() -> Self {
        Self { chunks: Vec::new(), length: 0 }
    }
}

impl<T> Chunk<T> {
    fn values(&self) -> &[T] {
        match self {
            Self::Owned(values) => values,
            Self::Shared(values) => values,
        }
    }
}

impl<T: Clone> Chunk<T> {
    /// The values, mutable; a shared chunk is copied first, unless no other column refers to it.
    #[inline]
    fn values_mut(&mut self) -> &mut Vec<T> {
        if matches!(self, Self::Shared(_)) {
            self.own();
        }
        match self {
            Self::Owned(values) => values,
            Self::Shared(values) => Arc::make_mut(values),
        }
    }

    #[cold]
    fn own(&mut self) {
        if let Self::Shared(values) = self {
            *self = Self::Owned(Arc::unwrap_or_clone(std::mem::take(values)));
        }
    }

    fn share(&mut self) {
        if let Self::Owned(values) = self {
            *self = Self::Shared(Arc::new(std::mem::take(values)));
        }
    }
}

impl<T: Clone> SharedColumn<T> {
    /// Number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns whether the column is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Prepares clones that share the values: O(n / 1024). Without it, a clone copies the values written since.
    pub fn share(&mut self) {
        for chunk in &mut self.chunks {
            chunk.share();
        }
    }

    /// The value at an index below the length.
    #[must_use]
    pub fn get(&self, index: usize) -> &T {
        &self.chunks[index / CHUNK].values()[index % CHUNK]
    }

    /// The value at an index below the length, mutable.
    pub fn get_mut(&mut self, index: usize) -> &mut T {
        &mut self.chunks[index / CHUNK].values_mut()[index % CHUNK]
    }

    /// Adds a value at the end.
    pub fn push(&mut self, value: T) {
        if self.length.is_multiple_of(CHUNK) {
            self.chunks.push(Chunk::Owned(Vec::with_capacity(if self.length == 0 { 4 } else { CHUNK })));
        }
        if let Some(last) = self.chunks.last_mut() {
            last.values_mut().push(value);
        }
        self.length += 1;
    }

    /// Appends copies of a value until the length is at least `length`.
    pub fn extend_to(&mut self, length: usize, value: &T) {
        while self.length < length {
            self.push(value.clone());
        }
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(Chunk::values)
    }

    /// The last value.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.chunks.last().and_then(|chunk| chunk.values().last())
    }

    /// All values as one vector.
    #[must_use]
    pub fn to_vec(&self) -> Vec<T> {
        self.map_to_vec(T::clone)
    }

    /// Computes a value from each, in order.
    #[must_use]
    pub fn map_to_vec<U>(&self, compute: impl Fn(&T) -> U) -> Vec<U> {
        let mut found = Vec::with_capacity(self.length);
        for chunk in &self.chunks {
            found.extend(chunk.values().iter().map(&compute));
        }
        found
    }
}

impl<T: Clone> FromIterator<T> for SharedColumn<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut column = Self::default();
        column.extend(values);
        column
    }
}

impl<T: Clone> Extend<T> for SharedColumn<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.push(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_go_their_own_ways() {
        let mut column: SharedColumn<usize> = (0..5 * CHUNK).collect();
        column.share();
        let mut twin = column.clone();
        *column.get_mut(CHUNK + 1) = 7;
        twin.push(9);
        assert_eq!((*column.get(CHUNK + 1), *twin.get(CHUNK + 1)), (7, CHUNK + 1));
        assert_eq!((column.len(), twin.len(), twin.last()), (5 * CHUNK, 5 * CHUNK + 1, Some(&9)));
        let is_shared = |(a, b): &(&Chunk<usize>, &Chunk<usize>)| matches!((a, b), (Chunk::Shared(a), Chunk::Shared(b)) if Arc::ptr_eq(a, b));
        let shared = column.chunks.iter().zip(&twin.chunks).filter(is_shared).count();
        assert_eq!(shared, 4);
    }

    #[test]
    fn values_come_back_in_order() {
        let column: SharedColumn<usize> = (0..3 * CHUNK + 5).collect();
        assert!(column.iter().copied().eq(0..3 * CHUNK + 5));
        assert_eq!(column.to_vec(), (0..3 * CHUNK + 5).collect::<Vec<_>>());
        assert_eq!(
            column.map_to_vec(|value| 2 * value),
            (0..3 * CHUNK + 5).map(|value| 2 * value).collect::<Vec<_>>()
        );
    }
}
