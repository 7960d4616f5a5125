//! `Simulation`: columns in, columns out; the loop itself runs with the GIL released.
use std::sync::Arc;

use batchlab_kernel::cluster::Requests;
use batchlab_kernel::policy::choice::{Capacities, PolicyChoice};
use batchlab_kernel::policy::order::FORMULA_NAMES;
use batchlab_kernel::record::DispatchLog;
use batchlab_kernel::replay::Replay;
use batchlab_kernel::simulation::{
    Dependencies, Listeners, Moment, OrderAtInstant, Simulation as Kernel, WallTime,
};
use batchlab_kernel::time::Time;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::{self, Columns};
use crate::driver::{self, Hooks};
use crate::elastic::{self, Described, Invocation};
use crate::job::simulation_error;
use crate::policy::PolicyNames;
use crate::status;
use crate::view::View;

/// Instants between two looks at signals and progress.
pub const STRIDE: u64 = 20_000;

/// Who outside the kernel is asked.
#[derive(Clone, Copy, FromPyObject)]
#[pyo3(from_item_all)]
struct Listening {
    estimates: bool,
    changes: u16,
    every_instant: bool,
    /// Whether anybody may act on running jobs and nodes.
    acting: bool,
}

/// A replay of a workload: the compiled half of `batchlab.Simulation`.
#[pyclass(module = "batchlab._kernel")]
pub struct Simulation {
    pub kernel: Kernel<Replay>,
    /// What is being asked outside, or was when that failed: it is asked again before the run goes on.
    pub asking: Option<Moment>,
    /// The names a formula may use, for policies that are adopted later.
    names: Vec<String>,
    core: Option<usize>,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (columns, capacity, core, policy, *, walltime, order_at_instant, dispatch, listening,
                        applications=None, dependencies=None, invocation=None))]
    #[expect(clippy::too_many_arguments, reason = "a run has as many sides as it has; Python names them")]
    fn new(
        columns: Columns<'_>,
        capacity: PyReadonlyArray2<'_, i64>,
        core: Option<usize>,
        policy: PolicyNames,
        walltime: &str,
        order_at_instant: &str,
        dispatch: bool,
        listening: Listening,
        applications: Option<Described<'_>>,
        dependencies: Option<Vec<Vec<u32>>>,
        invocation: Option<Invocation>,
    ) -> PyResult<Self> {
        let resources = capacity.shape()[1];
        let capacity: Vec<i64> = capacity.as_array().iter().copied().collect();
        let mut requests = Requests::new(resources, &capacity);
        let (sets, numbers) = columns.sets((capacity.len() / resources.max(1)) as u32)?;
        let jobs = columns.table(&mut requests, &numbers)?;
        let names: Vec<String> = columns.formula.iter().map(|(name, _)| name.clone()).collect();
        let replay = Replay::new(&jobs);
        let capacities = Capacities { resources, amounts: capacity, core, node_sets: Arc::new(sets) };
        let mut choice = PolicyChoice::from(policy);
        choice.keeps_running = listening.acting;
        let (site, scheduler) =
            choice.open(jobs, requests, capacities, &formula_names(&names)).map_err(PyValueError::new_err)?;
        let rules = (parse_wall_time(walltime)?, parse_order_at_instant(order_at_instant)?);
        let Listening { estimates, changes, every_instant, .. } = listening;
        let mut kernel =
            Kernel::new(site, scheduler, replay, rules.0, rules.1, dispatch.then(DispatchLog::default))
                .with_listeners(Listeners { estimates, changes, every_instant });
        if let Some(described) = applications {
            kernel = kernel.with_applications(described.applications()?);
        }
        if let Some(dependencies) = dependencies {
            kernel = kernel.with_dependencies(Dependencies::new(&dependencies));
        }
        if let Some(invocation) = invocation {
            kernel = kernel.with_invocations(invocation.into());
        }
        Ok(Self { kernel, asking: None, names, core })
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

    /// Does everything that happens at the next instant, asking nobody outside; false if nothing was left.
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        let Ok(more) = py.detach(|| self.kernel.step());
        if self.kernel.failure().is_some() { Err(self.failed(py)) } else { Ok(more) }
    }

    /// Does everything until `time`, inclusive, asking nobody outside; `progress(finished, now)` is called now and then.
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
                    if self.kernel.failure().is_some() {
                        return true;
                    }
                }
                false
            });
            py.check_signals()?;
            if self.kernel.failure().is_some() {
                return Err(self.failed(py));
            }
            if let Some(progress) = &progress {
                progress.call1(py, (self.kernel.finished(), self.kernel.site().now))?;
            }
            if done {
                return Ok(());
            }
        }
    }

    /// The same, asking the hooks; at most `instants` of them. False if nothing is left to happen until then.
    #[pyo3(signature = (time, hooks, view, progress=None, instants=u64::MAX))]
    fn drive_until(
        slf: &Bound<'_, Self>,
        time: f64,
        hooks: Hooks,
        view: &Bound<'_, View>,
        progress: Option<Py<PyAny>>,
        instants: u64,
    ) -> PyResult<bool> {
        driver::drive(slf, time, &hooks, view, progress.as_ref(), instants)
    }

    /// An independent copy of the present state.
    fn fork(&self) -> Self {
        // A copy that is made in the midst of a pass decides in it anew.
        let asking = self.asking.filter(|&moment| moment == Moment::Pass);
        Self { kernel: self.kernel.clone(), asking, names: self.names.clone(), core: self.core }
    }

    /// Goes on under another policy, beginning with a pass at this very instant.
    fn adopt(&mut self, policy: PolicyNames) -> PyResult<()> {
        let (scheduler, order, placer) = PolicyChoice::from(policy)
            .parts(&self.kernel.site().machine, &formula_names(&self.names))
            .map_err(PyValueError::new_err)?;
        self.kernel.adopt(scheduler, order, placer);
        self.asking = None;
        Ok(())
    }

    /// From now on every job runs for its estimate, and no further job comes.
    fn believe_estimates(&mut self) {
        self.kernel.believe_estimates();
    }

    /// How long every job runs, seconds: in a look ahead, as far as it is known.
    fn run_times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let jobs = &self.kernel.site().jobs;
        let run_times: Vec<f64> = (0..jobs.len() as u32).map(|job| jobs.job(job).run_time).collect();
        run_times.into_pyarray(py)
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

    /// The runs that were cut short so far, as columns.
    fn interruptions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let log = self.kernel.interruptions();
        let result = columns::stretches(py, &log.runs, self.kernel.site().machine.resources())?;
        result.set_item("saved", log.saved.clone().into_pyarray(py))?;
        Ok(result)
    }

    /// What jobs had before they were resized, as columns; None where no job carries an application.
    fn resizes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(applications) = self.kernel.applications() else { return Ok(None) };
        columns::stretches(py, applications.resizes(), self.kernel.site().machine.resources()).map(Some)
    }

    /// What was seen of the platform, as columns and matrices; None where nobody looks.
    fn sensed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        elastic::sensed(py, &self.kernel)
    }

    /// The times of the tasks of applications, as columns; None where nobody wants them.
    fn task_times<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        elastic::task_times(py, &self.kernel)
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

impl Simulation {
    /// Why the run cannot go on.
    pub fn failed(&self, py: Python<'_>) -> PyErr {
        let (row, reason) = self.kernel.failure().cloned().unwrap_or_default();
        let (now, reason) = (self.now(), reason.trim_end_matches('.'));
        simulation_error(
            py,
            &format!("the application of the job in row {row} cannot go on at {now} s: {reason}."),
        )
    }
}

fn formula_names(columns: &[String]) -> Vec<&str> {
    FORMULA_NAMES.into_iter().chain(columns.iter().map(String::as_str)).collect()
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
