//! The waiting jobs, as a sequence, as columns, and found by index.
use batchlab_kernel::policy::Scheduler;
use batchlab_kernel::policy::site::Rank;
use batchlab_kernel::workload::jobs::State;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PySlice, PyString};

use crate::job::{Job, as_attribute_error};
use crate::view::{View, twin_of};

/// The waiting jobs in order; columns by name, one value per job.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Queue {
    view: Py<View>,
}

impl Queue {
    /// The queue of a view.
    pub fn of(view: &Bound<'_, View>) -> Self {
        Self { view: view.clone().unbind() }
    }
}

#[pymethods]
impl Queue {
    fn __len__(&self, py: Python<'_>) -> usize {
        self.view.get().simulation.borrow(py).kernel.site().queue.len()
    }

    fn __iter__(&self, py: Python<'_>) -> Candidates {
        Candidates { view: self.view.clone_ref(py), at: None, every: true }
    }

    /// The rows of the waiting jobs in the workload, in order: int64.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let queued = self.view.get().simulation.borrow(py).kernel.site().queued();
        queued.into_iter().map(i64::from).collect::<Vec<_>>().into_pyarray(py)
    }

    /// What their run times are taken to be, seconds: float64.
    #[getter]
    fn estimate<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let simulation = self.view.get().simulation.borrow(py);
        let site = simulation.kernel.site();
        site.queued().into_iter().map(|job| site.jobs.job(job).estimate).collect::<Vec<_>>().into_pyarray(py)
    }

    /// What they ask in all of each resource: int64, shape (jobs, resources).
    #[getter]
    fn demand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let view = self.view.get();
        let simulation = view.simulation.borrow(py);
        let site = simulation.kernel.site();
        let resources = 0..site.machine.resources();
        let demand = |job| resources.clone().map(move |resource| site.need(job, resource));
        view.matrix(py, site.queued().into_iter().flat_map(demand).collect())
    }

    /// A job by its place, several by a slice, or a column of the workload for the waiting jobs by its name.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.cast::<PyString>() {
            return self.column(py, name.to_str()?);
        }
        let view = self.view.bind(py);
        let queued = view.get().simulation.borrow(py).kernel.site().queued();
        let all = View::handles(view, queued).into_pyobject(py)?;
        if !key.is_instance_of::<PySlice>() && key.extract::<isize>().is_err() {
            let rule = "must be a place, a slice, or the name of a column";
            return Err(PyTypeError::new_err(format!("queue[{}]; {rule}", key.repr()?)));
        }
        all.get_item(key)
    }

    fn __contains__(&self, py: Python<'_>, job: &Bound<'_, PyAny>) -> bool {
        let Ok(job) = job.cast::<Job>() else { return false };
        let simulation = self.view.get().simulation.borrow(py);
        let site = simulation.kernel.site();
        let slot = job.get().slot;
        (slot as usize) < site.jobs.len()
            && site.jobs.state(slot) == State::Queued
            && !site.on_hold.contains(&slot)
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name.starts_with('_') {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        self.column(py, name).map_err(|error| as_attribute_error(py, error))
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { view: twin_of(&self.view, memo)? })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        format!("<Queue of {} jobs>", self.__len__(py))
    }
}

impl Queue {
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match name {
            "rows" => Ok(self.rows(py).into_any()),
            "estimate" => Ok(self.estimate(py).into_any()),
            "demand" => Ok(self.demand(py)?.into_any()),
            _ => self.view.get().columns.bind(py).get_item(name)?.get_item(self.rows(py)),
        }
    }
}

/// A walk over waiting jobs, in order. Jobs that leave the queue meanwhile do it no harm.
#[pyclass(module = "batchlab._kernel")]
pub struct Candidates {
    view: Py<View>,
    at: Option<Rank>,
    every: bool,
}

impl Candidates {
    /// Those behind a place in the queue who may start.
    pub fn behind(view: &Bound<'_, View>, at: Option<Rank>) -> Self {
        Self { view: view.clone().unbind(), at, every: false }
    }
}

#[pymethods]
impl Candidates {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { view: twin_of(&self.view, memo)?, at: self.at, every: self.every })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }

    fn __next__(&mut self, py: Python<'_>) -> Option<Job> {
        let next = {
            let simulation = self.view.get().simulation.borrow(py);
            let site = simulation.kernel.site();
            match simulation.kernel.scheduler() {
                Scheduler::Outside(outside) if !self.every => outside.next_candidate(site, self.at),
                _ if self.every => site.queue.first_matching(self.at.as_ref(), &|_: &[i64]| true),
                _ => site.queue.first_matching(self.at.as_ref(), &|values: &[i64]| site.may_fit(values)),
            }
        };
        self.at = next.or(self.at);
        next.map(|rank| Job::new(self.view.bind(py), rank.job))
    }
}
