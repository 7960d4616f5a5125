//! The recorded tables of a run, as columns.
use batchlab_kernel::record::{ClosureLog, DispatchLog, ReasonLog, UsageLog};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::simulation::Simulation as Kernel;
use batchlab_kernel::state::ShortRun;
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::application_jobs::{application_times, links, messages, ranks, sensed, task_times};
use crate::columns::intervals;
use crate::service;
use crate::sleep::power_states;
use crate::status;

/// The tables by the names of the fields of an outcome; None for tables that were not recorded.
pub fn columns<'py>(py: Python<'py>, kernel: &Kernel<Replay>) -> PyResult<Bound<'py, PyDict>> {
    let recorders = kernel.recorders();
    let resources = kernel.state().machine.resources();
    let result = PyDict::new(py);
    let dispatch = recorders.dispatch.as_ref().map(|log| dispatch(py, log)).transpose()?;
    result.set_item("dispatch", dispatch)?;
    let reasons = recorders.reasons.as_ref().map(|log| reasons(py, log)).transpose()?;
    result.set_item("reasons", reasons)?;
    let waiting = PyDict::new(py);
    let (rows, why) = status::reasons(kernel.view());
    waiting.set_item("row", rows.into_pyarray(py))?;
    waiting.set_item("reason", why.into_pyarray(py))?;
    result.set_item("waiting", waiting)?;
    let log = &recorders.interruptions;
    let interruptions = intervals(py, &log.runs, resources)?;
    interruptions.set_item("work_start", log.work_start.to_vec().into_pyarray(py))?;
    interruptions.set_item("work_end", log.work_end.to_vec().into_pyarray(py))?;
    interruptions.set_item("saved", log.saved.to_vec().into_pyarray(py))?;
    result.set_item("interruptions", interruptions)?;
    result.set_item("short_runs", short_runs(py, kernel)?)?;
    // A look ahead treats applications as run times, and its past is known.
    let has_applications = kernel.scenario().applications.is_some();
    let resizes = has_applications.then(|| intervals(py, &recorders.resizes, resources)).transpose()?;
    result.set_item("resizes", resizes)?;
    result.set_item("task_times", task_times(py, kernel)?)?;
    result.set_item("sensed", sensed(py, kernel)?)?;
    result.set_item("ranks", ranks(py, kernel)?)?;
    result.set_item("application_time", kernel.applications().map(|_| application_times(py, kernel)))?;
    result.set_item("messages", messages(py, kernel)?)?;
    result.set_item("links", links(py, kernel)?)?;
    let usage = recorders.usage.as_ref().map(|log| usage(py, log)).transpose()?;
    result.set_item("usage", usage)?;
    let rates = recorders.rates.as_ref().map(|log| service::rates(py, log)).transpose()?;
    result.set_item("rates", rates)?;
    let events = recorders.key_events.as_ref().map(|log| service::key_events(py, log)).transpose()?;
    result.set_item("key_events", events)?;
    let events = recorders.events.as_ref().map(|log| log.applied.to_vec().into_pyarray(py));
    result.set_item("events_applied", events)?;
    let states = recorders.power_states.as_ref().map(|log| power_states(py, log)).transpose()?;
    result.set_item("power_states", states)?;
    let closures = recorders.closures.as_ref().map(|log| closures(py, log)).transpose()?;
    result.set_item("closures", closures)?;
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

/// The last runs with phases that were shorter or longer than planned, by row.
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

/// The times at which nodes closed and opened.
fn closures<'py>(py: Python<'py>, log: &ClosureLog) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("time", log.time.to_vec().into_pyarray(py))?;
    result.set_item("node", log.node.to_vec().into_pyarray(py))?;
    result.set_item("closed", log.closed.to_vec().into_pyarray(py))?;
    Ok(result)
}

/// The usage of accounts and users at each calculation: a column of times, and matrices of usage and factors.
fn usage<'py>(py: Python<'py>, log: &UsageLog) -> PyResult<Bound<'py, PyDict>> {
    let times = log.time.to_vec();
    let (rows, nodes) = (times.len(), log.usage.len() / times.len().max(1));
    let result = PyDict::new(py);
    result.set_item("time", times.into_pyarray(py))?;
    result.set_item("usage", log.usage.to_vec().into_pyarray(py).reshape([rows, nodes])?)?;
    result.set_item("factor", log.factor.to_vec().into_pyarray(py).reshape([rows, nodes])?)?;
    Ok(result)
}

/// The cost of every pass.
fn dispatch<'py>(py: Python<'py>, log: &DispatchLog) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("time", log.time.to_vec().into_pyarray(py))?;
    result.set_item("queue_length", log.queue_length.to_vec().into_pyarray(py))?;
    result.set_item("cpu_time", log.cpu_time.to_vec().into_pyarray(py))?;
    // An unfinished pass has no entry.
    let other: Vec<f64> = log.other_cpu_time.to_vec().into_iter().take(log.time.len()).collect();
    result.set_item("other_cpu_time", other.into_pyarray(py))?;
    result.set_item("memory", log.memory.to_vec().into_pyarray(py))?;
    result.set_item("started", log.started.to_vec().into_pyarray(py))?;
    Ok(result)
}

/// The reasons why jobs waited: the past intervals, then the current ones, with NaN as their end.
fn reasons<'py>(py: Python<'py>, log: &ReasonLog) -> PyResult<Bound<'py, PyDict>> {
    let (mut rows, mut reasons) = (log.job.to_vec(), log.reason.to_vec());
    let (mut starts, mut ends) = (log.start_time.to_vec(), log.end_time.to_vec());
    for (row, reason, since) in log.current() {
        rows.push(row);
        reasons.push(reason);
        starts.push(since);
        ends.push(f64::NAN);
    }
    let result = PyDict::new(py);
    result.set_item("row", rows.into_pyarray(py))?;
    result.set_item("reason", reasons.into_pyarray(py))?;
    result.set_item("start_time", starts.into_pyarray(py))?;
    result.set_item("end_time", ends.into_pyarray(py))?;
    Ok(result)
}
