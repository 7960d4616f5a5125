//! The columns of a workload, as the Python side hands them over, and columns of what became of it.
use std::sync::Arc;

use batchlab_kernel::cluster::{NodeSet, NodeSetId, NodeSets, Request, Requests};
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
    /// The sets of nodes that jobs may be bound to, each as ranges of nodes.
    node_sets: Vec<Vec<(u32, u32)>>,
    /// The set of each job, counted from 1; 0 where it may use the whole machine.
    node_set: Option<PyReadonlyArray1<'py, u32>>,
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
        if let Some(column) = &self.node_set
            && column.as_array().iter().any(|&set| set as usize > self.node_sets.len())
        {
            return Err(PyValueError::new_err("node_set numbers a set that node_sets does not list"));
        }
        Ok(count)
    }

    /// The node sets on a machine of so many nodes, and the numbers of those that the columns list.
    pub fn sets(&self, nodes: u32) -> PyResult<(NodeSets, Vec<NodeSetId>)> {
        let is_there = |&(_, end): &(u32, u32)| end <= nodes;
        if !self.node_sets.iter().flatten().all(is_there) {
            return Err(PyValueError::new_err(format!("node_sets name more than the {nodes} nodes")));
        }
        let as_set = |ranges: &Vec<(u32, u32)>| NodeSet::new(ranges.iter().map(|&(begin, end)| begin..end));
        Ok(NodeSets::with(nodes, self.node_sets.iter().map(as_set).collect()))
    }

    fn request(&self, job: usize, sets: &[NodeSetId]) -> Request {
        let set = self.node_set.as_ref().map_or(0, |column| column.as_array()[job] as usize);
        Request {
            amounts: self.amounts.iter().map(|amount| amount.of(job).max(0)).collect(),
            tasks_per_node: self
                .tasks_per_node
                .as_ref()
                .map_or(0, |column| u32::try_from(column.as_array()[job].max(0)).unwrap_or(u32::MAX)),
            exclusive: self.exclusive.as_ref().is_some_and(|column| column.as_array()[job]),
            nodes: if set == 0 { NodeSetId::ALL } else { sets[set - 1] },
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
            && self.node_set.is_none()
    }

    /// The scenario of the jobs on a machine of these capacities (node-major), and their records.
    pub fn scenario(&self, resources: usize, capacity: &[i64]) -> PyResult<(Scenario, JobRecords)> {
        let mut requests = Requests::new(resources, capacity);
        let (node_sets, sets) = self.sets((capacity.len() / resources.max(1)) as u32)?;
        let count = self.check()?;
        let uniform =
            if count > 0 && self.is_uniform() { Some(requests.intern(self.request(0, &sets))) } else { None };
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
                request: uniform.unwrap_or_else(|| requests.intern(self.request(row, &sets))),
            })
            .collect();
        let columns = self
            .formula
            .iter()
            .map(|(_, column)| column.as_ref().map_or(Vec::new(), |c| c.as_array().to_vec()));
        let records = JobRecords::new(&jobs, |job| self.is_infeasible(job));
        Ok((Scenario::new(jobs, columns.collect(), requests, Arc::new(node_sets)), records))
    }
}

/// Times during which jobs kept the same nodes, as columns.
pub fn intervals<'py>(
    py: Python<'py>,
    log: &AllocationIntervals,
    resources: usize,
) -> PyResult<Bound<'py, PyDict>> {
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
