//! The counters of limits, converted from Python.
use batchlab_kernel::accounting::{Cap, Limits, MinuteCaps};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The caps of one counter.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Caps {
    limit: u32,
    running: u32,
    submitted: u32,
    amounts: Vec<i64>,
    time: f64,
    running_minutes: Vec<i64>,
    total_minutes: Vec<i64>,
    blocks: bool,
}

/// The counters, and the list of each job.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct LimitColumns<'py> {
    caps: Vec<Caps>,
    lists: Vec<Vec<u32>>,
    list_of: PyReadonlyArray1<'py, u32>,
    least_nodes: PyReadonlyArray1<'py, u32>,
}

impl LimitColumns<'_> {
    /// Creates the limits of this number of jobs; amounts are the resources and the number of nodes.
    pub fn limits(&self, jobs: usize, resources: usize) -> PyResult<Limits> {
        let counters = self.caps.len() as u32;
        let are_minutes = |minutes: &[i64]| minutes.is_empty() || minutes.len() == resources;
        let is_cap = |cap: &Caps| {
            cap.amounts.len() == resources + 1
                && are_minutes(&cap.running_minutes)
                && are_minutes(&cap.total_minutes)
        };
        let is_sound = self.caps.iter().all(is_cap)
            && self.lists.iter().flatten().all(|&counter| counter < counters)
            && self.list_of.as_array().iter().all(|&list| (list as usize) < self.lists.len())
            && self.list_of.len() == jobs
            && self.least_nodes.len() == jobs;
        if !is_sound {
            return Err(PyValueError::new_err("limits do not fit the jobs and the resources"));
        }
        let caps = self.caps.iter().map(|cap| Cap {
            limit: cap.limit,
            running: cap.running,
            submitted: cap.submitted,
            amounts: cap.amounts.clone(),
            time: cap.time,
            minutes: MinuteCaps { running: cap.running_minutes.clone(), total: cap.total_minutes.clone() },
            blocks: cap.blocks,
        });
        let (list_of, nodes) = (self.list_of.as_array().to_vec(), self.least_nodes.as_array().to_vec());
        Ok(Limits::new(caps.collect(), list_of, self.lists.clone(), nodes))
    }
}
