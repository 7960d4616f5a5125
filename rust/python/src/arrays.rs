//! `NumPy`'s interface for compiled code.
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;

/// Finds what this module needs of `NumPy`, which panics when Ctrl-C breaks it off.
///
/// Without this call, the first array that is read or made does it. The package calls it while Ctrl-C waits.
#[pyfunction]
pub fn prepare_arrays(py: Python<'_>) {
    // Borrowing an array has an interface of its own.
    drop(PyArray1::<f64>::zeros(py, 0, false).readonly());
}
