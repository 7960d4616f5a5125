//! Delays of the multiserver-job queue.
use std::ops::Range;

use batchlab_kernel::queueing::{Defect, SimultaneousService};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Jobs between two checks for signals: some tens of milliseconds, or half a second for millions of servers.
const CHUNK: usize = 1 << 18;

/// The columns of jobs: arrival (s), service time (s), servers.
type Jobs<'a> = (&'a [f64], &'a [f64], &'a [i64]);

/// Return the delays (s) of jobs that wait, first come first served, for all of their servers at once.
///
/// Raise `ValueError` for a job that breaks a rule, with its row and the name of the rule: `arrival`, `order`,
/// `service`, `servers` or `late`.
#[pyfunction]
pub fn delays<'py>(
    py: Python<'py>,
    arrival: PyReadonlyArray1<'py, f64>,
    service: PyReadonlyArray1<'py, f64>,
    servers: PyReadonlyArray1<'py, i64>,
    c: u64,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let jobs = (arrival.as_slice()?, service.as_slice()?, servers.as_slice()?);
    let count = jobs.0.len();
    if jobs.1.len() != count || jobs.2.len() != count {
        return Err(PyValueError::new_err("the columns differ in length"));
    }
    let mut queue = SimultaneousService::new(c);
    let mut delays = Vec::with_capacity(count);
    while delays.len() < count {
        let rows = delays.len()..count.min(delays.len() + CHUNK);
        py.detach(|| serve(&mut queue, jobs, rows, &mut delays))
            .map_err(|(row, defect)| PyValueError::new_err((row, name(defect))))?;
        py.check_signals()?;
    }
    Ok(delays.into_pyarray(py))
}

fn serve(
    queue: &mut SimultaneousService,
    (arrival, service, servers): Jobs<'_>,
    rows: Range<usize>,
    delays: &mut Vec<f64>,
) -> Result<(), (usize, Defect)> {
    for row in rows {
        let delay = queue.serve(arrival[row], service[row], servers[row]);
        delays.push(delay.map_err(|defect| (row, defect))?);
    }
    Ok(())
}

fn name(defect: Defect) -> &'static str {
    match defect {
        Defect::Arrival => "arrival",
        Defect::Order => "order",
        Defect::Service => "service",
        Defect::Servers => "servers",
        Defect::TooLate => "late",
    }
}
