//! The columns of a workload, as the Python side hands them over, and columns of what became of it.
use batchlab_kernel::cluster::{Request, Requests};
use batchlab_kernel::record::AllocationIntervals;
use batchlab_kernel::scenario::Scenario;
use batchlab_kernel::state::JobRecords;
use batchlab_kernel::workload::Job;
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The amount of one resource that each task asks: the same for all jobs, or one value per job.
#[derive(FromPyObject)]
enum Amount<'py> {
    Same(i64),
    PerJob(PyReadonlyArray1<'py, i64>),
}

impl Amount<'_> {
    fn of(&self, job: usize) -> i64 {
        match self {
            Self::Same(amount) => *amount,
            Self::PerJob(amounts) => amounts.as_array()[job],
        }
    }
}

/// Only a limit may be infinite: there is none.
fn may_be(name: &str, value: f64) -> bool {
    value.is_finite() || name == "requested_time"
}

/// The columns of a workload.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Columns<'py> {
    submit_time: PyReadonlyArray1<'py, f64>,
    run_time: PyReadonlyArray1<'py, f64>,
    requested_time: PyReadonlyArray1<'py, f64>,
    tasks: PyReadonlyArray1<'py, i64>,
    amounts: Vec<Amount<'py>>,
    tasks_per_node: Option<PyReadonlyArray1<'py, i64>>,
    exclusive: Option<PyReadonlyArray1<'py, bool>>,
    /// What a formula may name; with values where it does.
    pub formula: Vec<(String, Option<PyReadonlyArray1<'py, f64>>)>,
    /// Jobs that ask for something the system does not have.
    infeasible: Option<PyReadonlyArray1<'py, bool>>,
}

impl Columns<'_> {
    /// Checks what the kernel relies on; the Python side has given errors with more context before.
    fn check(&self) -> PyResult<usize> {
        let count = self.submit_time.len();
        let lengths = [self.run_time.len(), self.requested_time.len(), self.tasks.len()];
        if lengths.iter().any(|&length| length != count) {
            return Err(PyValueError::new_err("the columns of the jobs differ in length"));
        }
        for (name, column) in [
            ("submit_time", &self.submit_time),
            ("run_time", &self.run_time),
            ("requested_time", &self.requested_time),
        ] {
            if let Some(row) =
                column.as_array().iter().position(|value| !(*value >= 0.0 && may_be(name, *value)))
            {
                let value = column.as_array()[row];
                return Err(PyValueError::new_err(format!(
                    "row {row}: {name} = {value}; must be a finite number >= 0"
                )));
            }
        }
        if let Some(row) = self.tasks.as_array().iter().position(|&tasks| tasks < 1) {
            return Err(PyValueError::new_err(format!(
                "row {row}: tasks = {}; must be >= 1",
                self.tasks.as_array()[row]
            )));
        }
        Ok(count)
    }

    fn request(&self, job: usize) -> Request {
        Request {
            amounts: self.amounts.iter().map(|amount| amount.of(job).max(0)).collect(),
            tasks_per_node: self
                .tasks_per_node
                .as_ref()
                .map_or(0, |column| u32::try_from(column.as_array()[job].max(0)).unwrap_or(u32::MAX)),
            exclusive: self.exclusive.as_ref().is_some_and(|column| column.as_array()[job]),
        }
    }

    fn is_infeasible(&self, job: usize) -> bool {
        self.infeasible.as_ref().is_some_and(|column| column.as_array()[job])
    }

    /// Whether all jobs ask the same of every node.
    fn is_uniform(&self) -> bool {
        self.amounts.iter().all(|amount| matches!(amount, Amount::Same(_)))
            && self.tasks_per_node.is_none()
            && self.exclusive.is_none()
    }

    /// The scenario of the jobs, whose requests are interned, and their records.
    pub fn scenario(&self, mut requests: Requests) -> PyResult<(Scenario, JobRecords)> {
        let count = self.check()?;
        let uniform =
            if count > 0 && self.is_uniform() { Some(requests.intern(self.request(0))) } else { None };
        let (submit, run) = (self.submit_time.as_array(), self.run_time.as_array());
        let (requested, tasks) = (self.requested_time.as_array(), self.tasks.as_array());
        let jobs: Vec<Job> = (0..count)
            .map(|row| Job {
                row: row as u64,
                // Adding 0 turns −0 into 0.
                submit_time: submit[row] + 0.0,
                run_time: run[row] + 0.0,
                requested_time: requested[row] + 0.0,
                tasks: u32::try_from(tasks[row]).unwrap_or(u32::MAX),
                request: uniform.unwrap_or_else(|| requests.intern(self.request(row))),
            })
            .collect();
        let columns = self
            .formula
            .iter()
            .map(|(_, column)| column.as_ref().map_or(Vec::new(), |c| c.as_array().to_vec()));
        let records = JobRecords::new(&jobs, |job| self.is_infeasible(job));
        Ok((Scenario::new(jobs, columns.collect(), requests), records))
    }
}

/// Times during which jobs kept the same nodes, as columns.
pub fn intervals<'py>(py: Python<'py>, log: &AllocationIntervals, resources: usize) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    result.set_item("row", log.job.to_vec().into_pyarray(py))?;
    result.set_item("start_time", log.start_time.to_vec().into_pyarray(py))?;
    result.set_item("end_time", log.end_time.to_vec().into_pyarray(py))?;
    let offsets: Vec<i64> = std::iter::once(0).chain(log.until.iter().map(|&end| end as i64)).collect();
    result.set_item("placement_offsets", offsets.into_pyarray(py))?;
    let nodes: Vec<u32> = log.nodes.iter().map(|part| part.node).collect();
    result.set_item("placement_nodes", nodes.into_pyarray(py))?;
    let tasks: Vec<u32> = log.nodes.iter().map(|part| part.tasks).collect();
    result.set_item("placement_tasks", tasks.into_pyarray(py))?;
    result.set_item("allocated", log.held.to_vec().into_pyarray(py).reshape([log.job.len(), resources])?)?;
    Ok(result)
}
