//! What a scheduler sees, and what it may do.
#![allow(clippy::doc_markdown, reason = "Python shows what stands at its methods, in the form of numpydoc")]

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU32, Ordering};

use batchlab_kernel::simulation::{Keep, Refusal};
use batchlab_kernel::workload::jobs::{Share, State};
use numpy::{IntoPyArray, PyArray2, PyArrayMethods};
use pyo3::exceptions::{PyIndexError, PyOverflowError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::application::Argument;
use crate::elastic;
use crate::job::{Job, decision_error, refused};
use crate::queue::{Candidates, Queue};
use crate::simulation::Simulation;

/// The state of a simulation as schedulers, allocators, predictors and observers see it.
#[pyclass(module = "batchlab._kernel", frozen, subclass)]
pub struct View {
    pub simulation: Py<Simulation>,
    resources: Vec<String>,
    /// The workload's columns by name, without what nobody may see.
    pub columns: Py<PyAny>,
    values: Py<PyAny>,
    allocator: Option<Py<PyAny>>,
    pub clairvoyant: bool,
    caller: AtomicU32,
}

impl View {
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

    pub fn queue_of(view: &Bound<'_, Self>) -> Queue {
        Queue::of(view)
    }

    pub fn handles(view: &Bound<'_, Self>, slots: Vec<u32>) -> Vec<Job> {
        slots.into_iter().map(|slot| Job::new(view, slot)).collect()
    }

    /// One value per node and resource.
    pub fn matrix<'py>(&self, py: Python<'py>, values: Vec<i64>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let width = self.resources.len();
        let nodes = values.len() / width;
        values.into_pyarray(py).reshape([nodes, width])
    }

    fn about_node(&self, py: Python<'_>, node: u32, what: &str, done: Result<(), Refusal>) -> PyResult<()> {
        done.map_err(|refusal| {
            decision_error(py, &format!("node {node} cannot {what} at {} s: {refusal}.", self.now(py)))
        })
    }
}

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
    pub fn now(&self, py: Python<'_>) -> f64 {
        self.simulation.borrow(py).kernel.site().now
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
        Self::queue_of(slf)
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
                let simulation = slf.get().simulation.borrow(slf.py());
                let state = simulation.kernel.site().jobs.state(job.slot);
                if state == State::Loaded || state == State::Rejected {
                    let refusal = Refusal::WrongState { job: job.slot, state, needed: "one that has waited" };
                    return Err(refused(slf, job, "be searched behind", &refusal));
                }
                Some(simulation.kernel.site().rank_of(job.slot))
            }
        };
        Ok(Candidates::behind(slf, at))
    }

    /// The running jobs, by expected end.
    #[getter]
    fn running(slf: &Bound<'_, Self>) -> Vec<Job> {
        let mut running = Vec::new();
        slf.get().simulation.borrow(slf.py()).kernel.site().running.visit(&mut |end| {
            running.push(end.job);
            true
        });
        Self::handles(slf, running)
    }

    /// The jobs on hold, by row.
    #[getter]
    fn on_hold(slf: &Bound<'_, Self>) -> Vec<Job> {
        let held = slf.get().simulation.borrow(slf.py()).kernel.site().on_hold.iter().copied().collect();
        Self::handles(slf, held)
    }

    /// What is free on each node: int64, shape (nodes, resources).
    #[getter]
    fn free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let simulation = self.simulation.borrow(py);
        let machine = &simulation.kernel.site().machine;
        let nodes = machine.capacity().len() / machine.resources();
        self.matrix(py, (0..nodes as u32).flat_map(|node| machine.free_of(node)).copied().collect())
    }

    /// What each node has: int64, shape (nodes, resources).
    #[getter]
    fn capacity<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let capacity = self.simulation.borrow(py).kernel.site().machine.capacity().to_vec();
        self.matrix(py, capacity)
    }

    /// What is free in all, by resource.
    #[getter]
    fn total_free<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let free = self.simulation.borrow(py).kernel.site().machine.total_free().to_vec();
        self.by_resource(py, free.into_iter())
    }

    /// What each node offers, free or not: int64, shape (nodes, resources).
    #[getter]
    fn offered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let offered = self.simulation.borrow(py).kernel.site().machine.offered();
        self.matrix(py, offered)
    }

    /// What is on offer in all, free or not, by resource.
    #[getter]
    fn total_offered<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let simulation = self.simulation.borrow(py);
        let machine = &simulation.kernel.site().machine;
        let mut total = vec![0; machine.resources()];
        for node in machine.offered().chunks_exact(machine.resources()) {
            total.iter_mut().zip(node).for_each(|(total, amount)| *total += amount);
        }
        self.by_resource(py, total.into_iter())
    }

    /// Count how many more tasks of a job there is room for now, up to a number.
    ///
    /// Those count that a running job was to lose at its next scheduling point, and could keep.
    fn room(slf: &Bound<'_, Self>, job: &Job, most: u32) -> PyResult<u32> {
        job.check_home(slf)?;
        Ok(slf.get().simulation.borrow(slf.py()).kernel.room(job.slot, most))
    }

    /// Give the bytes per second that flow over a link of the platform, by its number.
    fn flow_on(&self, py: Python<'_>, link: u32) -> f64 {
        self.simulation.borrow_mut(py).kernel.link_load(link)
    }

    /// Give the operations per second on a node's CPU, and how many of its GPUs are at work.
    fn work_on(&self, py: Python<'_>, node: u32) -> PyResult<(f64, u32)> {
        self.check_node(py, node)?;
        Ok(self.simulation.borrow_mut(py).kernel.node_load(node))
    }

    /// Tell whether a node takes nobody.
    fn is_closed(&self, py: Python<'_>, node: u32) -> PyResult<bool> {
        self.check_node(py, node)?;
        Ok(self.simulation.borrow(py).kernel.site().machine.is_closed(node))
    }

    /// List the running jobs with tasks on a node, by expected end.
    fn jobs_on(slf: &Bound<'_, Self>, node: u32) -> PyResult<Vec<Job>> {
        Ok(Self::handles(slf, slf.get().jobs_on_node(slf.py(), node)?))
    }

    /// Give the job in a row of the workload.
    fn job(slf: &Bound<'_, Self>, row: u32) -> PyResult<Job> {
        let jobs = slf.get().simulation.borrow(slf.py()).kernel.site().jobs.len();
        if (row as usize) < jobs {
            return Ok(Job::new(slf, row));
        }
        Err(PyIndexError::new_err(format!("row = {row}; the workload has {jobs} rows")))
    }

    /// Start a waiting job.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     Who; in the queue.
    /// nodes
    ///     Where: the number of tasks by node, or one node per task, by rank. Unless given, the allocator
    ///     chooses.
    /// tasks
    ///     On how many tasks, of a job that is not rigid; those that it asks for unless given.
    /// gpus
    ///     How many GPUs its application uses on each node; those that a task asks for unless given.
    ///
    /// Returns
    /// -------
    /// bool
    ///     False, and nothing done, where there is no place now, or one that would delay a reservation.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is not waiting, or cannot be on these nodes; or if no pass is being made.
    #[pyo3(signature = (job, nodes=None, *, tasks=None, gpus=None))]
    pub fn start(
        slf: &Bound<'_, Self>,
        job: &Job,
        nodes: Option<&Bound<'_, PyAny>>,
        tasks: Option<u32>,
        gpus: Option<u32>,
    ) -> PyResult<bool> {
        let py = slf.py();
        let this = slf.get();
        job.check_home(slf)?;
        let startable = this.simulation.borrow(py).kernel.check_startable(job.slot);
        startable.map_err(|refusal| refused(slf, job, "start", &refusal))?;
        let carries = this.simulation.borrow(py).kernel.is_elastic(job.slot);
        if gpus.is_some() && !carries {
            return Err(refused(slf, job, "choose its GPUs", &Refusal::NoApplication(job.slot)));
        }
        let by_rank = nodes.filter(|nodes| carries && !nodes.is_instance_of::<PyDict>());
        let (by_rank, chosen) = match (by_rank, &this.allocator, nodes) {
            (Some(nodes), ..) => (Some(ranks(slf, job, nodes)?), None),
            (None, _, Some(nodes)) => (None, Some(shares(slf, job, nodes)?)),
            (None, None, None) => (None, None),
            (None, Some(_), None) => {
                let Some(shares) = Self::ask_allocator(slf, job)? else { return Ok(false) };
                (None, Some(shares))
            }
        };
        let of_shares = |shares: &Vec<Share>| shares.iter().map(|share| u64::from(share.tasks)).sum();
        let placed = by_rank.as_ref().map(|ranks| ranks.len() as u64).or(chosen.as_ref().map(of_shares));
        if let (Some(tasks), Some(placed)) = (tasks, placed)
            && u64::from(tasks) != placed
        {
            return Err(refused(slf, job, "start", &Refusal::OtherTasks { job: job.slot, placed, tasks }));
        }
        let done = {
            let kernel = &mut this.simulation.borrow_mut(py).kernel;
            match (by_rank, chosen) {
                (Some(ranks), _) => kernel.start_ranks(job.slot, &ranks).map(|()| true),
                (None, None) => kernel.start(job.slot, tasks),
                // Where an allocator chose the nodes, a reservation may stand against it as against the kernel's.
                (None, Some(shares)) => match kernel.start_at(job.slot, &shares) {
                    Err(Refusal::Delays(_)) if nodes.is_none() => Ok(false),
                    done => done.map(|()| true),
                },
            }
        };
        if let (Ok(true), Some(gpus)) = (&done, gpus) {
            this.simulation.borrow_mut(py).kernel.set_gpus(job.slot, gpus);
        }
        done.map_err(|refusal| refused(slf, job, "start", &refusal))
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
        let mut shares = Vec::new();
        if slf.get().allocator.is_some() {
            let Some(chosen) = Self::ask_allocator(slf, job)? else { return Ok(None) };
            let room = slf.get().simulation.borrow(py).kernel.check_shares(job.slot, &chosen);
            room.map_err(|refusal| refused(slf, job, "be placed", &refusal))?;
            shares = chosen;
        } else {
            let fits = slf.get().simulation.borrow(py).kernel.place(job.slot, &mut shares);
            if !fits.map_err(|refusal| refused(slf, job, "be placed", &refusal))? {
                return Ok(None);
            }
        }
        let nodes = PyDict::new(py);
        for share in shares {
            nodes.set_item(share.node, share.tasks)?;
        }
        Ok(Some(nodes))
    }

    /// Count how many tasks of a job a node admits now.
    fn slots(slf: &Bound<'_, Self>, job: &Job, node: u32) -> PyResult<u32> {
        job.check_home(slf)?;
        slf.get().check_node(slf.py(), node)?;
        Ok(slf.get().simulation.borrow(slf.py()).kernel.site().slots(node, job.slot))
    }

    /// Keep room for a waiting job, until the end of this pass: nobody starts who would delay it.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     Who. A reservation that it has is changed.
    /// time
    ///     When, seconds. Unless given, as early as running jobs and earlier reservations let it.
    ///
    /// Returns
    /// -------
    /// float
    ///     When, seconds; infinite where it does not fit on what the machine offers.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is not waiting, or does not fit from that time on; or if no pass is being made.
    #[pyo3(signature = (job, time=None))]
    fn reserve(slf: &Bound<'_, Self>, job: &Job, time: Option<f64>) -> PyResult<f64> {
        job.check_home(slf)?;
        let reserved = {
            let kernel = &mut slf.get().simulation.borrow_mut(slf.py()).kernel;
            match time {
                None => kernel.reserve(job.slot),
                Some(time) => kernel.reserve_at(job.slot, time).map(|()| time),
            }
        };
        reserved.map_err(|refusal| refused(slf, job, "have a reservation", &refusal))
    }

    /// Take a waiting job out of the queue until it is released.
    fn hold(slf: &Bound<'_, Self>, job: &Job) -> PyResult<()> {
        job.check_home(slf)?;
        let done = slf.get().simulation.borrow_mut(slf.py()).kernel.hold(job.slot);
        done.map_err(|refusal| refused(slf, job, "be held", &refusal))
    }

    /// Put a job that is on hold back into its place in the queue.
    fn release(slf: &Bound<'_, Self>, job: &Job) -> PyResult<()> {
        job.check_home(slf)?;
        let done = slf.get().simulation.borrow_mut(slf.py()).kernel.release(job.slot);
        done.map_err(|refusal| refused(slf, job, "be released", &refusal))
    }

    /// End a waiting or running job: its state is killed.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is neither, was started in this very pass, or ends at this very instant.
    fn kill(slf: &Bound<'_, Self>, job: &Job) -> PyResult<()> {
        job.check_home(slf)?;
        let done = slf.get().simulation.borrow_mut(slf.py()).kernel.kill(job.slot);
        done.map_err(|refusal| refused(slf, job, "be killed", &refusal))
    }

    /// Put a running job back into the queue.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     Who; not started in this very pass, nor ending at this very instant.
    /// keep
    ///     What it has done already: "nothing", it runs again from its start; "everything", it goes on where
    ///     it was; "checkpoints", it goes on where it was at the latest one.
    /// every
    ///     Seconds of its run between two checkpoints.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is not running, or cannot be preempted now.
    #[pyo3(signature = (job, keep="nothing", every=None))]
    fn preempt(slf: &Bound<'_, Self>, job: &Job, keep: &str, every: Option<f64>) -> PyResult<()> {
        job.check_home(slf)?;
        let keep = match (keep, every) {
            ("nothing", None) => Keep::Nothing,
            ("everything", None) => Keep::Everything,
            ("checkpoints", Some(every)) if every.is_finite() && every > 0.0 => Keep::Checkpoints(every),
            _ => {
                let given = every.map_or(String::new(), |every| format!(", every = {every}"));
                let rule = "must be 'nothing', 'everything', or 'checkpoints' with every = seconds > 0";
                return Err(decision_error(slf.py(), &format!("keep = '{keep}'{given}; {rule}.")));
            }
        };
        let done = slf.get().simulation.borrow_mut(slf.py()).kernel.interrupt(job.slot, keep);
        done.map_err(|refusal| refused(slf, job, "be preempted", &refusal))
    }

    /// Set what a job's run time is taken to be: its estimate.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     Who; not done yet.
    /// seconds
    ///     From its start, finite and >= 0.
    fn set_estimate(slf: &Bound<'_, Self>, job: &Job, seconds: f64) -> PyResult<()> {
        job.check_home(slf)?;
        let done = slf.get().simulation.borrow_mut(slf.py()).kernel.set_estimate(job.slot, seconds);
        done.map_err(|refusal| refused(slf, job, "have this estimate", &refusal))
    }

    /// Change the nodes of a running job whose application lets it.
    ///
    /// At once where it is at a scheduling point or asks for it, else from its next scheduling point on.
    ///
    /// Nodes that it gains are its own from now on. It loses its last ranks, and gains such nodes as the
    /// allocator chooses, unless told otherwise.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     Who; running.
    /// tasks
    ///     How many tasks it is to have.
    /// nodes
    ///     In place of that, one node per task, by rank.
    /// gpus
    ///     With nodes, how many GPUs its application uses on each of them; as before unless given.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it does not run, cannot be resized or not to this size, or there is no room.
    #[pyo3(signature = (job, tasks=None, *, nodes=None, gpus=None))]
    fn resize(
        slf: &Bound<'_, Self>,
        job: &Job,
        tasks: Option<u32>,
        nodes: Option<&Bound<'_, PyAny>>,
        gpus: Option<u32>,
    ) -> PyResult<()> {
        job.check_home(slf)?;
        let (done, size) = match (tasks, nodes) {
            (Some(tasks), None) if gpus.is_none() => {
                (slf.get().simulation.borrow_mut(slf.py()).kernel.resize(job.slot, tasks), tasks as usize)
            }
            (None, Some(nodes)) => {
                let ranks = ranks(slf, job, nodes)?;
                (
                    slf.get().simulation.borrow_mut(slf.py()).kernel.resize_to(job.slot, &ranks, gpus),
                    ranks.len(),
                )
            }
            _ => {
                let rule = "give either tasks, or nodes and perhaps gpus";
                return Err(decision_error(slf.py(), &format!("resize({}): {rule}.", job.name(slf.py())?)));
            }
        };
        done.map_err(|refusal| refused(slf, job, &format!("be resized to {size} tasks"), &refusal))
    }

    /// Set arguments that the formulas of a job's application see from its next start or resizing on.
    fn set_runtime_arguments(
        slf: &Bound<'_, Self>,
        job: &Job,
        arguments: BTreeMap<String, Argument>,
    ) -> PyResult<()> {
        job.check_home(slf)?;
        let arguments = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
        let done =
            slf.get().simulation.borrow_mut(slf.py()).kernel.set_runtime_arguments(job.slot, arguments);
        done.map_err(|refusal| refused(slf, job, "have runtime arguments", &refusal))
    }

    /// The jobs that can be resized at this very instant, in the order in which they came there.
    #[getter]
    fn at_scheduling_point(slf: &Bound<'_, Self>) -> Vec<Job> {
        let at_point = elastic::at_point(&slf.get().simulation.borrow(slf.py()).kernel);
        Self::handles(slf, at_point)
    }

    /// Why the scheduler is asked: what happened, to which row, and how many tasks are asked for.
    fn get_cause(&self, py: Python<'_>) -> (&'static str, Option<u32>, Option<u32>) {
        elastic::cause(self.simulation.borrow(py).kernel.cause())
    }

    /// Let a node take nobody more; who is there stays.
    fn close(&self, py: Python<'_>, node: u32) -> PyResult<()> {
        let done = self.simulation.borrow_mut(py).kernel.set_closed(node, true);
        self.about_node(py, node, "be closed", done)
    }

    /// Let a node take jobs again.
    fn open(&self, py: Python<'_>, node: u32) -> PyResult<()> {
        let done = self.simulation.borrow_mut(py).kernel.set_closed(node, false);
        self.about_node(py, node, "be opened", done)
    }

    /// Withhold amounts of a node's resources, by name, in place of what was withheld of it before.
    fn withhold(&self, py: Python<'_>, node: u32, amounts: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut withheld = vec![0; self.resources.len()];
        for (name, amount) in amounts {
            let name: String = name.extract()?;
            let Some(index) = self.resources.iter().position(|known| *known == name) else {
                let known = self.resources.join(", ");
                return Err(decision_error(py, &format!("there is no resource {name:?}; known: {known}")));
            };
            withheld[index] = amount.extract()?;
        }
        let done = self.simulation.borrow_mut(py).kernel.withhold(node, &withheld);
        self.about_node(py, node, "withhold this", done)
    }

    /// Ask to be called at a time.
    ///
    /// Parameters
    /// ----------
    /// time
    ///     Seconds; not before now.
    /// watching
    ///     Only to watch: it keeps no run going, and lets nobody decide.
    #[pyo3(signature = (time, *, watching=false))]
    fn wake(&self, py: Python<'_>, time: f64, watching: bool) -> PyResult<()> {
        let whose = self.caller.load(Ordering::Relaxed);
        let done = self.simulation.borrow_mut(py).kernel.wake_at(time, whose, watching);
        done.map_err(|refusal| decision_error(py, &format!("no timer can be set: {refusal}.")))
    }

    /// Who calls: 0 for the scheduler, else the number of the observer.
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

    fn __repr__(&self, py: Python<'_>) -> String {
        let simulation = self.simulation.borrow(py);
        let site = simulation.kernel.site();
        format!("<View at {} s: {} waiting, {} running>", site.now, site.queue.len(), site.running.len())
    }
}

impl View {
    /// The shares on which a job would start now, which have room: on these nodes, or else where the allocator puts it.
    pub fn shares_of(
        slf: &Bound<'_, Self>,
        job: &Job,
        nodes: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Vec<Share>>> {
        let this = slf.get();
        job.check_home(slf)?;
        let chosen = match nodes {
            Some(nodes) => shares(slf, job, nodes)?,
            None if this.allocator.is_some() => {
                let Some(chosen) = Self::ask_allocator(slf, job)? else { return Ok(None) };
                chosen
            }
            None => {
                let mut chosen = Vec::new();
                let fits = this.simulation.borrow(slf.py()).kernel.place(job.slot, &mut chosen);
                let fits = fits.map_err(|refusal| refused(slf, job, "be placed", &refusal))?;
                return Ok(fits.then_some(chosen));
            }
        };
        match this.simulation.borrow(slf.py()).kernel.check_shares(job.slot, &chosen) {
            Ok(()) => Ok(Some(chosen)),
            Err(Refusal::NoRoom { .. }) => Ok(None),
            Err(refusal) => Err(refused(slf, job, "be placed", &refusal)),
        }
    }

    fn check_node(&self, py: Python<'_>, node: u32) -> PyResult<()> {
        let known = self.simulation.borrow(py).kernel.check_node(node);
        known.map_err(|refusal| decision_error(py, &format!("node = {node}: {refusal}.")))
    }

    fn jobs_on_node(&self, py: Python<'_>, node: u32) -> PyResult<Vec<u32>> {
        let jobs = self.simulation.borrow(py).kernel.jobs_on(node);
        jobs.map_err(|refusal| decision_error(py, &format!("node = {node}: {refusal}.")))
    }

    /// Where the allocator written in Python puts a job now; None where it does not.
    fn ask_allocator(slf: &Bound<'_, Self>, job: &Job) -> PyResult<Option<Vec<Share>>> {
        let py = slf.py();
        let this = slf.get();
        let may_fit = this.simulation.borrow(py).kernel.site().may_fit_job(job.slot);
        let Some(allocator) = this.allocator.as_ref().filter(|_| may_fit) else { return Ok(None) };
        let nodes = allocator.call1(py, (Job::new(slf, job.slot), slf))?;
        if nodes.is_none(py) { Ok(None) } else { shares(slf, job, nodes.bind(py)).map(Some) }
    }
}

/// The view that what is copied with a policy gets: that of the fork, where there is one.
pub fn twin_of(view: &Py<View>, memo: &Bound<'_, PyDict>) -> PyResult<Py<View>> {
    Ok(match memo.get_item(view.as_ptr() as usize)? {
        Some(twin) => twin.cast_into::<View>()?.unbind(),
        None => view.clone_ref(memo.py()),
    })
}

/// The nodes of a decision: a mapping from node to tasks, or one node per task.
fn shares(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>) -> PyResult<Vec<Share>> {
    read_shares(nodes).map_err(|error| no_nodes(view, job, nodes, error))
}

/// What was given is not nodes.
fn no_nodes(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>, error: PyErr) -> PyErr {
    let py = view.py();
    if !error.is_instance_of::<PyTypeError>(py) && !error.is_instance_of::<PyOverflowError>(py) {
        return error;
    }
    let shown = nodes.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string());
    let name = job.name(py).unwrap_or_else(|_| "a job".to_owned());
    let rule = "must be a mapping from node to number of tasks, or one node per task";
    decision_error(py, &format!("{name} cannot be on nodes = {shown}; {rule}."))
}

/// One node per task, by rank.
fn ranks(view: &Bound<'_, View>, job: &Job, nodes: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    if nodes.cast::<PyMapping>().is_err() {
        let each = nodes.try_iter().and_then(|nodes| nodes.map(|node| node?.extract()).collect());
        return each.map_err(|error| no_nodes(view, job, nodes, error));
    }
    let shares = shares(view, job, nodes)?;
    let tasks = shares.iter().map(|share| u64::from(share.tasks)).sum();
    let (least, most) = view.get().simulation.borrow(view.py()).kernel.sizes(job.slot);
    if tasks > u64::from(most) {
        let refusal = Refusal::BadSize { job: job.slot, tasks, least, most };
        return Err(refused(view, job, "have these nodes", &refusal));
    }
    Ok(shares.iter().flat_map(|share| (0..share.tasks).map(|_| share.node)).collect())
}

fn read_shares(nodes: &Bound<'_, PyAny>) -> PyResult<Vec<Share>> {
    if let Ok(mapping) = nodes.cast::<PyMapping>() {
        let items = mapping.items()?;
        let shares = items.iter().map(|item| {
            let (node, tasks) = item.extract()?;
            Ok(Share { node, tasks })
        });
        return shares.filter(|share| !share.as_ref().is_ok_and(|share| share.tasks == 0)).collect();
    }
    let mut shares: Vec<Share> = Vec::new();
    let mut places: HashMap<u32, usize> = HashMap::new();
    for node in nodes.try_iter()? {
        let node = node?.extract()?;
        let place = *places.entry(node).or_insert(shares.len());
        if place == shares.len() {
            shares.push(Share { node, tasks: 0 });
        }
        shares[place].tasks += 1;
    }
    Ok(shares)
}
