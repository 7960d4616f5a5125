//! The attributes and queries of a view.
#![allow(clippy::doc_markdown, reason = "Python shows what stands at its methods, in the form of numpydoc")]

use std::sync::atomic::{AtomicU32, Ordering};

use batchlab_kernel::cluster::Availability;
use batchlab_kernel::placement::Question;
use batchlab_kernel::scenario::WallTime;
use batchlab_kernel::simulation::Refusal;
use batchlab_kernel::workload::JobState;
use numpy::PyArray2;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::application_jobs;
use crate::arguments::{After, GivenJob, Limit, Node, Row, Tasks};
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

    /// The current time, seconds.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        self.time(py)
    }

    /// The submit time of the first job, seconds: the origin of sums, averages and intervals.
    #[getter]
    fn first_submission(&self, py: Python<'_>) -> PyResult<f64> {
        Ok(self.simulation(py)?.kernel.scenario().first_submission)
    }

    /// A counter of changes of the state. Equal values in two passes mean that nothing has changed that a decision may
    /// depend on, except `now`, the progress of applications, and the set of jobs at scheduling points.
    ///
    /// It increases with each event, decision and change of a node, and with time if limits count minutes or the order
    /// changes with time. A fork or a snapshot continues from its value. Compare it for equality only.
    #[getter]
    fn revision(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.simulation(py)?.kernel.state().revision)
    }

    /// True if jobs show their true run times.
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

    /// Iterate over the waiting jobs that may start now, in order, by an index.
    ///
    /// Jobs with a demand above the free totals, and jobs with a reservation in this pass, are skipped.
    ///
    /// Parameters
    /// ----------
    /// after
    ///     Only jobs after this one.
    ///
    /// Returns
    /// -------
    /// iterator of Job
    #[pyo3(signature = (after=None))]
    fn candidates(slf: &Bound<'_, Self>, after: Option<After<'_>>) -> PyResult<Candidates> {
        let at = match after {
            None => None,
            Some(job) => {
                job.check_home(slf)?;
                let simulation = slf.get().simulation(slf.py())?;
                let state = simulation.kernel.state().jobs.state(job.slot);
                if state == JobState::Loaded || state == JobState::Rejected {
                    let refusal = Refusal::WrongState { job: job.slot, state, needed: "one that has waited" };
                    return Err(refused(slf, &job, "be searched behind", &refusal));
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

    /// The held jobs, by row.
    #[getter]
    fn on_hold(slf: &Bound<'_, Self>) -> PyResult<Vec<Job>> {
        let held = slf.get().simulation(slf.py())?.kernel.state().queue.on_hold.iter().copied().collect();
        Ok(Self::handles(slf, held))
    }

    /// Free amounts of each node: int64, shape (nodes, resources).
    #[getter]
    fn free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        if let Some(free) = self.question(py, |question| question.free.clone())? {
            return self.matrix(py, free);
        }
        let simulation = self.simulation(py)?;
        let machine = &simulation.kernel.state().machine;
        self.matrix(py, (0..machine.nodes()).flat_map(|node| machine.free_of(node)).copied().collect())
    }

    /// Capacity of each node: int64, shape (nodes, resources).
    #[getter]
    fn capacity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let capacity = self.simulation(py)?.kernel.state().machine.capacity().to_vec();
        self.matrix(py, capacity)
    }

    /// Total free amounts, by resource.
    #[getter]
    fn total_free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let free = self.simulation(py)?.kernel.state().machine.total_free().to_vec();
        self.by_resource(py, free.into_iter())
    }

    /// Available capacity of each node, free or not: int64, shape (nodes, resources).
    #[getter]
    fn available<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let available = self.simulation(py)?.kernel.state().machine.available();
        self.matrix(py, available)
    }

    /// Total available capacity, free or not, by resource.
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

    /// Return the number of further tasks of a job that fit now, up to a limit.
    ///
    /// Tasks that a running job was to lose at its next scheduling point, and could keep, count too.
    fn max_additional_tasks(slf: &Bound<'_, Self>, job: GivenJob<'_>, limit: Limit) -> PyResult<u32> {
        job.check_home(slf)?;
        Ok(slf.get().simulation(slf.py())?.kernel.max_additional_tasks(job.slot, limit.0))
    }

    /// Return the bytes per second on a link of the platform, given by number.
    fn flow_on(&self, py: Python<'_>, link: u32) -> PyResult<f64> {
        Ok(self.simulation_mut(py)?.kernel.link_load(link))
    }

    /// Return the operations per second on a node's CPU, and for each of its GPUs whether it is busy (empty without
    /// applications).
    fn work_on(&self, py: Python<'_>, node: Node) -> PyResult<(f64, Vec<bool>)> {
        let node = self.check_node(py, node)?;
        Ok(self.simulation_mut(py)?.kernel.node_load(node))
    }

    /// Return whether a node is drained, i.e. no further job starts there.
    fn is_drained(&self, py: Python<'_>, node: Node) -> PyResult<bool> {
        let node = self.check_node(py, node)?;
        Ok(self.simulation(py)?.kernel.state().machine.is_drained(node))
    }

    /// Return the number of a node's power state among the states of its group; 0 for on.
    fn power_state_number(&self, py: Python<'_>, node: Node) -> PyResult<usize> {
        let node = self.check_node(py, node)?;
        Ok(self.simulation(py)?.kernel.view().power_state(node).number())
    }

    /// Return the running jobs with tasks on a node, by expected end.
    fn jobs_on(slf: &Bound<'_, Self>, node: Node) -> PyResult<Vec<Job>> {
        let node = slf.get().check_node(slf.py(), node)?;
        let there = {
            let simulation = slf.get().simulation(slf.py())?;
            simulation.kernel.view().jobs_on(node)
        };
        Ok(Self::handles(slf, there))
    }

    /// Return the job in a row of the workload.
    fn job(slf: &Bound<'_, Self>, row: Row) -> PyResult<Job> {
        let Row(row) = row;
        let jobs = slf.get().simulation(slf.py())?.kernel.state().jobs.len();
        if (row as usize) < jobs {
            return Ok(Job::new(slf, row));
        }
        Err(decision_error(slf.py(), &format!("row = {row}; the workload has {jobs} rows, numbered from 0.")))
    }

    /// Return the nodes that the allocator would choose for a job now, ignoring reservations.
    ///
    /// Returns
    /// -------
    /// dict or None
    ///     The number of tasks by node; None if the job does not fit.
    fn place<'py>(slf: &Bound<'py, Self>, job: GivenJob<'_>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let py = slf.py();
        job.check_home(slf)?;
        let Some(placement) = placement_of(slf, &job, None)? else { return Ok(None) };
        let nodes = PyDict::new(py);
        for part in placement {
            nodes.set_item(part.node, part.tasks)?;
        }
        Ok(Some(nodes))
    }

    /// Return the number of the first limit that prevents the start of a waiting job on this number of tasks now.
    #[pyo3(signature = (job, tasks=None))]
    fn limit_over(slf: &Bound<'_, Self>, job: GivenJob<'_>, tasks: Option<Tasks>) -> PyResult<Option<u32>> {
        job.check_home(slf)?;
        Ok(slf.get().simulation(slf.py())?.kernel.limit_over(job.slot, tasks.map(|Tasks(tasks)| tasks)))
    }

    /// Return the number of tasks of a job that a node admits now.
    fn slots(slf: &Bound<'_, Self>, job: GivenJob<'_>, node: Node) -> PyResult<u32> {
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

    /// The jobs that can be resized at this instant, in the order in which they became resizable.
    #[getter]
    fn at_scheduling_point(slf: &Bound<'_, Self>) -> PyResult<Vec<Job>> {
        let at_point = application_jobs::at_point(&slf.get().simulation(slf.py())?.kernel);
        Ok(Self::handles(slf, at_point))
    }

    /// The event for which the scheduler is called: its kind, its row, and the requested number of tasks.
    fn get_trigger(&self, py: Python<'_>) -> PyResult<(&'static str, Option<u32>, Option<u32>)> {
        Ok(self.simulation(py)?.kernel.trigger().described())
    }

    /// The number of the caller: 0 for the scheduler, otherwise the number of the observer.
    #[getter]
    fn get_caller(&self) -> u32 {
        self.caller.load(Ordering::Relaxed)
    }

    #[setter]
    fn set_caller(&self, caller: u32) {
        self.caller.store(caller, Ordering::Relaxed);
    }

    /// Return how long a job must still run on its nodes without an interruption, seconds; None if that depends on more
    /// than its run time. For batchlab's own observers: run times are hidden from policies.
    #[pyo3(name = "_work_left")]
    fn work_left(slf: &Bound<'_, Self>, job: GivenJob<'_>) -> PyResult<Option<f64>> {
        job.check_home(slf)?;
        let simulation = slf.get().simulation(slf.py())?;
        let view = simulation.kernel.view();
        let attributes = &view.scenario.attributes;
        let is_variable = view.scenario.service.is_some()
            || view.has_application(job.slot)
            || attributes.cancelled_at(job.slot).is_some()
            || !attributes.run_events.is_empty();
        let jobs = &view.state.jobs;
        let limit = match view.scenario.wall_time {
            WallTime::Kill => jobs.time_limit(job.slot),
            WallTime::Run => f64::INFINITY,
        };
        Ok((!is_variable).then(|| jobs.work_left(job.slot).min(limit)))
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
    /// The current query to an allocator, if there is one.
    fn question<T>(&self, py: Python<'_>, look: impl FnOnce(&Question) -> Option<T>) -> PyResult<Option<T>> {
        let simulation = self.simulation(py)?;
        let external = simulation.kernel.allocator().as_external();
        Ok(external.and_then(|allocator| allocator.question()).and_then(look))
    }

    /// Checks that a node exists; returns its number.
    pub fn check_node(&self, py: Python<'_>, Node(node): Node) -> PyResult<u32> {
        let known = self.simulation(py)?.kernel.check_node(node);
        known.map(|()| node).map_err(|refusal| decision_error(py, &format!("node = {node}: {refusal}.")))
    }
}
