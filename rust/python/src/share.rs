//! Completion times of flows and parallel tasks.
use batchlab_kernel::platform::NoRoute;
use batchlab_kernel::sharing::{Activities, DemandBuilder, completion_times, resources};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::{PyLookupError, PyValueError};
use pyo3::prelude::*;

use crate::network::{NetworkPart, network};
use crate::platform::Platform;

/// A flow between two hosts, or a task on several.
enum Work {
    Flow { hosts: (u32, u32), bytes: f64 },
    Task(Task),
}

/// A parallel task: hosts, operations on each, and bytes from each host to each, row by row.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Task {
    hosts: Vec<u32>,
    flops: Vec<f64>,
    bytes: Vec<f64>,
}

/// The reason why there are no times.
enum Failure {
    Route(usize, NoRoute),
    Interrupted(PyErr),
}

/// Return the end of each flow or task, seconds.
///
/// Rows with source -1 are the parallel tasks, in order. The caller must have validated all values. Raise `LookupError`
/// with the row and the numbers of the two hosts if there is no route.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "columns, each of which has a name in Python")]
pub fn share<'py>(
    py: Python<'py>,
    platform: &Platform,
    model: NetworkPart,
    source: PyReadonlyArray1<'py, i64>,
    target: PyReadonlyArray1<'py, i64>,
    size: PyReadonlyArray1<'py, f64>,
    start: PyReadonlyArray1<'py, f64>,
    tasks: Vec<Task>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let network = network(model)?;
    let columns = (source.as_slice()?, target.as_slice()?, size.as_slice()?);
    let works = works(columns, tasks)?;
    let (starts, platform) = (start.as_slice()?, &*platform.kernel);
    if starts.len() != works.len() {
        return Err(PyValueError::new_err("the columns differ in length"));
    }
    let mut activities = Activities::new(network.rule, resources(platform));
    let make = |row: usize, builder: &mut DemandBuilder| {
        match &works[row] {
            &Work::Flow { hosts, bytes } => builder.flow(platform, &network, hosts, bytes),
            Work::Task(task) => {
                builder.parallel_task(platform, &network, &task.hosts, &task.flops, &task.bytes)
            }
        }
        .map_err(|way| Failure::Route(row, way))
    };
    let ends = py.detach(|| completion_times(&mut activities, starts, make, look_for_signals));
    match ends {
        Ok(ends) => Ok(ends.into_pyarray(py)),
        Err(Failure::Route(row, way)) => Err(PyLookupError::new_err((row, way.from, way.to))),
        Err(Failure::Interrupted(error)) => Err(error),
    }
}

/// Checks for signals, so that Ctrl-C can interrupt a run.
fn look_for_signals() -> Result<(), Failure> {
    Python::attach(|py| py.check_signals().map_err(Failure::Interrupted))
}

fn works((source, target, bytes): (&[i64], &[i64], &[f64]), tasks: Vec<Task>) -> PyResult<Vec<Work>> {
    if source.len() != target.len() || source.len() != bytes.len() {
        return Err(PyValueError::new_err("the columns differ in length"));
    }
    let mut tasks = tasks.into_iter();
    let rows = source.iter().zip(target).zip(bytes);
    rows.map(|((&source, &target), &bytes)| {
        if source < 0 {
            let task = tasks
                .next()
                .ok_or_else(|| PyValueError::new_err("there are fewer tasks than rows of them"))?;
            Ok(Work::Task(task))
        } else {
            Ok(Work::Flow { hosts: (source as u32, target as u32), bytes })
        }
    })
    .collect()
}
