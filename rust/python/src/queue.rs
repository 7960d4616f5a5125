//! The waiting jobs, as a sequence, as columns, and found by index.
use batchlab_kernel::state::{JobRecords, Rank};
use batchlab_kernel::workload::JobState;
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::exceptions::{PyAttributeError, PyIndexError, PyTypeError, PyValueError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::slice::PySliceIndices;
use pyo3::types::{PyDict, PySlice, PySliceMethods, PyString};

use crate::errors::as_attribute_error;
use crate::handles::{Job, Queue, View, twin_of};

#[pymethods]
impl Queue {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.view.get().simulation(py)?.kernel.state().queue.len().min(self.most))
    }

    fn __iter__(&self, py: Python<'_>) -> Candidates {
        Candidates { view: self.view.clone_ref(py), at: None, every: true, left: self.most }
    }

    /// The queue of the first `count` waiting jobs, with their columns; all where fewer wait. What it takes grows with `count`,
    /// not with the queue.
    fn head(&self, py: Python<'_>, count: i64) -> PyResult<Self> {
        let most = usize::try_from(count)
            .map_err(|_| PyValueError::new_err(format!("count = {count}; must be at least 0")))?;
        Ok(Self { view: self.view.clone_ref(py), most: most.min(self.most) })
    }

    /// The rows of the waiting jobs in the workload, in order: int64.
    #[getter]
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        Ok(self.jobs(py)?.into_iter().map(i64::from).collect::<Vec<_>>().into_pyarray(py))
    }

    /// What their run times are taken to be, seconds: float64.
    #[getter]
    fn estimate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let queued = self.jobs(py)?;
        let simulation = self.view.get().simulation(py)?;
        let jobs = &simulation.kernel.state().jobs;
        Ok(queued.into_iter().map(|job| jobs.estimate(job)).collect::<Vec<_>>().into_pyarray(py))
    }

    /// What they ask in all of each resource: int64, shape (jobs, resources).
    #[getter]
    fn demand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let (view, queued) = (self.view.get(), self.jobs(py)?);
        let simulation = view.simulation(py)?;
        let kernel = simulation.kernel.view();
        let resources = 0..kernel.state.machine.resources();
        let demand = |job| resources.clone().map(move |resource| kernel.need(job, resource));
        view.matrix(py, queued.into_iter().flat_map(demand).collect())
    }

    /// A job by its place, several by a slice, or a column of the workload for the waiting jobs by its name.
    fn __getitem__<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(name) = key.cast::<PyString>() {
            return self.column(py, name.to_str()?);
        }
        let length = self.__len__(py)?.cast_signed();
        if let Ok(slice) = key.cast::<PySlice>() {
            return self.slice(py, &slice.indices(length)?)?.into_pyobject(py);
        }
        let Ok(place) = key.extract::<isize>() else {
            let rule = "must be a place, a slice, or the name of a column";
            return Err(PyTypeError::new_err(format!("queue[{}]; {rule}", key.repr()?)));
        };
        let from_start = if place < 0 { place + length } else { place };
        let found = match usize::try_from(from_start) {
            Ok(place) if from_start < length => self.first(py, place + 1)?.get(place).copied(),
            _ => None,
        };
        let Some(job) = found else {
            return Err(PyIndexError::new_err(format!(
                "queue[{place}] is out of range: it has {length} jobs"
            )));
        };
        Ok(Job::new(self.view.bind(py), job).into_pyobject(py)?.into_any())
    }

    fn __contains__(&self, py: Python<'_>, job: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(job) = job.cast::<Job>() else { return Ok(false) };
        if self.most != usize::MAX {
            return Ok(self.jobs(py)?.contains(&job.get().slot));
        }
        let simulation = self.view.get().simulation(py)?;
        let state = simulation.kernel.state();
        let slot = job.get().slot;
        Ok((slot as usize) < state.jobs.len()
            && state.jobs.state(slot) == JobState::Queued
            && !state.queue.on_hold.contains(&slot))
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name.starts_with('_') {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        self.column(py, name).map_err(|error| as_attribute_error(py, error))
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { view: twin_of(&self.view, memo)?, most: self.most })
    }

    /// A queue is pickled as the queue of its view, a part as the head of that.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyAny>,))> {
        let operator = py.import("operator")?;
        if self.most == usize::MAX {
            let queue = operator.getattr("attrgetter")?.call1(("queue",))?;
            return Ok((queue, (self.view.bind(py).clone().into_any(),)));
        }
        let head = operator.getattr("methodcaller")?.call1(("head", self.most))?;
        Ok((head, (Self::of(self.view.bind(py)).into_pyobject(py)?.into_any(),)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Queue of {} jobs>", self.__len__(py)?))
    }
}

impl Queue {
    /// Its jobs, in order.
    fn jobs(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.first(py, usize::MAX)
    }

    /// The first of its jobs, at most so many. O(jobs).
    fn first(&self, py: Python<'_>, most: usize) -> PyResult<Vec<u32>> {
        let mut simulation = self.view.get().simulation_mut(py)?;
        simulation.kernel.complete_queue();
        Ok(simulation.kernel.state().queue.first_jobs(self.most.min(most)))
    }

    /// The jobs of a slice. O(the furthest of their places).
    fn slice(&self, py: Python<'_>, slice: &PySliceIndices) -> PyResult<Vec<Job>> {
        let furthest = if slice.step > 0 { slice.stop } else { slice.start + 1 };
        let queued = self.first(py, usize::try_from(furthest).unwrap_or(0))?;
        let place = |number| usize::try_from(slice.start + slice.step * number).ok();
        let jobs =
            (0..slice.slicelength.cast_signed()).filter_map(place).filter_map(|place| queued.get(place));
        Ok(View::handles(self.view.bind(py), jobs.copied().collect()))
    }

    /// A time of each, which external events may have changed.
    fn times<'py>(
        &self,
        py: Python<'py>,
        time: fn(&JobRecords, u32) -> f64,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let queued = self.jobs(py)?;
        let simulation = self.view.get().simulation(py)?;
        let jobs = &simulation.kernel.state().jobs;
        Ok(queued.into_iter().map(|job| time(jobs, job)).collect::<Vec<_>>().into_pyarray(py))
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match name {
            "rows" => Ok(self.rows(py)?.into_any()),
            "estimate" => Ok(self.estimate(py)?.into_any()),
            "demand" => Ok(self.demand(py)?.into_any()),
            "requested_time" => Ok(self.times(py, JobRecords::requested_time)?.into_any()),
            "time_limit" => Ok(self.times(py, JobRecords::time_limit)?.into_any()),
            _ => self.view.get().columns.bind(py).get_item(name)?.get_item(self.rows(py)?),
        }
    }
}

/// A walk over waiting jobs, in order. Jobs that leave the queue meanwhile do it no harm.
#[pyclass(module = "batchlab._kernel")]
pub struct Candidates {
    view: Py<View>,
    at: Option<Rank>,
    every: bool,
    left: usize,
}

impl Candidates {
    /// Those behind a place in the queue that may start.
    pub fn behind(view: &Bound<'_, View>, at: Option<Rank>) -> Self {
        Self { view: view.clone().unbind(), at, every: false, left: usize::MAX }
    }
}

#[pymethods]
impl Candidates {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __deepcopy__(&self, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { view: twin_of(&self.view, memo)?, at: self.at, every: self.every, left: self.left })
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Job>> {
        if self.left == 0 {
            return Ok(None);
        }
        let next = {
            let mut simulation = self.view.get().simulation_mut(py)?;
            simulation.kernel.complete_queue();
            let view = simulation.kernel.view();
            let queue = &view.state.queue;
            match simulation.kernel.scheduler().as_external() {
                _ if self.every => queue.first_matching(self.at.as_ref(), &|_: &[i64]| true),
                Some(external) => external.next_candidate(view, self.at),
                None => queue.first_matching(self.at.as_ref(), &|values: &[i64]| view.may_fit(values)),
            }
        };
        self.at = next.or(self.at);
        self.left -= usize::from(next.is_some());
        Ok(next.map(|rank| Job::new(self.view.bind(py), rank.job)))
    }
}
