//! Nodes as people write them: `0-3,7`.
use batchlab_kernel::stream::node_ranges as ranges;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The nodes of every row as ranges; row i holds `nodes[offsets[i]..offsets[i + 1]]`, rising.
#[pyfunction]
pub fn node_ranges(
    offsets: PyReadonlyArray1<'_, i64>,
    nodes: PyReadonlyArray1<'_, u32>,
) -> PyResult<Vec<String>> {
    let (offsets, nodes) = (offsets.as_slice()?, nodes.as_slice()?);
    offsets
        .windows(2)
        .map(|bounds| {
            let (from, to) = (usize::try_from(bounds[0]), usize::try_from(bounds[1]));
            let row = from.ok().zip(to.ok()).and_then(|(from, to)| nodes.get(from..to));
            row.map(|row| ranges(row.iter().copied()))
                .ok_or_else(|| PyValueError::new_err("the offsets do not rise within the nodes"))
        })
        .collect()
}
