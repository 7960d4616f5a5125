//! The reservations of a machine, converted from Python.
use batchlab_kernel::cluster::{Calendar, NodeSet};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The nodes of each reservation, its begin and end times, and for each job 1 + the number of its reservation, or 0.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ReservationColumns<'py> {
    nodes: Vec<Vec<(u32, u32)>>,
    spans: Vec<Vec<(f64, f64)>>,
    cancels: Vec<bool>,
    of_job: PyReadonlyArray1<'py, u32>,
}

impl ReservationColumns<'_> {
    /// Creates the calendar for this number of jobs.
    pub fn calendar(&self, jobs: usize) -> PyResult<Calendar> {
        let in_order = |spans: &Vec<(f64, f64)>| {
            spans.iter().all(|&(begin, end)| begin.is_finite() && begin <= end)
                && spans.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 <= pair[1].1)
        };
        let is_sound = self.nodes.len() == self.spans.len()
            && self.nodes.len() == self.cancels.len()
            && self.spans.iter().all(in_order)
            && self.of_job.len() == jobs
            && self.of_job.as_array().iter().all(|&number| number as usize <= self.nodes.len());
        if !is_sound {
            return Err(PyValueError::new_err("reservations do not fit the jobs, or are not in order"));
        }
        let as_set = |ranges: &Vec<(u32, u32)>| NodeSet::new(ranges.iter().map(|&(begin, end)| begin..end));
        let nodes = self.nodes.iter().map(as_set).collect();
        let of_job = self.of_job.as_array().to_vec();
        Ok(Calendar::new(nodes, self.spans.clone(), self.cancels.clone(), of_job))
    }
}
