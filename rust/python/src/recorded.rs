//! What was recorded of a run, as columns.
use std::sync::Mutex;

use batchlab_kernel::record::{Column, Columns, Log};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::simulation::Simulation as Kernel;
use batchlab_kernel::state::ShortRun;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::application_jobs::{application_times, links, messages, ranks, sensed, task_times};
use crate::columns::intervals;
use crate::status;

/// A recorded table.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct TableLog {
    /// None once the columns are made.
    log: Mutex<Option<Box<dyn Log>>>,
    made: PyOnceLock<Py<PyDict>>,
}

impl TableLog {
    fn new(log: Box<dyn Log>) -> Self {
        Self { log: Mutex::new(Some(log)), made: PyOnceLock::new() }
    }
}

#[pymethods]
impl TableLog {
    /// Return the columns by name, which are made at the first call.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let made = self.made.get_or_try_init(py, || {
            let spent = || PyRuntimeError::new_err("the columns of this table could not be made");
            let mut log = self.log.lock().map_err(|_| spent())?;
            let columns = log.as_ref().ok_or_else(spent)?.columns();
            *log = None;
            table(py, columns).map(Bound::unbind)
        })?;
        Ok(made.bind(py).clone())
    }
}

/// Columns of all jobs by the names of the fields of an outcome, None for those that the run does not have.
pub fn columns<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("application_time", kernel.applications().map(|_| application_times(py, kernel)))?;
    let events = kernel.recorders().events.as_ref().map(|log| log.applied.to_vec().into_pyarray(py));
    result.set_item("events_applied", events)?;
    let woken = kernel.scenario().sleep.as_ref().map(|_| {
        let state = kernel.state();
        let seconds = |job| state.ready_time(job) - state.jobs.start_time(job);
        (0..state.jobs.len() as u32).map(seconds).collect::<Vec<f64>>().into_pyarray(py)
    });
    result.set_item("waking_time", woken)?;
    let jobs = &kernel.state().jobs;
    result.set_item("requested_time", jobs.requested_times().into_pyarray(py))?;
    result.set_item("time_limit", jobs.time_limits().map(|limits| limits.into_pyarray(py)))?;
    Ok(result)
}

/// The tables of the recorders, whose columns are made when they are asked for, by name.
pub fn logs<'py>(py: Python<'py>, kernel: &mut Kernel<Replay>) -> PyResult<Bound<'py, PyDict>> {
    let logs = PyDict::new(py);
    for (name, log) in kernel.logs() {
        logs.set_item(name, Py::new(py, TableLog::new(log))?)?;
    }
    Ok(logs)
}

/// The tables of other parts of the run by name, each as columns.
pub fn tables<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Bound<'py, PyDict>> {
    let recorders = kernel.recorders();
    let resources = kernel.state().machine.resources();
    let tables = PyDict::new(py);
    let waiting = PyDict::new(py);
    let (rows, why) = status::reasons(kernel.view());
    waiting.set_item("row", rows.into_pyarray(py))?;
    waiting.set_item("reason", why.into_pyarray(py))?;
    tables.set_item("waiting", waiting)?;
    let log = &recorders.interruptions;
    let interruptions = intervals(py, &log.runs, resources)?;
    interruptions.set_item("work_start", log.work_start.to_vec().into_pyarray(py))?;
    interruptions.set_item("work_end", log.work_end.to_vec().into_pyarray(py))?;
    interruptions.set_item("saved", log.saved.to_vec().into_pyarray(py))?;
    tables.set_item("interruptions", interruptions)?;
    tables.set_item("short_runs", short_runs(py, kernel)?)?;
    // A look ahead takes applications to be run times, and knows what was before.
    let has_applications = kernel.scenario().applications.is_some();
    let resizes = has_applications.then(|| intervals(py, &recorders.resizes, resources)).transpose()?;
    let of_applications = [
        ("resizes", resizes),
        ("task_times", task_times(py, kernel)?),
        ("sensed", sensed(py, kernel)?),
        ("ranks", ranks(py, kernel)?),
        ("messages", messages(py, kernel)?),
        ("links", links(py, kernel)?),
    ];
    for (name, table) in of_applications {
        if let Some(table) = table {
            tables.set_item(name, table)?;
        }
    }
    Ok(tables)
}

/// A table as columns by name.
fn table(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let result = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::Bool(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::U8(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::U16(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::U32(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::U64(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::I64(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::F64(values) => result.set_item(name, values.into_pyarray(py))?,
            Column::Matrix(values, rows) => {
                let width = values.len() / rows.max(1);
                result.set_item(name, values.into_pyarray(py).reshape([rows, width])?)?;
            }
        }
    }
    Ok(result)
}

/// The last runs whose phases did not last as planned, by row.
fn short_runs<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Bound<'py, PyDict>> {
    let runs = kernel.view().short_runs();
    let column = |value: fn(&ShortRun) -> f64| runs.values().map(value).collect::<Vec<f64>>();
    let result = PyDict::new(py);
    result.set_item("row", runs.keys().copied().collect::<Vec<u32>>().into_pyarray(py))?;
    result.set_item("work_start", column(|run| run.work_start).into_pyarray(py))?;
    result.set_item("work_end", column(|run| run.work_end).into_pyarray(py))?;
    result.set_item("ended", runs.values().map(|run| run.ended).collect::<Vec<bool>>().into_pyarray(py))?;
    Ok(result)
}
