//! The errors of the package, created in Rust.
use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::prelude::*;

/// Creates an error of `batchlab.errors` by name.
fn of_package(py: Python<'_>, name: &str, message: &str) -> PyErr {
    let raised = py.import("batchlab.errors").and_then(|errors| errors.getattr(name)?.call1((message,)));
    match raised {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

/// Creates a `DecisionError` of the package.
pub fn decision_error(py: Python<'_>, message: &str) -> PyErr {
    of_package(py, "DecisionError", message)
}

/// Creates a `SimulationError` of the package.
pub fn simulation_error(py: Python<'_>, message: &str) -> PyErr {
    of_package(py, "SimulationError", message)
}

/// Creates a `PolicyError` of the package.
pub fn policy_error(py: Python<'_>, message: &str) -> PyErr {
    of_package(py, "PolicyError", message)
}

/// Maps a missing column to `AttributeError`.
pub fn as_attribute_error(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyKeyError>(py) {
        return error;
    }
    // The text of a KeyError is the representation of its argument.
    let message = error.value(py).getattr("args").and_then(|arguments| arguments.get_item(0));
    match message.and_then(|message| message.str()) {
        Ok(message) => PyAttributeError::new_err(message.unbind()),
        Err(error) => error,
    }
}
