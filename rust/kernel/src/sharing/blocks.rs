//! Ranges of items in one array, freed and reused by size: each has a power of two of items.

use serde::{Deserialize, Serialize};

/// A range of items.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Range {
    pub(super) first: u32,
    pub(super) count: u32,
}

/// The array and its free ranges. O(1) to allocate and free.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Blocks<T> {
    pub(super) items: Vec<T>,
    free: [Vec<u32>; 32],
}

impl<T: Copy + Default> Blocks<T> {
    pub(super) fn allocate(&mut self, count: usize) -> Range {
        if count == 0 {
            return Range::default();
        }
        let size = count.next_power_of_two();
        let first = self.free[size.trailing_zeros() as usize].pop().unwrap_or_else(|| {
            let first = self.items.len();
            self.items.resize(first + size, T::default());
            first as u32
        });
        Range { first, count: count as u32 }
    }

    pub(super) fn give_back(&mut self, range: Range) {
        if range.count > 0 {
            self.free[range.count.next_power_of_two().trailing_zeros() as usize].push(range.first);
        }
    }

    pub(super) fn get(&self, range: Range) -> &[T] {
        &self.items[range.first as usize..(range.first + range.count) as usize]
    }

    pub(super) fn get_mut(&mut self, range: Range) -> &mut [T] {
        &mut self.items[range.first as usize..(range.first + range.count) as usize]
    }
}
