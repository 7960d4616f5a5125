//! Numbers that Python code passes about nodes, rows, tasks and amounts. Python's integers have no bound: one that the kernel
//! has no number for is refused like any other that breaks a rule.
use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors::decision_error;

/// A whole number of Python, or the error that names the argument and its rule.
fn whole<'a, 'py, T>(number: Borrowed<'a, 'py, PyAny>, name: &str, rule: &str) -> PyResult<T>
where
    T: FromPyObject<'a, 'py, Error = PyErr>,
{
    number.extract::<T>().map_err(|error| {
        if !error.is_instance_of::<PyOverflowError>(number.py()) {
            return error;
        }
        match number.repr() {
            Ok(shown) => decision_error(number.py(), &format!("{name} = {shown}; {rule}.")),
            Err(error) => error,
        }
    })
}

/// Arguments of methods: the type of each, what it holds, its name in Python, and its rule.
macro_rules! whole_numbers {
    ($($(#[$text:meta])* $argument:ident($held:ty): $name:literal, $rule:literal;)*) => {$(
        $(#[$text])*
        #[derive(Clone, Copy)]
        pub struct $argument(pub $held);

        impl<'a, 'py> FromPyObject<'a, 'py> for $argument {
            type Error = PyErr;

            fn extract(number: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                whole(number, $name, $rule).map(Self)
            }
        }
    )*};
}

whole_numbers! {
    /// The number of a node.
    Node(u32): "node", "nodes are numbered from 0 in the order of the system";
    /// The row of a job.
    Row(u32): "row", "rows are numbered from 0 in the order of the workload";
    /// A number of tasks.
    Tasks(u32): "tasks", "must be a number of tasks, from 0 to 4294967295";
    /// The most tasks that are asked for.
    Limit(u32): "limit", "must be a number of tasks, from 0 to 4294967295";
    /// A number of GPUs.
    Gpus(u32): "gpus", "must be a number of GPUs, from 0 to 4294967295";
    /// The place of a control among those of a run.
    ControlNumber(u32): "control", "controls are numbered from 0 in the order of the run's option control";
    /// How much of a resource.
    Amount(i64): "amount", "must be from 0 to what the node has";
}

/// Seconds, or a rate: a number of Python that is beyond all float64 is infinite.
#[derive(Clone, Copy)]
pub struct Real(pub f64);

impl<'a, 'py> FromPyObject<'a, 'py> for Real {
    type Error = PyErr;

    fn extract(number: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        match number.extract::<f64>() {
            Err(error) if error.is_instance_of::<PyOverflowError>(number.py()) => {
                Ok(Self(if number.lt(0)? { f64::NEG_INFINITY } else { f64::INFINITY }))
            }
            other => other.map(Self),
        }
    }
}
