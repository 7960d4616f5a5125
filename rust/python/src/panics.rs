//! Converts panics of the kernel to errors of the package.
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::prelude::*;

use crate::errors::simulation_error;

/// Runs work without the GIL. A panic, which only an impossible state can cause, becomes an error: nothing outside the
/// simulation is affected, but this simulation is unusable.
pub fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| impossible(py))
}

/// Same as `detached`, with the GIL: for short work.
pub fn caught<T>(py: Python<'_>, work: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|_| impossible(py))
}

fn impossible(py: Python<'_>) -> PyErr {
    let rule =
        "a snapshot that was changed does this. If none was, please report it, with how to bring it about";
    simulation_error(py, &format!("the simulation came upon a state that cannot be; {rule}."))
}
