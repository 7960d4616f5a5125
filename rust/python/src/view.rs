//! What a view shows.
#![allow(clippy::doc_markdown, reason = "Python shows what stands at its methods, in the form of numpydoc")]

use std::sync::atomic::{AtomicU32, Ordering};

use batchlab_kernel::cluster::Availability;
use batchlab_kernel::placement::Question;
use batchlab_kernel::simulation::Refusal;
use batchlab_kernel::workload::JobState;
use numpy::PyArray2;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::application_jobs;
use crate::arguments::{Limit, Node, Row, Tasks};
use crate::errors::decision_error;
use crate::handles::{Job, Queue, View, refused};
use crate::placements::placement_of;
use crate::queue::Candidates;
use crate::simulation::Simulation;

#[pymethods]
impl View {
    #[new]
    fn new(
        simulation: Py<Simulation>,
        resources: Vec<String>,
        columns: Py<PyAny>,
        values: Py<PyAny>,
        allocator: Option<Py<PyAny>>,
        clairvoyant: bool,
    ) -> Self {
        Self { simulation, resources, columns, values, allocator, clairvoyant, caller: AtomicU32::new(0) }
    }

    /// The present time, seconds.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        self.time(py)
    }

    /// When the first job is submitted, seconds: the origin of what is added up, averaged or done in intervals.
    #[getter]
    fn first_submission(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.simulation(py)?.kernel.scenario().first_submission)
    }

    /// How often the situation has changed so far. Equal values in two passes mean that nothing differs that a decision may
    /// depend on, but what follows from `now`, the progress of applications, and which jobs are at scheduling points.
    ///
    /// It grows with each event, decision and change of a node, and with time where limits count minutes or the order
    /// changes with time. A fork or a snapshot goes on from its value. Compare it for equality only.
    #[getter]
    fn revision(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.simulation(py)?.kernel.state().revision)
    }

    /// Whether jobs show their true run times.
    #[getter]
    fn get_clairvoyant(&self) -> bool {
        self.clairvoyant
    }

    /// The names of the resources, in the system's order.
    #[getter]
    fn resources(&self) -> Vec<String> {
        self.resources.clone()
    }

    /// The workload's columns by name, as `NumPy` arrays: one value per row.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Py<PyAny> {
        self.columns.clone_ref(py)
    }

    /// Observers' values by name.
    #[getter]
    fn values(&self, py: Python<'_>) -> Py<PyAny> {
        self.values.clone_ref(py)
    }

    /// The waiting jobs, in order.
    #[getter]
    fn queue(slf: &Bound<'_, Self>) -> Queue {
        Queue::of(slf)
    }

    /// Walk over the waiting jobs that may start now, in order, found by index.
    ///
    /// Passed over are those whose demand is not free in all, and those with a reservation in this pass.
    ///
    /// Parameters
    /// ----------
    /// after
    ///     Only those behind this job.
    ///
    /// Returns
    /// -------
    /// iterator of Job
    #[pyo3(signature = (after=None))]
    fn candidates(slf: &Bound<'_, Self>, after: Option<&Job>) -> PyResult<Candidates> {
        let at = match after {
            None => None,
            Some(job) => {
                job.check_home(slf)?;
                let simulation = slf.get().simulation(slf.py())?;
                let state = simulation.kernel.state().jobs.state(job.slot);
                if state == JobState::Loaded || state == JobState::Rejected {
                    let refusal = Refusal::WrongState { job: job.slot, state, needed: "one that has waited" };
                    return Err(refused(slf, job, "be searched behind", &refusal));
                }
                Some(simulation.kernel.view().rank_of(job.slot))
            }
        };
        Ok(Candidates::behind(slf, at))
    }

    /// The running jobs, by expected end.
    #[getter]
    fn running(slf: &Bound<'_, Self>) -> PyResult<Vec<Job>> {
        let running = slf.get().simulation(slf.py())?.kernel.view().running_jobs();
        Ok(Self::handles(slf, running))
    }

    /// The jobs on hold, by row.
    #[getter]
    fn on_hold(slf: &Bound<'_, Self>) -> PyResult<Vec<Job>> {
        let held = slf.get().simulation(slf.py())?.kernel.state().queue.on_hold.iter().copied().collect();
        Ok(Self::handles(slf, held))
    }

    /// What is free on each node: int64, shape (nodes, resources).
    #[getter]
    fn free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        if let Some(free) = self.question(py, |question| question.free.clone())? {
            return self.matrix(py, free);
        }
        let simulation = self.simulation(py)?;
        let machine = &simulation.kernel.state().machine;
        self.matrix(py, (0..machine.nodes()).flat_map(|node| machine.free_of(node)).copied().collect())
    }

    /// What each node has: int64, shape (nodes, resources).
    #[getter]
    fn capacity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let capacity = self.simulation(py)?.kernel.state().machine.capacity().to_vec();
        self.matrix(py, capacity)
    }

    /// What is free in all, by resource.
    #[getter]
    fn total_free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let free = self.simulation(py)?.kernel.state().machine.total_free().to_vec();
        self.by_resource(py, free.into_iter())
    }

    /// What each node offers, free or not: int64, shape (nodes, resources).
    #[getter]
    fn available<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let available = self.simulation(py)?.kernel.state().machine.available();
        self.matrix(py, available)
    }

    /// What is on offer in all, free or not, by resource.
    #[getter]
    fn total_available<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let simulation = self.simulation(py)?;
        let machine = &simulation.kernel.state().machine;
        let mut total = vec![0; machine.resources()];
        for node in machine.available().chunks_exact(machine.resources()) {
            total.iter_mut().zip(node).for_each(|(total, amount)| *total += amount);
        }
        self.by_resource(py, total.into_iter())
    }

    /// Count how many more tasks of a job there is room for now, up to a number.
    ///
    /// Those count that a running job was to lose at its next scheduling point, and could keep.
    fn max_additional_tasks(slf: &Bound<'_, Self>, job: &Job, limit: Limit) -> PyResult<u32> {
        job.check_home(slf)?;
        Ok(slf.get().simulation(slf.py())?.kernel.max_additional_tasks(job.slot, limit.0))
    }

    /// Give the bytes per second that flow over a link of the platform, by its number.
    fn flow_on(&self, py: Python<'_>, link: u32) -> PyResult<f64> {
        Ok(self.simulation_mut(py)?.kernel.link_load(link))
    }

    /// Give the operations per second on a node's CPU, and which of its GPUs are at work (none without applications).
    fn work_on(&self, py: Python<'_>, node: Node) -> PyResult<(f64, Vec<bool>)> {
        let node = self.check_node(py, node)?;
        Ok(self.simulation_mut(py)?.kernel.node_load(node))
    }

    /// Whether a node is drained: no further job starts there.
    fn is_drained(&self, py: Python<'_>, node: Node) -> PyResult<bool> {
        let node = self.check_node(py, node)?;
        Ok(self.simulation(py)?.kernel.state().machine.is_drained(node))
    }

    /// Give the number of a node's power state among those of its group; 0 for on.
    fn power_state_number(&self, py: Python<'_>, node: Node) -> PyResult<usize> {
        let node = self.check_node(py, node)?;
        Ok(self.simulation(py)?.kernel.view().power_state(node).number())
    }

    /// List the running jobs with tasks on a node, by expected end.
    fn jobs_on(slf: &Bound<'_, Self>, node: Node) -> PyResult<Vec<Job>> {
        let node = slf.get().check_node(slf.py(), node)?;
        let there = {
            let simulation = slf.get().simulation(slf.py())?;
            simulation.kernel.view().jobs_on(node)
        };
        Ok(Self::handles(slf, there))
    }

    /// Give the job in a row of the workload.
    fn job(slf: &Bound<'_, Self>, row: Row) -> PyResult<Job> {
        let Row(row) = row;
        let jobs = slf.get().simulation(slf.py())?.kernel.state().jobs.len();
        if (row as usize) < jobs {
            return Ok(Job::new(slf, row));
        }
        Err(decision_error(slf.py(), &format!("row = {row}; the workload has {jobs} rows, numbered from 0.")))
    }

    /// Find out where the allocator would put a job now, reservations aside.
    ///
    /// Returns
    /// -------
    /// dict or None
    ///     The number of tasks by node; None where it does not fit.
    fn place<'py>(slf: &Bound<'py, Self>, job: &Job) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = slf.py();
        job.check_home(slf)?;
        let Some(placement) = placement_of(slf, job, None)? else { return Ok(None) };
        let nodes = PyDict::new(py);
        for part in placement {
            nodes.set_item(part.node, part.tasks)?;
        }
        Ok(Some(nodes))
    }

    /// Number the first limit that stands against starting a waiting job on so many tasks now.
    #[pyo3(signature = (job, tasks=None))]
    fn limit_over(slf: &Bound<'_, Self>, job: &Job, tasks: Option<Tasks>) -> PyResult<Option<u32>> {
        job.check_home(slf)?;
        Ok(slf.get().simulation(slf.py())?.kernel.limit_over(job.slot, tasks.map(|Tasks(tasks)| tasks)))
    }

    /// Count how many tasks of a job a node admits now.
    fn slots(slf: &Bound<'_, Self>, job: &Job, node: Node) -> PyResult<u32> {
        job.check_home(slf)?;
        let (this, py) = (slf.get(), slf.py());
        let node = this.check_node(py, node)?;
        let asked = |question: &Question| (question.job == job.slot).then(|| question.slots[node as usize]);
        if let Some(slots) = this.question(py, asked)? {
            return Ok(slots);
        }
        let simulation = this.simulation(py)?;
        let view = simulation.kernel.view();
        let requests = view.placement_requests(job.slot);
        if view.closed_nodes(job.slot).contains(node) {
            return Ok(0);
        }
        Ok(requests.map(|want| view.state.machine.slots(node, want.request)).max().unwrap_or(0))
    }

    /// The jobs that can be resized at this very instant, in the order in which they came there.
    #[getter]
    fn at_scheduling_point(slf: &Bound<'_, Self>) -> PyResult<Vec<Job>> {
        let at_point = application_jobs::at_point(&slf.get().simulation(slf.py())?.kernel);
        Ok(Self::handles(slf, at_point))
    }

    /// Why the scheduler is asked: what happened, to which row, and how many tasks are asked for.
    fn get_trigger(&self, py: Python<'_>) -> PyResult<(&'static str, Option<u32>, Option<u32>)> {
        Ok(self.simulation(py)?.kernel.trigger().described())
    }

    /// The number of the caller: 0 for the scheduler, else that of the observer.
    #[getter]
    fn get_caller(&self) -> u32 {
        self.caller.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_caller(&self, caller: u32) {
        self.caller.store(caller, Ordering::Relaxed);
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.simulation)?;
        visit.call(&self.columns)?;
        visit.call(&self.values)?;
        visit.call(&self.allocator)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let simulation = self.simulation(py)?;
        let state = simulation.kernel.state();
        let (waiting, running) = (state.queue.len(), state.running.len());
        Ok(format!("<View at {} s: {waiting} waiting, {running} running>", state.now))
    }
}

impl View {
    /// What an allocator is asked now about a job, if it is that.
    fn question<T>(&self, py: Python<'_>, look: impl FnOnce(&Question) -> Option<T>) -> PyResult<Option<T>> {
        let simulation = self.simulation(py)?;
        let external = simulation.kernel.allocator().as_external();
        Ok(external.and_then(|allocator| allocator.question()).and_then(look))
    }

    /// The number of a node that there is.
    pub fn check_node(&self, py: Python<'_>, Node(node): Node) -> PyResult<u32> {
        let known = self.simulation(py)?.kernel.check_node(node);
        known.map(|()| node).map_err(|refusal| decision_error(py, &format!("node = {node}: {refusal}.")))
    }
}
