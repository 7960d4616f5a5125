//! Mapping of ranks to places by their messages.
use batchlab_kernel::application::{MessageMatrix, mapped};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Map ranks to places such that the hop-bytes of their messages decrease; return the node of each rank, given the node
/// of each place. `matrix[r, s]`: bytes from rank `r` to rank `s`; `hops[a, b]`: hops from node `a` to node `b`.
#[pyfunction]
pub fn map_ranks<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
    nodes: PyReadonlyArray1<'py, u32>,
    hops: PyReadonlyArray2<'py, u32>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (matrix, nodes, hops) = (matrix.as_array(), nodes.as_slice()?, hops.as_array());
    let side = hops.nrows();
    let is_sound = matrix.dim() == (nodes.len(), nodes.len())
        && hops.is_square()
        && nodes.iter().all(|&node| (node as usize) < side);
    if !is_sound {
        return Err(PyValueError::new_err("matrix, nodes and hops do not fit each other"));
    }
    let sent = matrix.indexed_iter().map(|((from, to), &bytes)| (from as u32, to as u32, bytes));
    let messages = MessageMatrix::new(nodes.len() as u32, sent.collect());
    let found = py.detach(|| mapped(&messages, nodes, |one, other| hops[(one as usize, other as usize)]));
    Ok(found.into_pyarray(py))
}
