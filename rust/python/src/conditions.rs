//! Conditions of jobs before they enter the queue, converted from Python.
use batchlab_kernel::workload::{ConditionState, Conditions, Dependencies, DependencyKind, NO_ARRAY, Need};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The subject, the kind, and the delay in seconds.
type NeedColumns = (u32, String, f64);

/// Conditions of jobs by row of the workload; the number of a group is the number of rows plus its index.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ConditionColumns<'py> {
    clauses: Vec<(u32, Vec<NeedColumns>)>,
    groups: Vec<Vec<u32>>,
    begin_times: Option<PyReadonlyArray1<'py, f64>>,
    /// The array and the index in it of each row; empty if no array has a limit.
    places: Vec<(Option<u32>, u32)>,
    limits: Vec<u32>,
}

impl ConditionColumns<'_> {
    /// Creates the conditions, and their initial state. Python has raised errors with more context before.
    pub fn parts(self, jobs: usize) -> PyResult<(Conditions, ConditionState)> {
        let subjects = jobs + self.groups.len();
        let clauses: Vec<(u32, Vec<Need>)> =
            self.clauses.iter().map(|(job, needs)| Ok((*job, parse(needs)?))).collect::<PyResult<_>>()?;
        let begin_times: Vec<f64> =
            self.begin_times.map_or_else(Vec::new, |times| times.as_array().iter().copied().collect());
        let is_sound = clauses.iter().all(|(job, _)| (*job as usize) < jobs)
            && clauses.iter().flat_map(|(_, needs)| needs).all(|need| (need.on as usize) < subjects)
            && self.groups.iter().flatten().all(|&member| (member as usize) < subjects)
            && self.places.iter().filter_map(|place| place.0).all(|at| (at as usize) < self.limits.len())
            && [0, jobs].contains(&begin_times.len())
            && [0, jobs].contains(&self.places.len());
        if !is_sound {
            return Err(PyValueError::new_err("conditions: a row, a group or an array is not there"));
        }
        let (dependencies, course) = Dependencies::new(jobs, &clauses, &self.groups);
        let places = self.places.iter().map(|&(array, index)| (array.unwrap_or(NO_ARRAY), index)).collect();
        let given = Conditions { dependencies, begin_times, places };
        Ok((given, ConditionState::new(course, &self.limits)))
    }
}

fn parse(needs: &[NeedColumns]) -> PyResult<Vec<Need>> {
    let kind = |name: &str| DependencyKind::NAMES.iter().find(|known| known.0 == name).map(|known| known.1);
    needs
        .iter()
        .map(|(on, name, delay)| match kind(name) {
            Some(kind) if delay.is_finite() => Ok(Need { on: *on, kind, delay: *delay }),
            _ => Err(PyValueError::new_err(format!("conditions: {name}+{delay} is no dependency"))),
        })
        .collect()
}
