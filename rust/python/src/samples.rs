//! Forks with other run times and arrivals, and samples of them.
use batchlab_kernel::simulation::{Arrival, Samples, SamplingError};
use batchlab_kernel::time::Time;
use numpy::{
    IntoPyArray, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::simulation_error;
use crate::interrupt::interruptible;
use crate::simulation::Simulation;

/// The rows to resubmit, their submit times, and their numbers of tasks and requested times if these differ (0 and NaN
/// if not).
#[derive(FromPyObject)]
struct ArrivalColumns<'py>(
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, f64>,
);

/// The error of a value of one job: its position in the input, and the reason.
fn of_job(at: usize, reason: &impl ToString) -> PyErr {
    PyValueError::new_err((at, reason.to_string()))
}

#[pymethods]
impl Simulation {
    /// Replace the true run times of jobs, by row, seconds. `ValueError(position, reason)` if one is refused.
    fn replace_run_times(
        &mut self,
        rows: PyReadonlyArray1<'_, u32>,
        seconds: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<()> {
        for (at, (&row, &seconds)) in rows.as_slice()?.iter().zip(seconds.as_slice()?).enumerate() {
            self.kernel.replace_run_time(row, seconds).map_err(|refusal| of_job(at, &refusal))?;
        }
        Ok(())
    }

    /// Stop the submissions and the external events of the workload.
    fn close_feed(&mut self) {
        self.kernel.close_feed();
    }

    /// Submit jobs that have ended, or are not yet submitted, and no others from now on. `ValueError(position, reason)`
    /// if one is refused.
    fn replace_arrivals(&mut self, arrivals: ArrivalColumns<'_>) -> PyResult<()> {
        let ArrivalColumns(rows, times, tasks, requested) = arrivals;
        let (rows, times) = (rows.as_slice()?, times.as_slice()?);
        let sizes = tasks.as_slice()?.iter().zip(requested.as_slice()?);
        let arrivals: Vec<Arrival> = rows
            .iter()
            .zip(times)
            .zip(sizes)
            .map(|((&job, &submit_time), (&tasks, &requested_time))| Arrival {
                job,
                submit_time,
                tasks: (tasks > 0).then_some(tasks),
                requested_time: (!requested_time.is_nan()).then_some(requested_time),
            })
            .collect();
        self.kernel.replace_arrivals(&arrivals).map_err(|(at, refusal)| of_job(at, &refusal))
    }

    /// Return how long each of these jobs has run, seconds of completed work that it keeps, by row.
    fn times_run(&self, rows: PyReadonlyArray1<'_, u32>) -> PyResult<Vec<f64>> {
        Ok(rows.as_slice()?.iter().map(|&row| self.kernel.time_run(row)).collect())
    }

    /// Simulate samples that differ in the run times of `rows`, until the jobs `asked` have started, and at most until
    /// `until`. Return the starts, infinite if a job does not start in time: shape (samples, asked).
    /// `ValueError(position, reason)` if a run time is refused.
    fn sample_starts<'py>(
        &mut self,
        py: Python<'py>,
        rows: PyReadonlyArray1<'_, u32>,
        run_times: PyReadonlyArray2<'_, f64>,
        asked: PyReadonlyArray1<'_, u32>,
        until: f64,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let samples = Samples {
            jobs: rows.as_slice()?.to_vec(),
            run_times: run_times.as_slice()?.to_vec(),
            count: run_times.shape()[0],
            asked: asked.as_slice()?.to_vec(),
            until: Time(until),
            threads,
        };
        let shape = [samples.count, samples.asked.len()];
        let fork = self.kernel.fork();
        let starts =
            interruptible(py, move || fork.sample_starts(&samples))?.map_err(|error| match error {
                SamplingError::RunTime(_, at, refusal) => of_job(at, &refusal),
                SamplingError::Failed(reason) => simulation_error(py, &reason),
            })?;
        starts.into_pyarray(py).reshape(shape)
    }
}
