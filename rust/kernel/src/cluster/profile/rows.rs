//! Free amounts of all nodes at one time: a row for each step of the totals.
//!
//! The minima over a window of rows are taken by whole vectors, which pays on machines of some thousand nodes. A change costs
//! O(steps · nodes of the job), a new step O(nodes).
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Beyond so many values in a row, steps node by node are cheaper.
const MOST_VALUES: usize = 8192;

/// Amounts are this much smaller than what a value can be: what is promised twice is below zero by a few times as much.
const MOST_AMOUNT: i64 = i16::MAX as i64 / 8;

/// Values of one vector of the processor: planes begin at multiples of it.
const LANES: usize = 8;

/// What is free on every node, step by step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Rows {
    /// Values of a plane: one for each node, and zeros up to a multiple of the lanes.
    stride: usize,
    /// One for each resource, and one for minus the number of jobs.
    planes: usize,
    /// Where the row of each step is.
    order: Vec<u32>,
    values: Vec<i16>,
    vacant: Vec<u32>,
}

impl Rows {
    /// One row of these amounts, node-major; None where nodes are too many, or amounts too large.
    pub(super) fn new(resources: usize, offered: &[i64]) -> Option<Self> {
        let stride = (offered.len() / resources).next_multiple_of(LANES);
        let planes = resources + 1;
        if stride * planes > MOST_VALUES || offered.iter().any(|&amount| amount > MOST_AMOUNT) {
            return None;
        }
        let mut values = vec![0; stride * planes];
        for (node, amounts) in offered.chunks_exact(resources).enumerate() {
            for (plane, &amount) in amounts.iter().enumerate() {
                values[plane * stride + node] = amount as i16;
            }
        }
        Some(Self { stride, planes, order: vec![0], values, vacant: Vec::new() })
    }

    /// Values in a plane.
    pub(super) fn stride(&self) -> usize {
        self.stride
    }

    /// Planes in a row: one for each resource, and one for minus the number of jobs.
    pub(super) fn planes(&self) -> usize {
        self.planes
    }

    fn width(&self) -> usize {
        self.stride * self.planes
    }

    /// The row of a step, plane by plane.
    pub(super) fn at(&self, step: usize) -> &[i16] {
        &self.values[self.order[step] as usize * self.width()..][..self.width()]
    }

    /// One plane of a step.
    pub(super) fn plane(&self, step: usize, plane: usize) -> &[i16] {
        &self.values[self.order[step] as usize * self.width() + plane * self.stride..][..self.stride]
    }

    /// A step becomes two.
    pub(super) fn split(&mut self, step: usize) {
        let width = self.width();
        let from = self.order[step] as usize * width;
        let row = self.vacant.pop().unwrap_or_else(|| {
            let row = self.values.len() / width;
            self.values.resize((row + 1) * width, 0);
            row as u32
        });
        self.values.copy_within(from..from + width, row as usize * width);
        self.order.insert(step + 1, row);
    }

    /// A step goes: the one before lasts on.
    pub(super) fn remove(&mut self, step: usize) {
        self.vacant.push(self.order.remove(step));
    }

    /// Forgets the first steps.
    pub(super) fn trim(&mut self, past: usize) {
        self.vacant.extend(self.order.drain(..past));
    }

    /// Adds to values of all steps of a range, given by their places in a row.
    pub(super) fn add(&mut self, steps: Range<usize>, changes: &[(u32, i16)]) {
        let width = self.width();
        for &row in &self.order[steps] {
            let row = &mut self.values[row as usize * width..][..width];
            for &(place, amount) in changes {
                row[place as usize] += amount;
            }
        }
    }

    /// Whether less than nothing is free at one of these places in a range of steps.
    pub(super) fn is_negative(&self, steps: Range<usize>, changes: &[(u32, i16)]) -> bool {
        let jobs = (self.planes - 1) * self.stride;
        let here = || changes.iter().map(|&(place, _)| place as usize).filter(move |&place| place < jobs);
        steps.into_iter().any(|step| {
            let row = self.at(step);
            here().any(|place| row[place] < 0)
        })
    }
}
