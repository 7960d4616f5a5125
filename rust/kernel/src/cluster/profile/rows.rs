//! Free amounts of all nodes at one time: a row for each step of the totals.
//!
//! The minima over a window of rows are taken by whole vectors, which pays on machines of some thousand nodes. A change costs
//! O(steps · nodes of the job), a new step O(nodes).
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Beyond so many values in a row, steps node by node are cheaper.
const MOST_VALUES: usize = 8192;

/// Amounts are this much smaller than what a value can be: what is promised twice is below zero by a few times as much.
pub(super) const MOST_AMOUNT: i64 = i16::MAX as i64 / 8;

/// Nodes in a word of bits.
pub(super) const WORD: usize = 64;

/// Values of one vector of the processor: planes begin at multiples of it.
pub(super) const LANES: usize = 8;

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
    /// Of each row, resource by resource, the nodes where some of it is free, as bits.
    some: Vec<u64>,
    vacant: Vec<u32>,
}

/// What a job holds or gives up on one node.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) node: u32,
    /// The plane of the resource.
    pub(super) plane: u32,
    pub(super) amount: i16,
}

impl Rows {
    /// One row of what nodes offer, node-major; None where nodes are too many, or their capacities too large.
    pub(super) fn new(resources: usize, capacity: &[i64], offered: &[i64]) -> Option<Self> {
        let stride = (offered.len() / resources).next_multiple_of(LANES);
        let planes = resources + 1;
        if stride * planes > MOST_VALUES || capacity.iter().any(|&amount| amount > MOST_AMOUNT) {
            return None;
        }
        let mut values = vec![0; stride * planes];
        for (node, amounts) in offered.chunks_exact(resources).enumerate() {
            for (plane, &amount) in amounts.iter().enumerate() {
                values[plane * stride + node] = amount as i16;
            }
        }
        let words = stride.div_ceil(WORD);
        let mut some = vec![0; words * resources];
        for (plane, values) in values.chunks_exact(stride).take(resources).enumerate() {
            for (node, _) in values.iter().enumerate().filter(|&(_, &value)| value > 0) {
                some[plane * words + node / WORD] |= 1 << (node % WORD);
            }
        }
        Some(Self { stride, planes, order: vec![0], values, some, vacant: Vec::new() })
    }

    /// Words of the bits of a plane.
    pub(super) fn words(&self) -> usize {
        self.stride.div_ceil(WORD)
    }

    /// The nodes of a step where some of a resource is free, as bits.
    pub(super) fn some(&self, step: usize, resource: usize) -> &[u64] {
        let words = self.words();
        &self.some[(self.order[step] as usize * (self.planes - 1) + resource) * words..][..words]
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

    /// One plane of a step.
    pub(super) fn plane(&self, step: usize, plane: usize) -> &[i16] {
        &self.values[self.order[step] as usize * self.width() + plane * self.stride..][..self.stride]
    }

    /// A step becomes two.
    pub(super) fn split(&mut self, step: usize) {
        let width = self.width();
        let (from, bits) = (self.order[step] as usize, self.words() * (self.planes - 1));
        let row = self.vacant.pop().unwrap_or_else(|| {
            let row = self.values.len() / width;
            self.values.resize((row + 1) * width, 0);
            self.some.resize((row + 1) * bits, 0);
            row as u32
        });
        self.values.copy_within(from * width..(from + 1) * width, row as usize * width);
        self.some.copy_within(from * bits..(from + 1) * bits, row as usize * bits);
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

    /// Adds to amounts, and so much to minus the numbers of jobs on the same nodes, in all steps of a range: the least amount
    /// that is there then.
    pub(super) fn add(&mut self, steps: Range<usize>, changes: &[Change], jobs: i16) -> i16 {
        let (width, words, resources) = (self.width(), self.words(), self.planes - 1);
        let mut least = i16::MAX;
        for &row in &self.order[steps] {
            let values = &mut self.values[row as usize * width..][..width];
            let some = &mut self.some[row as usize * words * resources..][..words * resources];
            for &Change { node, plane, amount } in changes {
                let (node, plane) = (node as usize, plane as usize);
                let value = &mut values[plane * self.stride + node];
                if plane == resources {
                    *value += jobs;
                    continue;
                }
                *value += amount;
                least = least.min(*value);
                let (word, bit) = (&mut some[plane * words + node / WORD], node % WORD);
                *word = *word & !(1 << bit) | u64::from(*value > 0) << bit;
            }
        }
        least
    }
}
