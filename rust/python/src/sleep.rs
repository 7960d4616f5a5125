//! The sleep states of nodes and the rules of sleeping, converted from Python, and the record of power states.
use batchlab_kernel::cluster::{SleepLevel, SleepRules, WarmNodes};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The sleep states of each kind of node as `(enter_time, wake_time, after)`, the kind of each node, and the rules.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct SleepInputs<'py> {
    levels: Vec<Vec<(f64, f64, f64)>>,
    kind_of: PyReadonlyArray1<'py, u32>,
    keep: Vec<(f64, f64)>,
    clock: Option<Vec<(f64, f64)>>,
    wakes_for_queue: bool,
    counted: bool,
    prefers_on: bool,
}

impl SleepInputs<'_> {
    /// Creates the rules for this number of nodes.
    pub fn rules(&self, nodes: usize) -> PyResult<SleepRules> {
        let kind_of: Vec<u32> = self.kind_of.as_array().iter().copied().collect();
        let are_seconds = |&(enter_time, wake_time, after): &(f64, f64, f64)| {
            enter_time >= 0.0
                && enter_time.is_finite()
                && wake_time >= 0.0
                && wake_time.is_finite()
                && after >= 0.0
        };
        let is_sound = kind_of.len() == nodes
            && kind_of.iter().all(|&kind| (kind as usize) < self.levels.len())
            && self.levels.iter().all(|levels| levels.len() < usize::from(u8::MAX))
            && self.levels.iter().flatten().all(are_seconds)
            && self.keep.is_sorted_by(|a, b| a.0 < b.0)
            && self.clock.as_ref().is_none_or(|clock| clock.is_sorted_by(|a, b| a.0 < b.0));
        if !is_sound {
            return Err(PyValueError::new_err("the rules of sleeping do not fit the nodes"));
        }
        let level =
            |&(enter_time, wake_time, after): &(f64, f64, f64)| SleepLevel { enter_time, wake_time, after };
        Ok(SleepRules {
            levels: self.levels.iter().map(|levels| levels.iter().map(level).collect()).collect(),
            kind_of,
            keep: WarmNodes { steps: self.keep.clone(), clock: self.clock.clone() },
            wakes_for_queue: self.wakes_for_queue,
            counted: self.counted,
            prefers_on: self.prefers_on,
        })
    }
}
