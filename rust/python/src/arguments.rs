//! Arguments of methods: jobs, and numbers of nodes, rows, tasks and amounts. Python's integers are unbounded: values out
//! of range of the kernel's types are errors like any other invalid value, and so are objects that are no jobs.
use std::ops::Deref;

use pyo3::exceptions::PyOverflowError;
use pyo3::prelude::*;

use crate::errors::decision_error;
use crate::handles::Job;

/// Converts a Python integer; the error names the argument and its rule.
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

/// Argument types of methods: the type, its value type, its name in Python, and its rule.
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
    /// The maximum number of tasks.
    Limit(u32): "limit", "must be a number of tasks, from 0 to 4294967295";
    /// A number of GPUs.
    Gpus(u32): "gpus", "must be a number of GPUs, from 0 to 4294967295";
    /// The index of a control in the option `control` of a run.
    ControlNumber(u32): "control", "controls are numbered from 0 in the order of the run's option control";
    /// An amount of a resource.
    Amount(i64): "amount", "must be from 0 to what the node has";
}

/// Converts a job of a view.
fn job<'py>(given: Borrowed<'_, 'py, PyAny>, name: &str) -> PyResult<Bound<'py, Job>> {
    given.cast::<Job>().map(Borrowed::to_owned).or_else(|_| {
        let rule = "must be a job, such as one of view.queue or view.running, or view.job(row)";
        Err(decision_error(given.py(), &format!("{name} = {}; {rule}.", given.repr()?)))
    })
}

/// Arguments that are jobs: the type, and its name in Python.
macro_rules! jobs {
    ($($(#[$text:meta])* $argument:ident: $name:literal;)*) => {$(
        $(#[$text])*
        pub struct $argument<'py>(pub Bound<'py, Job>);

        impl<'a, 'py> FromPyObject<'a, 'py> for $argument<'py> {
            type Error = PyErr;

            fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
                job(given, $name).map(Self)
            }
        }

        impl Deref for $argument<'_> {
            type Target = Job;

            fn deref(&self) -> &Job {
                self.0.get()
            }
        }
    )*};
}

jobs! {
    /// The job that a method is about.
    GivenJob: "job";
    /// The job behind which others are searched.
    After: "after";
}

/// Seconds or a rate; a Python number out of the range of float64 is infinite.
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
