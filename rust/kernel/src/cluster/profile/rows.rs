//! Free amounts of all nodes, one row for each step of the totals.
//!
//! The minima over a window of rows are computed on whole vectors, which pays on machines of up to about ten thousand
//! nodes. A change costs O(steps · nodes of the job), a new step O(nodes).
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::cluster::request::Request;
use crate::index::WORD;

use super::grid::Grid;
use super::held::Held;
use super::levels::Levels;

/// A longer row takes too much memory: each step has one row of up to 128 KiB.
const MOST_VALUES: usize = 65_536;

/// The factor of 8 leaves room for the negative values of amounts that are allocated more than once.
pub(super) const MOST_AMOUNT: i64 = i16::MAX as i64 / 8;

/// Values per vector of the processor: planes begin at multiples of it.
pub(super) const LANES: usize = 8;

/// The free amounts of each node, for each step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rows {
    /// Values per plane: one per node, padded with zeros to a multiple of the lanes.
    stride: usize,
    /// One plane per resource, and one for minus the number of jobs that hold no resource.
    planes: usize,
    values: Grid<i16>,
    /// For each resource, the bitmap of nodes where some of it is free.
    some: Grid<u64>,
}

impl Rows {
    /// Creates one row of the available amounts, node-major. None if there are too many nodes, or their capacities are
    /// too large.
    pub(super) fn new(resources: usize, capacity: &[i64], offered: &[i64]) -> Option<Self> {
        let stride = (offered.len() / resources).next_multiple_of(LANES);
        let planes = resources + 1;
        if stride * planes > MOST_VALUES || capacity.iter().any(|&amount| amount > MOST_AMOUNT) {
            return None;
        }
        let row = row_of(
            (stride, planes),
            &|node, resource| offered[node * resources + resource],
            offered.len() / resources,
        );
        Some(Self::of_rows(stride, planes, &[row]))
    }

    /// Converts levels to rows. Levels contain no jobs that hold nothing, so the plane of those jobs is 0.
    pub(super) fn of_levels(levels: &Levels, nodes: usize) -> Self {
        let (stride, planes) = (nodes.next_multiple_of(LANES), levels.resources() + 1);
        let row = |step| {
            let bits = levels.row(step);
            row_of((stride, planes), &|node, resource| levels.amount(bits, node as u32, resource), nodes)
        };
        let rows: Vec<Vec<i16>> = (0..levels.steps()).map(row).collect();
        Self::of_rows(stride, planes, &rows)
    }

    fn of_rows(stride: usize, planes: usize, rows: &[Vec<i16>]) -> Self {
        let some: Vec<Vec<u64>> = rows.iter().map(|row| some_of(row, stride, planes - 1)).collect();
        Self { stride, planes, values: Grid::new(rows), some: Grid::new(&some) }
    }

    /// Words of the bitmap of a plane.
    pub(super) fn words(&self) -> usize {
        self.stride.div_ceil(WORD)
    }

    /// For each resource, the bitmap of nodes where some of it is free.
    pub(super) fn some(&self) -> &Grid<u64> {
        &self.some
    }

    /// The nodes of a word, at a step, that have some of each requested resource free.
    pub(super) fn with_some(&self, step: usize, request: &Request, word: usize) -> u64 {
        let row = self.some.row(step);
        let asked = (0..request.amounts.len()).filter(|&resource| request.amounts[resource] > 0);
        asked.fold(u64::MAX, |nodes, resource| nodes & row[resource * self.words() + word])
    }

    /// Values per plane.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Planes per row: one per resource, and one for minus the number of jobs that hold no resource.
    pub(super) fn planes(&self) -> usize {
        self.planes
    }

    /// One plane of a step.
    #[inline]
    pub(super) fn plane(&self, step: usize, plane: usize) -> &[i16] {
        &self.values.row(step)[plane * self.stride..][..self.stride]
    }

    /// Splits a step into two equal steps.
    pub(super) fn split(&mut self, step: usize) {
        self.values.split(step);
        self.some.split(step);
    }

    /// Removes a step: the step before it extends over its time.
    pub(super) fn remove(&mut self, step: usize) {
        self.values.remove(step);
        self.some.remove(step);
    }

    /// Removes the first steps.
    pub(super) fn trim(&mut self, past: usize) {
        self.values.trim(past);
        self.some.trim(past);
    }

    /// Subtracts or adds the amounts that a job holds in all steps of a range; returns the least resulting amount.
    pub(super) fn change(&mut self, steps: Range<usize>, held: &[Held], sign: i16) -> i16 {
        let (words, resources) = (self.words(), self.planes - 1);
        let mut least = i16::MAX;
        for step in steps {
            let (values, some) = (self.values.row_mut(step), self.some.row_mut(step));
            for &Held { node, plane, amount } in held {
                let (node, plane) = (node as usize, plane as usize);
                let value = &mut values[plane * self.stride + node];
                *value += sign * amount as i16;
                if plane < resources {
                    least = least.min(*value);
                    let (word, bit) = (&mut some[plane * words + node / WORD], node % WORD);
                    *word = *word & !(1 << bit) | u64::from(*value > 0) << bit;
                }
            }
        }
        least
    }
}

/// Creates a row from amounts by node and resource, without jobs that hold nothing.
fn row_of((stride, planes): (usize, usize), amount: &impl Fn(usize, usize) -> i64, nodes: usize) -> Vec<i16> {
    let mut row = vec![0; stride * planes];
    for (plane, values) in row.chunks_exact_mut(stride).take(planes - 1).enumerate() {
        for (node, value) in values.iter_mut().take(nodes).enumerate() {
            *value = amount(node, plane) as i16;
        }
    }
    row
}

/// The bitmaps of a row: the nodes where some of each resource is free.
fn some_of(row: &[i16], stride: usize, resources: usize) -> Vec<u64> {
    let words = stride.div_ceil(WORD);
    let mut some = vec![0; words * resources];
    for (plane, values) in row.chunks_exact(stride).take(resources).enumerate() {
        for (node, _) in values.iter().enumerate().filter(|&(_, &value)| value > 0) {
            some[plane * words + node / WORD] |= 1 << (node % WORD);
        }
    }
    some
}
