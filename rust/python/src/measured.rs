//! The aggregate measures of a run, converted to Python.
use batchlab_kernel::measures::{self, Both, Described, Schedule, Summary, Total};
use batchlab_kernel::workload::Rejection;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};

const MEASURES: [&str; 5] = ["wait", "turnaround", "slowdown", "bounded_slowdown", "per_processor_slowdown"];
const QUANTILES: [&str; 4] = ["median", "p95", "p99", "max"];

/// The aggregates with the names, and in the order, of `batchlab.metrics.overview`.
pub fn metrics<'py>(
    py: Python<'py>,
    summary: &Summary,
    resources: &[String],
) -> PyResult<Bound<'py, PyDict>> {
    let metrics = PyDict::new(py);
    let [queued, running, completed, killed, cancelled] = summary.states;
    let rejected: u64 = summary.rejected.iter().sum();
    let jobs = PyDict::new(py);
    jobs.set_item("submitted", queued + running + completed + killed + rejected + cancelled)?;
    jobs.set_item("loaded", 0)?;
    for (state, count) in [("queued", queued), ("running", running), ("completed", completed)] {
        jobs.set_item(state, count)?;
    }
    for (state, count) in [("killed", killed), ("rejected", rejected), ("cancelled", cancelled)] {
        jobs.set_item(state, count)?;
    }
    metrics.set_item("jobs", jobs)?;
    for (name, described) in MEASURES.iter().zip(&summary.described) {
        metrics.set_item(name, described_as_dict(py, described)?)?;
    }
    metrics.set_item("makespan", summary.makespan)?;
    let ran = summary.ran as f64;
    metrics.set_item("throughput", summary.makespan.filter(|span| *span > 0.0).map(|span| ran / span))?;
    metrics.set_item("utilisation", by_resource(py, resources, &summary.utilisation)?)?;
    let queue = PyDict::new(py);
    queue.set_item("mean", summary.mean_queue)?;
    queue.set_item("max", summary.longest_queue)?;
    metrics.set_item("queue_length", queue)?;
    metrics.set_item("loss_of_capacity", by_resource(py, resources, &summary.lost)?)?;
    if rejected > 0 {
        let reasons = PyDict::new(py);
        for (reason, count) in Rejection::ALL.iter().zip(summary.rejected).filter(|(_, count)| *count > 0) {
            reasons.set_item(reason.name(), count)?;
        }
        metrics.set_item("rejected", reasons)?;
    }
    if let Some(interrupted) = summary.interrupted {
        let cut_short = PyDict::new(py);
        cut_short.set_item("runs", interrupted.runs)?;
        cut_short.set_item("jobs", interrupted.jobs)?;
        cut_short.set_item("lost_time", interrupted.lost_time)?;
        metrics.set_item("interrupted", cut_short)?;
    }
    Ok(metrics)
}

/// Return mean, median, 95th and 99th percentile and maximum of finite numbers, as a run computes them; None without
/// numbers.
#[pyfunction]
pub fn describe<'py>(py: Python<'py>, values: PyReadonlyArray1<'py, f64>) -> PyResult<Bound<'py, PyDict>> {
    described_as_dict(py, &measures::describe(values.as_array().to_vec()))
}

/// Return the sum of numbers with compensation of rounding errors, as a run computes it.
#[pyfunction]
pub fn total(values: PyReadonlyArray1<'_, f64>) -> f64 {
    let mut total = Total::default();
    values.as_array().iter().for_each(|&value| total.add(value));
    total.value()
}

pub fn described_as_dict<'py>(py: Python<'py>, described: &Described) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("mean", described.mean)?;
    for (index, name) in QUANTILES.iter().enumerate() {
        result.set_item(name, described.quantiles.map(|quantiles| quantiles[index]))?;
    }
    Ok(result)
}

pub fn by_resource<'py>(
    py: Python<'py>,
    names: &[String],
    shares: &[Option<f64>],
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (name, share) in names.iter().zip(shares) {
        result.set_item(name, share)?;
    }
    Ok(result)
}

/// The schedule in the log beside the simulated one, like `batchlab.result.near`; None if no job ran in both.
pub fn beside<'py>(
    py: Python<'py>,
    both: &mut Both,
    names: &[String],
    capacity: &[i64],
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let (jobs, first) = (both.log.jobs(), both.first_submission);
    if jobs == 0 {
        return Ok(None);
    }
    let described = |schedule: &mut Schedule| -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        found.set_item("wait", described_as_dict(py, &schedule.wait()?)?)?;
        found.set_item("bounded_slowdown", [("mean", schedule.bounded_slowdown())].into_py_dict(py)?)?;
        found.set_item("utilisation", by_resource(py, names, &schedule.utilisation(capacity, first))?)?;
        Ok(found)
    };
    let log = described(&mut both.log)?;
    log.set_item("jobs", jobs)?;
    log.set_item("simulated", described(&mut both.simulated)?)?;
    Ok(Some(log))
}
