//! Rows of values in time order: one row for each step of the totals.
//!
//! A new step copies one row, independent of the number of steps, and costs O(steps) to keep the order.
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One row for each step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Grid<T> {
    /// Values per row.
    width: usize,
    /// The position of each step's row in `values`.
    order: Vec<u32>,
    values: Vec<T>,
    vacant: Vec<u32>,
}

impl<T: Copy> Grid<T> {
    /// Creates a grid of these rows, at least one; one step per row.
    pub(super) fn new(rows: &[Vec<T>]) -> Self {
        Self {
            width: rows[0].len(),
            order: (0..rows.len() as u32).collect(),
            values: rows.concat(),
            vacant: Vec::new(),
        }
    }

    /// Number of steps.
    pub(super) fn steps(&self) -> usize {
        self.order.len()
    }

    /// The row of a step.
    #[inline]
    pub(super) fn row(&self, step: usize) -> &[T] {
        &self.values[self.order[step] as usize * self.width..][..self.width]
    }

    /// The row of a step, mutable.
    #[inline]
    pub(super) fn row_mut(&mut self, step: usize) -> &mut [T] {
        &mut self.values[self.order[step] as usize * self.width..][..self.width]
    }

    /// Visits the rows of some steps until `visit` returns false; returns the number of rows before that one.
    #[inline]
    pub(super) fn visit_mut(
        &mut self,
        steps: Range<usize>,
        mut visit: impl FnMut(&mut [T]) -> bool,
    ) -> usize {
        let rows = &self.order[steps];
        let refuses = |&row: &u32| !visit(&mut self.values[row as usize * self.width..][..self.width]);
        rows.iter().position(refuses).unwrap_or(rows.len())
    }

    /// Splits a step into two equal steps.
    pub(super) fn split(&mut self, step: usize) {
        let from = self.order[step] as usize * self.width;
        let range = from..from + self.width;
        let row = if let Some(row) = self.vacant.pop() {
            self.values.copy_within(range, row as usize * self.width);
            row
        } else {
            self.values.extend_from_within(range);
            (self.values.len() / self.width - 1) as u32
        };
        self.order.insert(step + 1, row);
    }

    /// Removes a step: the step before it extends over its time.
    pub(super) fn remove(&mut self, step: usize) {
        self.vacant.push(self.order.remove(step));
    }

    /// Removes the first steps.
    pub(super) fn trim(&mut self, past: usize) {
        self.vacant.extend(self.order.drain(..past));
    }
}
