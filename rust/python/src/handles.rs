//! The objects that policies hold: a view of a simulation, its queue, and jobs. Their methods are in separate files.
use std::sync::atomic::AtomicU32;

use batchlab_kernel::simulation::Refusal;
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::decision_error;
use crate::simulation::{Simulation, changed, looked_at};

/// The state of a simulation as schedulers, allocators, predictors and observers see it.
#[pyclass(module = "batchlab._kernel", frozen, subclass)]
pub struct View {
    pub simulation: Py<Simulation>,
    pub resources: Vec<String>,
    /// The columns of the workload by name, except those hidden from schedulers.
    pub columns: Py<PyAny>,
    pub values: Py<PyAny>,
    pub allocator: Option<Py<PyAny>>,
    pub clairvoyant: bool,
    pub caller: AtomicU32,
}

/// A job of a running simulation.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Job {
    pub view: Py<View>,
    pub slot: u32,
}

/// The waiting jobs in order, or the first of them; columns by name, one value per job.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Queue {
    pub view: Py<View>,
    /// How many jobs it has at most: `usize::MAX` for the whole queue.
    pub most: usize,
}

impl View {
    /// The simulation, for reading.
    pub fn simulation<'py>(&self, py: Python<'py>) -> PyResult<PyRef<'py, Simulation>> {
        looked_at(self.simulation.bind(py))
    }

    /// The simulation, for writing.
    pub fn simulation_mut<'py>(&self, py: Python<'py>) -> PyResult<PyRefMut<'py, Simulation>> {
        changed(self.simulation.bind(py))
    }

    /// The current time, seconds.
    pub fn time(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.simulation(py)?.kernel.state().now)
    }

    pub fn by_resource<'py>(
        &self,
        py: Python<'py>,
        amounts: impl Iterator<Item = i64>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let result = PyDict::new(py);
        for (name, amount) in self.resources.iter().zip(amounts) {
            result.set_item(name, amount)?;
        }
        Ok(result)
    }

    pub fn handles(view: &Bound<'_, Self>, slots: Vec<u32>) -> Vec<Job> {
        slots.into_iter().map(|slot| Job::new(view, slot)).collect()
    }

    /// A matrix with one value per node and resource.
    pub fn matrix<'py>(&self, py: Python<'py>, values: Vec<i64>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let width = self.resources.len();
        let nodes = values.len() / width;
        values.into_pyarray(py).reshape([nodes, width])
    }
}

impl Job {
    pub fn new(view: &Bound<'_, View>, slot: u32) -> Self {
        Self { view: view.clone().unbind(), slot }
    }

    /// Raises an error for a handle of another simulation, which may have other rows.
    pub fn check_home(&self, view: &Bound<'_, View>) -> PyResult<()> {
        let py = view.py();
        if self.view.get().simulation.is(&view.get().simulation) {
            return Ok(());
        }
        let rule = "is a handle of another simulation; use view.job(row), or a job of this view";
        Err(decision_error(py, &format!("{} {rule}.", self.name(py)?)))
    }

    /// The name of the job in errors.
    pub fn name(&self, py: Python<'_>) -> PyResult<String> {
        let id = self.view.get().columns.bind(py).get_item("job_id")?.get_item(self.slot)?;
        Ok(format!("job {}", id.str()?))
    }
}

impl Queue {
    /// Creates the queue of a view.
    pub fn of(view: &Bound<'_, View>) -> Self {
        Self { view: view.clone().unbind(), most: usize::MAX }
    }
}

/// Creates the error of a refused decision about a job.
pub fn refused(view: &Bound<'_, View>, job: &Job, what: &str, refusal: &Refusal) -> PyErr {
    let py = view.py();
    match (job.name(py), view.get().time(py)) {
        (Ok(name), Ok(now)) => decision_error(py, &format!("{name} cannot {what} at {now} s: {refusal}.")),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

/// The view for a copy of a policy: the view of the fork if there is one, otherwise the same view.
pub fn twin_of(view: &Py<View>, memo: &Bound<'_, PyDict>) -> PyResult<Py<View>> {
    Ok(match memo.get_item(view.as_ptr() as usize)? {
        Some(twin) => twin.cast_into::<View>()?.unbind(),
        None => view.clone_ref(memo.py()),
    })
}
