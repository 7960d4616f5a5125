//! The overheads of a streamed run, converted from Python.
use std::io;

use batchlab_kernel::scenario::Overheads;
use batchlab_kernel::stream::{DrawnOverheads, OverheadSource, PHASES};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

/// The source of the overheads of jobs, and how they count.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct StreamedOverheads<'py> {
    /// Iterator of the seconds of all phases, in blocks of jobs.
    blocks: Bound<'py, PyIterator>,
    /// Additional seconds per task for each phase.
    per_task: [f64; PHASES],
    counted: bool,
    billed: bool,
}

impl StreamedOverheads<'_> {
    /// The part of the scenario, without any job, and the part of the feed.
    pub fn parts(self) -> (Overheads, DrawnOverheads) {
        let given = Overheads { of_job: Vec::new(), counted: self.counted, billed: self.billed };
        let blocks = Box::new(Blocks(self.blocks.unbind())) as OverheadSource;
        (given, DrawnOverheads::new(blocks, self.per_task))
    }
}

/// Blocks from a Python iterator.
struct Blocks(Py<PyIterator>);

impl Iterator for Blocks {
    type Item = io::Result<[Vec<f64>; PHASES]>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = Python::attach(|py| {
            let mut blocks = self.0.bind(py).clone();
            let block = blocks.next()?;
            Some(block.and_then(|block| {
                let parts: [PyReadonlyArray1<'_, f64>; PHASES] = block.extract()?;
                Ok(parts.map(|part| part.as_array().to_vec()))
            }))
        });
        block.map(|block| block.map_err(io::Error::other))
    }
}
