//! `Simulation`: columns in, columns out; the loop itself runs with the GIL released.
use batchlab_kernel::cluster::{Request, Requests};
use batchlab_kernel::policy::choice::{Capacities, PolicyChoice};
use batchlab_kernel::policy::order::FORMULA_NAMES;
use batchlab_kernel::record::DispatchLog;
use batchlab_kernel::replay::Replay;
use batchlab_kernel::simulation::{OrderAtInstant, Simulation as Kernel, WallTime};
use batchlab_kernel::time::Time;
use batchlab_kernel::workload::jobs::{Job, JobTable, State};
use numpy::{IntoPyArray, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::policy::PolicyNames;
use crate::status;

/// Instants between two looks at signals and progress.
pub const STRIDE: u64 = 20_000;

/// The amount of one resource that each task asks: the same for all jobs, or one value per job.
#[derive(FromPyObject)]
enum Amount<'py> {
    Same(i64),
    PerJob(PyReadonlyArray1<'py, i64>),
}

impl Amount<'_> {
    fn of(&self, job: usize) -> i64 {
        match self {
            Self::Same(amount) => *amount,
            Self::PerJob(amounts) => amounts.as_array()[job],
        }
    }
}

/// The columns of a workload.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Columns<'py> {
    submit_time: PyReadonlyArray1<'py, f64>,
    run_time: PyReadonlyArray1<'py, f64>,
    requested_time: PyReadonlyArray1<'py, f64>,
    tasks: PyReadonlyArray1<'py, i64>,
    amounts: Vec<Amount<'py>>,
    tasks_per_node: Option<PyReadonlyArray1<'py, i64>>,
    exclusive: Option<PyReadonlyArray1<'py, bool>>,
    /// What a formula may name; with values where it does.
    formula: Vec<(String, Option<PyReadonlyArray1<'py, f64>>)>,
    /// Jobs that ask for something the system does not have.
    misfits: Option<PyReadonlyArray1<'py, bool>>,
}

impl Columns<'_> {
    /// Checks what the kernel relies on; the Python side has given errors with more context before.
    fn check(&self) -> PyResult<usize> {
        let count = self.submit_time.len();
        let lengths = [self.run_time.len(), self.requested_time.len(), self.tasks.len()];
        if lengths.iter().any(|&length| length != count) {
            return Err(PyValueError::new_err("the columns of the jobs differ in length"));
        }
        for (name, column) in [
            ("submit_time", &self.submit_time),
            ("run_time", &self.run_time),
            ("requested_time", &self.requested_time),
        ] {
            if let Some(row) =
                column.as_array().iter().position(|value| !(value.is_finite() && *value >= 0.0))
            {
                let value = column.as_array()[row];
                return Err(PyValueError::new_err(format!(
                    "row {row}: {name} = {value}; must be a finite number >= 0"
                )));
            }
        }
        if let Some(row) = self.tasks.as_array().iter().position(|&tasks| tasks < 1) {
            return Err(PyValueError::new_err(format!(
                "row {row}: tasks = {}; must be >= 1",
                self.tasks.as_array()[row]
            )));
        }
        Ok(count)
    }

    fn request(&self, job: usize) -> Request {
        Request {
            amounts: self.amounts.iter().map(|amount| amount.of(job).max(0)).collect(),
            tasks_per_node: self
                .tasks_per_node
                .as_ref()
                .map_or(0, |column| u32::try_from(column.as_array()[job].max(0)).unwrap_or(u32::MAX)),
            exclusive: self.exclusive.as_ref().is_some_and(|column| column.as_array()[job]),
        }
    }

    fn is_misfit(&self, job: usize) -> bool {
        self.misfits.as_ref().is_some_and(|column| column.as_array()[job])
    }

    /// Whether all jobs ask the same of every node.
    fn is_uniform(&self) -> bool {
        self.amounts.iter().all(|amount| matches!(amount, Amount::Same(_)))
            && self.tasks_per_node.is_none()
            && self.exclusive.is_none()
    }

    fn table(&self, requests: &mut Requests) -> PyResult<JobTable> {
        let count = self.check()?;
        let uniform =
            if count > 0 && self.is_uniform() { Some(requests.intern(self.request(0))) } else { None };
        let (submit, run) = (self.submit_time.as_array(), self.run_time.as_array());
        let (requested, tasks) = (self.requested_time.as_array(), self.tasks.as_array());
        let jobs = (0..count)
            .map(|row| Job {
                row: row as u64,
                // Adding 0 turns −0 into 0.
                submit_time: submit[row] + 0.0,
                run_time: run[row] + 0.0,
                requested_time: requested[row] + 0.0,
                estimate: requested[row] + 0.0,
                tasks: u32::try_from(tasks[row]).unwrap_or(u32::MAX),
                request: uniform.unwrap_or_else(|| requests.intern(self.request(row))),
            })
            .collect();
        let columns = self
            .formula
            .iter()
            .map(|(_, column)| column.as_ref().map_or(Vec::new(), |c| c.as_array().to_vec()));
        let mut table = JobTable::new(jobs, columns.collect());
        for job in (0..count).filter(|&job| self.is_misfit(job)) {
            table.set_state(job as u32, State::Rejected);
        }
        Ok(table)
    }
}

/// A replay of a workload: the compiled half of `batchlab.Simulation`.
#[pyclass(module = "batchlab._kernel")]
pub struct Simulation {
    kernel: Kernel<Replay>,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (columns, capacity, core, policy, *, walltime, order_at_instant, dispatch))]
    fn new(
        columns: Columns<'_>,
        capacity: PyReadonlyArray2<'_, i64>,
        core: Option<usize>,
        policy: PolicyNames,
        walltime: &str,
        order_at_instant: &str,
        dispatch: bool,
    ) -> PyResult<Self> {
        let resources = capacity.shape()[1];
        let capacity: Vec<i64> = capacity.as_array().iter().copied().collect();
        let mut requests = Requests::new(resources, &capacity);
        let jobs = columns.table(&mut requests)?;
        let names: Vec<&str> =
            FORMULA_NAMES.into_iter().chain(columns.formula.iter().map(|(name, _)| name.as_str())).collect();
        let replay = Replay::new(&jobs);
        let capacities = Capacities { resources, amounts: capacity, core };
        let (site, scheduler) = PolicyChoice::from(policy)
            .open(jobs, requests, capacities, &names)
            .map_err(PyValueError::new_err)?;
        let rules = (parse_wall_time(walltime)?, parse_order_at_instant(order_at_instant)?);
        let dispatch = dispatch.then(DispatchLog::default);
        Ok(Self { kernel: Kernel::new(site, scheduler, replay, rules.0, rules.1, dispatch) })
    }

    /// The present time, seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.kernel.site().now
    }

    /// The next instant at which something happens, or None at the end.
    #[getter]
    fn next_time(&self) -> Option<f64> {
        let next = self.kernel.next_time();
        (next != Time::NEVER).then_some(next.0)
    }

    /// Jobs that ended or were rejected so far.
    #[getter]
    fn finished(&self) -> u64 {
        self.kernel.finished()
    }

    /// Does everything that happens at the next instant; false if nothing was left.
    fn step(&mut self, py: Python<'_>) -> bool {
        let Ok(more) = py.detach(|| self.kernel.step());
        more
    }

    /// Does everything until `time`, inclusive; `progress(finished, now)` is called now and then.
    #[pyo3(signature = (time, progress=None))]
    fn run_until(&mut self, py: Python<'_>, time: f64, progress: Option<Py<PyAny>>) -> PyResult<()> {
        loop {
            let done = py.detach(|| {
                for _ in 0..STRIDE {
                    let next = self.kernel.next_time();
                    if next == Time::NEVER || next > Time(time) {
                        return true;
                    }
                    let Ok(_) = self.kernel.step();
                }
                false
            });
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (self.kernel.finished(), self.kernel.site().now))?;
            }
            if done {
                return Ok(());
            }
        }
    }

    /// An independent copy of the present state.
    fn fork(&self) -> Self {
        Self { kernel: self.kernel.clone() }
    }

    /// What became of every job so far: columns by name.
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let site = self.kernel.site();
        let jobs = &site.jobs;
        let slots = || 0..jobs.len() as u32;
        let result = PyDict::new(py);
        let states: Vec<u8> = slots().map(|job| jobs.state(job) as u8).collect();
        result.set_item("state", states.into_pyarray(py))?;
        let starts: Vec<f64> = slots().map(|job| jobs.start_time(job)).collect();
        result.set_item("start_time", starts.into_pyarray(py))?;
        let ends: Vec<f64> = slots().map(|job| jobs.end_time(job)).collect();
        result.set_item("end_time", ends.into_pyarray(py))?;
        let resources = site.machine.resources();
        let (mut offsets, mut nodes, mut tasks) = (vec![0_i64], Vec::new(), Vec::new());
        let mut allocated = Vec::with_capacity(jobs.len() * resources);
        let mut held = Vec::new();
        for job in slots() {
            let placement = jobs.placement(job);
            nodes.extend(placement.iter().map(|share| share.node));
            tasks.extend(placement.iter().map(|share| share.tasks));
            offsets.push(nodes.len() as i64);
            site.held(job, &mut held);
            allocated.extend_from_slice(&held);
        }
        result.set_item("placement_offsets", offsets.into_pyarray(py))?;
        result.set_item("placement_nodes", nodes.into_pyarray(py))?;
        result.set_item("placement_tasks", tasks.into_pyarray(py))?;
        result.set_item("allocated", allocated.into_pyarray(py).reshape([jobs.len(), resources])?)?;
        Ok(result)
    }

    /// Who waits, who runs where, and what is free.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        status::status(py, self.kernel.site())
    }

    /// How many jobs wait, and what is free of each resource in all.
    fn gauges(&self) -> (usize, Vec<i64>) {
        status::gauges(self.kernel.site())
    }

    /// The cost of every pass so far, as columns; None where it was not asked for.
    fn dispatch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(log) = self.kernel.dispatch() else { return Ok(None) };
        let result = PyDict::new(py);
        result.set_item("time", log.time.clone().into_pyarray(py))?;
        result.set_item("queue_length", log.queue_length.clone().into_pyarray(py))?;
        result.set_item("cpu_time", log.cpu_time.clone().into_pyarray(py))?;
        result.set_item("started", log.started.clone().into_pyarray(py))?;
        Ok(Some(result))
    }

    fn __repr__(&self) -> String {
        let waiting = self.kernel.site().queue.len();
        format!("<Simulation at {} s: {} jobs done, {waiting} waiting>", self.now(), self.finished())
    }
}

/// `"run"` or `"kill"`.
pub fn parse_wall_time(name: &str) -> PyResult<WallTime> {
    match name {
        "run" => Ok(WallTime::Run),
        "kill" => Ok(WallTime::Kill),
        _ => Err(PyValueError::new_err(format!("walltime = '{name}'; must be 'run' or 'kill'"))),
    }
}

/// `"completions_first"` or `"arrivals_first"`.
pub fn parse_order_at_instant(name: &str) -> PyResult<OrderAtInstant> {
    match name {
        "completions_first" => Ok(OrderAtInstant::CompletionsFirst),
        "arrivals_first" => Ok(OrderAtInstant::ArrivalsFirst),
        _ => Err(PyValueError::new_err(format!(
            "order_at_instant = '{name}'; must be 'completions_first' or 'arrivals_first'"
        ))),
    }
}
