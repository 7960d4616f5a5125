//! Node ranges as text: `0-3,7`.
use batchlab_kernel::stream::node_ranges as ranges;
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Return the nodes of every row as ranges. Row i has the nodes `nodes[offsets[i]..offsets[i + 1]]`, ascending; each
/// stands for `counts` consecutive nodes beginning with itself, 1 by default.
#[pyfunction]
#[pyo3(signature = (offsets, nodes, counts=None))]
pub fn node_ranges(
    offsets: PyReadonlyArray1<'_, i64>,
    nodes: PyReadonlyArray1<'_, u32>,
    counts: Option<PyReadonlyArray1<'_, u32>>,
) -> PyResult<Vec<String>> {
    let (offsets, nodes) = (offsets.as_slice()?, nodes.as_slice()?);
    let counts = counts.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
    let text = |row: std::ops::Range<usize>| {
        let first = nodes.get(row.clone())?;
        let Some(counts) = counts else { return Some(ranges(first.iter().copied())) };
        let each = first.iter().zip(counts.get(row)?);
        Some(ranges(each.flat_map(|(&first, &count)| first..first.saturating_add(count))))
    };
    offsets
        .windows(2)
        .map(|bounds| {
            let (from, to) = (usize::try_from(bounds[0]), usize::try_from(bounds[1]));
            let row = from.ok().zip(to.ok());
            row.and_then(|(from, to)| text(from..to))
                .ok_or_else(|| PyValueError::new_err("the offsets do not rise within the nodes"))
        })
        .collect()
}
