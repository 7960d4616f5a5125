//! A job as schedulers see it: a handle, whose attributes are looked up in columns.
use batchlab_kernel::application::JobType;
use batchlab_kernel::policy::Site;
use batchlab_kernel::simulation::{Applications, Refusal};
use batchlab_kernel::workload::jobs::State;
use pyo3::exceptions::{PyAttributeError, PyKeyError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use crate::view::{View, twin_of};

/// A job of a running simulation.
#[pyclass(module = "batchlab._kernel", frozen)]
pub struct Job {
    view: Py<View>,
    pub slot: u32,
}

impl Job {
    pub fn new(view: &Bound<'_, View>, slot: u32) -> Self {
        Self { view: view.clone().unbind(), slot }
    }

    fn with<T>(&self, py: Python<'_>, look: impl FnOnce(&Site) -> T) -> T {
        look(self.view.get().simulation.borrow(py).kernel.site())
    }

    fn elastic<T>(&self, py: Python<'_>, look: impl FnOnce(&Applications) -> Option<T>) -> Option<T> {
        self.view.get().simulation.borrow(py).kernel.applications().and_then(look)
    }

    /// Refuses a handle of another simulation, whose rows may be others.
    pub fn check_home(&self, view: &Bound<'_, View>) -> PyResult<()> {
        let py = view.py();
        if self.view.get().simulation.is(&view.get().simulation) {
            return Ok(());
        }
        let rule = "is a handle of another simulation; use view.job(row), or a job of this view";
        Err(decision_error(py, &format!("{} {rule}.", self.name(py)?)))
    }

    /// How errors call it.
    pub fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("job {}", self.id(py)?.str()?))
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

    /// When it is submitted, seconds.
    #[getter]
    fn submit_time(&self, py: Python<'_>) -> f64 {
        self.with(py, |site| site.jobs.job(self.slot).submit_time)
    }

    /// The user's limit or estimate, seconds.
    #[getter]
    fn requested_time(&self, py: Python<'_>) -> f64 {
        self.with(py, |site| site.jobs.job(self.slot).requested_time)
    }

    /// What its run_time is taken to be: requested_time, or what a predictor said; seconds.
    #[getter]
    fn estimate(&self, py: Python<'_>) -> f64 {
        self.with(py, |site| site.jobs.job(self.slot).estimate)
    }

    /// How many tasks it has, where it runs an application, or else asks for.
    #[getter]
    fn tasks(&self, py: Python<'_>) -> u32 {
        let simulation = self.view.get().simulation.borrow(py);
        match simulation.kernel.applications().map_or(0, |applications| applications.ranks(self.slot).len()) {
            0 => {
                let jobs = &simulation.kernel.site().jobs;
                match jobs.state(self.slot) {
                    State::Running => jobs.placement(self.slot).iter().map(|share| share.tasks).sum(),
                    _ => jobs.job(self.slot).tasks,
                }
            }
            ranks => ranks as u32,
        }
    }

    /// The fewest tasks that it can have.
    #[getter]
    fn tasks_min(&self, py: Python<'_>) -> u32 {
        self.view.get().simulation.borrow(py).kernel.sizes(self.slot).0
    }

    /// The most tasks that it can have.
    #[getter]
    fn tasks_max(&self, py: Python<'_>) -> u32 {
        self.view.get().simulation.borrow(py).kernel.sizes(self.slot).1
    }

    /// Who decides on its size: "rigid", "moldable", "malleable", "evolving" or "adaptive".
    #[getter]
    fn job_type(&self, py: Python<'_>) -> &'static str {
        let job_type = self.elastic(py, |applications| applications.of(self.slot).map(|job| job.job_type));
        JobType::NAMES
            .iter()
            .find(|(_, known)| *known == job_type.unwrap_or_default())
            .map_or("rigid", |(name, _)| name)
    }

    /// Whether it runs and can be resized: at its scheduling points, or at this very instant.
    #[getter]
    fn is_resizable(&self, py: Python<'_>) -> bool {
        self.view.get().simulation.borrow(py).kernel.is_resizable(self.slot)
    }

    /// Its nodes by rank, one per task; empty where it runs no application now.
    #[getter]
    fn ranks(&self, py: Python<'_>) -> Vec<u32> {
        self.elastic(py, |applications| Some(applications.ranks(self.slot).to_vec())).unwrap_or_default()
    }

    /// Its nodes by rank from its next scheduling point on; None where nothing was decided.
    #[getter]
    fn wanted_ranks(&self, py: Python<'_>) -> Option<Vec<u32>> {
        self.elastic(py, |applications| applications.wanted(self.slot).map(<[u32]>::to_vec))
    }

    /// How many tasks it asks for at this very instant; None where it does not ask.
    #[getter]
    fn requested_tasks(&self, py: Python<'_>) -> Option<u32> {
        self.elastic(py, |applications| {
            applications.at_point().iter().find(|(job, _)| *job == self.slot).and_then(|&(_, tasks)| tasks)
        })
    }

    /// Iterations of its phases that are done, and of how many; None where it runs no application.
    #[getter]
    fn progress(&self, py: Python<'_>) -> Option<(u64, u64)> {
        self.elastic(py, |applications| applications.execution.progress(self.slot))
    }

    /// Whether it is still at what it does once at its start, or after its nodes changed.
    #[getter]
    fn is_preparing(&self, py: Python<'_>) -> bool {
        self.elastic(py, |applications| Some(applications.execution.is_preparing(self.slot))).unwrap_or(false)
    }

    /// What each task asks of ONE node, by resource.
    #[getter]
    fn request<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.view.get();
        let amounts = self.with(py, |site| site.request(self.slot).amounts.clone());
        view.by_resource(py, amounts.into_iter())
    }

    /// What it asks in all, by resource.
    #[getter]
    fn demand<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.view.get();
        let amounts: Vec<i64> = self.with(py, |site| {
            (0..site.machine.resources()).map(|resource| site.need(self.slot, resource)).collect()
        });
        view.by_resource(py, amounts.into_iter())
    }

    /// Whether it takes whole idle nodes.
    #[getter]
    fn exclusive(&self, py: Python<'_>) -> bool {
        self.with(py, |site| site.request(self.slot).exclusive)
    }

    /// At most so many of its tasks share a node; 0 for no limit.
    #[getter]
    fn tasks_per_node(&self, py: Python<'_>) -> u32 {
        self.with(py, |site| site.request(self.slot).tasks_per_node)
    }

    /// The node groups whose nodes it may use, as in the workload: "cpu|fat"; None for all nodes.
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
    fn state(&self, py: Python<'_>) -> &'static str {
        self.with(py, |site| site.jobs.state(self.slot).name())
    }

    /// When it started, seconds; None where it has not.
    #[getter]
    fn start_time(&self, py: Python<'_>) -> Option<f64> {
        let start = self.with(py, |site| site.jobs.start_time(self.slot));
        (!start.is_nan()).then_some(start)
    }

    /// When it ended, seconds; None where it has not.
    #[getter]
    fn end_time(&self, py: Python<'_>) -> Option<f64> {
        let end = self.with(py, |site| site.jobs.end_time(self.slot));
        (!end.is_nan()).then_some(end)
    }

    /// When it is thought to end, seconds, never before now; None where it does not run.
    #[getter]
    fn expected_end(&self, py: Python<'_>) -> Option<f64> {
        self.with(py, |site| {
            (site.jobs.state(self.slot) == State::Running)
                .then(|| site.estimated_end(self.slot).time.0.max(site.now))
        })
    }

    /// The nodes that it runs or ran on, with the number of its tasks on each.
    #[getter]
    fn nodes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let nodes = PyDict::new(py);
        let placement = self.with(py, |site| site.jobs.placement(self.slot).to_vec());
        for share in placement {
            nodes.set_item(share.node, share.tasks)?;
        }
        Ok(nodes)
    }

    /// Its true duration, seconds: of a job that is done, or for those who asked for it by name.
    #[getter]
    fn run_time(&self, py: Python<'_>) -> PyResult<f64> {
        let (state, run_time, ran) = self.with(py, |site| {
            let jobs = &site.jobs;
            let ran = jobs.end_time(self.slot) - jobs.start_time(self.slot);
            (jobs.state(self.slot), jobs.job(self.slot).run_time, ran)
        });
        if self.view.get().clairvoyant {
            return Ok(run_time);
        }
        if matches!(state, State::Completed | State::Killed) && !ran.is_nan() {
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

    /// Its value in a column of the workload; what is hidden shows once the job is done.
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name == "run_time" {
            return Ok(self.run_time(py)?.into_pyobject(py)?.into_any());
        }
        let columns = self.view.get().columns.bind(py);
        let state = self.with(py, |site| site.jobs.state(self.slot));
        if matches!(state, State::Completed | State::Killed) {
            return columns.call_method1("of_the_done", (name,))?.get_item(self.slot);
        }
        columns.get_item(name)?.get_item(self.slot)
    }

    /// The workload's columns are attributes too.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        if name.starts_with('_') {
            return Err(PyAttributeError::new_err(name.to_owned()));
        }
        self.__getitem__(py, name).map_err(|error| as_attribute_error(py, error))
    }

    /// A copy of a policy that works on a copy of the simulation has handles of that.
    fn __deepcopy__(&self, memo: &Bound<'_, PyDict>) -> PyResult<Self> {
        Ok(Self { view: twin_of(&self.view, memo)?, slot: self.slot })
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
        let tasks = self.tasks(py);
        let plural = if tasks == 1 { "" } else { "s" };
        Ok(format!("<Job {}: {}, {tasks} task{plural}>", self.id(py)?.str()?, self.state(py)))
    }
}

/// A column that is not there is an attribute that is not there.
pub fn as_attribute_error(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyKeyError>(py) {
        return error;
    }
    // The text of a KeyError is the representation of what it was given.
    let message = error.value(py).getattr("args").and_then(|arguments| arguments.get_item(0));
    match message.and_then(|message| message.str()) {
        Ok(message) => PyAttributeError::new_err(message.unbind()),
        Err(error) => error,
    }
}

/// A `DecisionError` of the package.
pub fn decision_error(py: Python<'_>, message: &str) -> PyErr {
    static KIND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match KIND.import(py, "batchlab.errors", "DecisionError") {
        Ok(kind) => PyErr::from_type(kind.clone(), message.to_owned()),
        Err(error) => error,
    }
}

/// A `SimulationError` of the package.
pub fn simulation_error(py: Python<'_>, message: &str) -> PyErr {
    static KIND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match KIND.import(py, "batchlab.errors", "SimulationError") {
        Ok(kind) => PyErr::from_type(kind.clone(), message.to_owned()),
        Err(error) => error,
    }
}

/// A `PolicyError` of the package.
pub fn policy_error(py: Python<'_>, message: &str) -> PyErr {
    static KIND: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    match KIND.import(py, "batchlab.errors", "PolicyError") {
        Ok(kind) => PyErr::from_type(kind.clone(), message.to_owned()),
        Err(error) => error,
    }
}

/// The error of a refused decision about a job.
pub fn refused(view: &Bound<'_, View>, job: &Job, what: &str, refusal: &Refusal) -> PyErr {
    let py = view.py();
    match job.name(py) {
        Ok(name) => {
            decision_error(py, &format!("{name} cannot {what} at {} s: {refusal}.", view.get().now(py)))
        }
        Err(error) => error,
    }
}
