//! A job as schedulers see it: a handle with attributes that are looked up in columns.
use batchlab_kernel::application::JobType;
use batchlab_kernel::state::{ApplicationState, View as KernelView};
use batchlab_kernel::workload::JobState;
use pyo3::exceptions::PyAttributeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{as_attribute_error, decision_error};
use crate::handles::{Job, View, twin_of};

impl Job {
    fn with<T>(&self, py: Python<'_>, look: impl FnOnce(KernelView<'_>) -> T) -> PyResult<T> {
        Ok(look(self.view.get().simulation(py)?.kernel.view()))
    }

    /// The run time in its column of the workload, without work of other units and overheads. In a look ahead the
    /// assumed run time; 0 for a job that runs until its application ends; for a job without a known run time the
    /// longest possible run.
    fn known_run_time(&self, py: Python<'_>) -> PyResult<f64> {
        if let Some(assumed) =
            self.with(py, |view| view.state.assumes_estimates.then(|| view.state.jobs.run_time(self.slot)))?
        {
            return Ok(assumed);
        }
        let until = self.with(py, |view| {
            let cancelled_at = view.scenario.attributes.cancelled_at(self.slot);
            cancelled_at.map(|time| time - view.scenario.job(self.slot).submit_time)
        })?;
        if let Some(longest) = until {
            return Ok(longest);
        }
        let column = self.view.get().columns.bind(py).get_item("run_time")?;
        let run_time: f64 = column.get_item(self.slot)?.extract()?;
        Ok(if run_time.is_nan() { 0.0 } else { run_time })
    }

    fn application<T>(
        &self,
        py: Python<'_>,
        look: impl FnOnce(&ApplicationState) -> Option<T>,
    ) -> PyResult<Option<T>> {
        Ok(self.view.get().simulation(py)?.kernel.applications().and_then(look))
    }
}

#[pymethods]
impl Job {
    /// Its `job_id` in the workload.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.__getitem__(py, "job_id")
    }

    /// Its row in the workload.
    #[getter]
    fn row(&self) -> u32 {
        self.slot
    }

    /// Submit time, seconds.
    #[getter]
    fn submit_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |view| view.scenario.job(self.slot).submit_time)
    }

    /// Time limit, seconds; infinity if it has none.
    #[getter]
    fn time_limit(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |view| view.state.jobs.time_limit(self.slot))
    }

    /// The time with which schedulers plan, seconds; infinity if unknown.
    #[getter]
    fn requested_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |view| view.state.jobs.requested_time(self.slot))
    }

    /// The estimate of its run_time, seconds: requested_time, or the value of a predictor.
    #[getter]
    fn estimate(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |view| view.state.jobs.estimate(self.slot))
    }

    /// Work kept from interrupted runs: seconds that need not be repeated.
    #[getter]
    fn saved_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.with(py, |view| view.state.jobs.saved(self.slot))
    }

    /// Number of tasks of its running application, or of its allocation if it runs; otherwise the requested number.
    #[getter]
    fn tasks(&self, py: Python<'_>) -> PyResult<u32> {
        let simulation = self.view.get().simulation(py)?;
        let ranks = simulation.kernel.applications().map_or(0, |running| running.ranks(self.slot).len());
        if ranks > 0 {
            return Ok(ranks as u32);
        }
        let jobs = &simulation.kernel.state().jobs;
        Ok(match jobs.state(self.slot) {
            JobState::Running => jobs.placement(self.slot).iter().map(|part| part.tasks).sum(),
            _ => simulation.kernel.scenario().job(self.slot).tasks,
        })
    }

    /// The least number of tasks that it can have.
    #[getter]
    fn tasks_min(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.view.get().simulation(py)?.kernel.sizes(self.slot).0)
    }

    /// The greatest number of tasks that it can have.
    #[getter]
    fn tasks_max(&self, py: Python<'_>) -> PyResult<u32> {
        Ok(self.view.get().simulation(py)?.kernel.sizes(self.slot).1)
    }

    /// Its type: "rigid", "moldable", "malleable", "evolving" or "adaptive".
    #[getter]
    fn job_type(&self, py: Python<'_>) -> PyResult<&'static str> {
        let job_type =
            self.with(py, |view| view.application_job(self.slot).map(|carried| carried.job_type))?;
        let named = JobType::NAMES.iter().find(|(_, known)| *known == job_type.unwrap_or_default());
        Ok(named.map_or("rigid", |(name, _)| name))
    }

    /// True if it is running and can be resized, at its scheduling points or at this instant.
    #[getter]
    fn is_resizable(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.view.get().simulation(py)?.kernel.is_resizable(self.slot))
    }

    /// True if it has an application that determines its run time; the work of an application cannot be kept.
    #[getter]
    fn has_application(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |view| view.has_application(self.slot))
    }

    /// Its nodes by rank, one per task; empty if no application is running.
    #[getter]
    fn ranks(&self, py: Python<'_>) -> PyResult<Vec<u32>> {
        let ranks = self.application(py, |applications| Some(applications.ranks(self.slot).to_vec()))?;
        Ok(ranks.unwrap_or_default())
    }

    /// Its nodes by rank from its next scheduling point on; None if no change is pending.
    #[getter]
    fn pending_ranks(&self, py: Python<'_>) -> PyResult<Option<Vec<u32>>> {
        self.application(py, |applications| applications.pending_allocation(self.slot).map(<[u32]>::to_vec))
    }

    /// Number of tasks that it requests at this instant; None without a request.
    #[getter]
    fn requested_tasks(&self, py: Python<'_>) -> PyResult<Option<u32>> {
        self.application(py, |applications| {
            applications.scheduling_point(self.slot).and_then(|point| point.requested_tasks)
        })
    }

    /// Number of completed iterations of its phases, and their total number; None if no application is running.
    #[getter]
    fn progress(&self, py: Python<'_>) -> PyResult<Option<(u64, u64)>> {
        self.application(py, |applications| applications.execution.progress(self.slot))
    }

    /// True during the stage at its start, or after its nodes changed.
    #[getter]
    fn is_preparing(&self, py: Python<'_>) -> PyResult<bool> {
        let prepares =
            self.application(py, |applications| Some(applications.execution.is_preparing(self.slot)))?;
        Ok(prepares.unwrap_or(false))
    }

    /// The request of each task on one node, by resource.
    #[getter]
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.view.get();
        let amounts = self.with(py, |view| view.request(self.slot).amounts.clone())?;
        view.by_resource(py, amounts.into_iter())
    }

    /// The total request, by resource.
    #[getter]
    fn demand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.view.get();
        let amounts: Vec<i64> = self.with(py, |view| {
            (0..view.state.machine.resources()).map(|resource| view.need(self.slot, resource)).collect()
        })?;
        view.by_resource(py, amounts.into_iter())
    }

    /// True if it occupies whole idle nodes.
    #[getter]
    fn exclusive(&self, py: Python<'_>) -> PyResult<bool> {
        self.with(py, |view| view.request(self.slot).exclusive)
    }

    /// Maximum number of its tasks per node; 0 for no limit.
    #[getter]
    fn tasks_per_node(&self, py: Python<'_>) -> PyResult<u32> {
        self.with(py, |view| view.request(self.slot).tasks_per_node)
    }

    /// The node groups that it may use, as in the workload: "cpu|fat"; None for all nodes.
    #[getter]
    fn node_group<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let columns = self.view.get().columns.bind(py);
        if columns.contains("node_group")? {
            columns.get_item("node_group")?.get_item(self.slot).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Its state: "loaded", "queued", "running", "completed", "killed" or "rejected".
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |view| view.state.jobs.state(self.slot).name())
    }

    /// Start time, seconds; None if it has not started.
    #[getter]
    fn start_time(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let start = self.with(py, |view| view.state.jobs.start_time(self.slot))?;
        Ok((!start.is_nan()).then_some(start))
    }

    /// End time, seconds; None if it has not ended.
    #[getter]
    fn end_time(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        let end = self.with(py, |view| view.state.jobs.end_time(self.slot))?;
        Ok((!end.is_nan()).then_some(end))
    }

    /// Expected end, seconds, never before now; None if it is not running.
    #[getter]
    fn expected_end(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.with(py, |view| {
            (view.state.jobs.state(self.slot) == JobState::Running)
                .then(|| view.expected_end(self.slot).time.0.max(view.now()))
        })
    }

    /// The nodes that it runs or ran on, with the number of its tasks on each.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let nodes = PyDict::new(py);
        let placement =
            self.with(py, |view| view.state.jobs.last_placement(self.slot).listed().into_owned())?;
        for part in placement {
            nodes.set_item(part.node, part.tasks)?;
        }
        Ok(nodes)
    }

    /// True duration, seconds: available for a finished job, or if the policy is clairvoyant.
    #[getter]
    fn run_time(&self, py: Python<'_>) -> PyResult<f64> {
        if self.view.get().clairvoyant {
            return self.known_run_time(py);
        }
        let (state, ran) = self.with(py, |view| {
            let jobs = &view.state.jobs;
            (jobs.state(self.slot), jobs.end_time(self.slot) - jobs.start_time(self.slot))
        })?;
        if state.has_ended() && !ran.is_nan() {
            return Ok(ran);
        }
        Err(decision_error(
            py,
            &format!(
                "{}: its run_time is not known before it ends; set clairvoyant = True on the class to see it",
                self.name(py)?
            ),
        ))
    }

    /// Return its value in a column of the workload; hidden columns become available when the job has ended.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name == "run_time" {
            return Ok(self.run_time(py)?.into_pyobject(py)?.into_any());
        }
        let columns = self.view.get().columns.bind(py);
        let state = self.with(py, |view| view.state.jobs.state(self.slot))?;
        if state.has_ended() {
            return columns.call_method1("of_the_done", (name,))?.get_item(self.slot);
        }
        columns.get_item(name)?.get_item(self.slot)
    }

    /// The workload's columns are available as attributes too.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name.starts_with('_') {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        self.__getitem__(py, name).map_err(|error| as_attribute_error(py, error))
    }

    /// The copy of a policy for a copy of the simulation refers to jobs of that copy.
    fn __deepcopy__(&self, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { view: twin_of(&self.view, memo)?, slot: self.slot })
    }

    /// A job is pickled as a job of its view; a snapshot replaces the view by its own.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<View>,))> {
        let job = py.import("operator")?.getattr("methodcaller")?.call1(("job", self.slot))?;
        Ok((job, (self.view.clone_ref(py),)))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().slot == self.slot)
    }

    fn __hash__(&self) -> u64 {
        u64::from(self.slot)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let tasks = self.tasks(py)?;
        let plural = if tasks == 1 { "" } else { "s" };
        Ok(format!("<Job {}: {}, {tasks} task{plural}>", self.id(py)?.str()?, self.state(py)?))
    }
}
