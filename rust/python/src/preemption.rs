//! The rules of preemption, converted from Python.
use batchlab_kernel::workload::{PreemptionMode, PreemptionRules};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The classes of the jobs, and the rules.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PreemptionColumns<'py> {
    class_of: PyReadonlyArray1<'py, u32>,
    preempts: Vec<Vec<u32>>,
    importance: Vec<f64>,
    mode: String,
    exempt_time: f64,
    grace_time: f64,
    youngest_first: bool,
}

impl PreemptionColumns<'_> {
    /// Creates the rules for this number of jobs.
    pub fn rules(&self, jobs: usize) -> PyResult<PreemptionRules> {
        let classes = self.importance.len();
        let is_class = |&class: &u32| (class as usize) < classes;
        let mode = PreemptionMode::NAMES.iter().find(|(name, _)| *name == self.mode);
        let is_sound = self.class_of.len() == jobs
            && self.class_of.as_array().iter().all(is_class)
            && self.preempts.len() == classes
            && self.preempts.iter().flatten().all(is_class)
            && self.exempt_time >= 0.0
            && self.grace_time >= 0.0;
        let (true, Some(&(_, mode))) = (is_sound, mode) else {
            return Err(PyValueError::new_err("the rules of preemption do not fit the jobs"));
        };
        Ok(PreemptionRules {
            class_of: self.class_of.as_array().to_vec(),
            preempts: self.preempts.clone(),
            importance: self.importance.clone(),
            mode,
            exempt_time: self.exempt_time,
            grace_time: self.grace_time,
            youngest_first: self.youngest_first,
        })
    }
}
