//! `Simulation`: columns in, columns out; the loop itself runs without the GIL.
use std::sync::Arc;

use batchlab_kernel::decision::{Decision, Effect};
use batchlab_kernel::replay::Replay;
use batchlab_kernel::scheduler::{Capacities, PolicyChoice};
use batchlab_kernel::simulation::{
    Feed, MAX_IDLE_WAKEUPS, Refusal, RunDescription, Simulation as Kernel, YieldPoint, formula_names,
};
use batchlab_kernel::time::Time;
use batchlab_kernel::workload::Rejection;
use numpy::{IntoPyArray, PyArray1, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::simulation_error;
use crate::initial_state::{self, InitialColumns};
use crate::inputs::RunInputs;
use crate::interrupt::interruptible;
use crate::measured::metrics;
use crate::panics::{caught, detached};
use crate::policy::PolicyNames;
use crate::recorded;
use crate::status;

/// Number of amounts from which building a machine takes noticeable time.
const LARGE: usize = 100_000;

/// A replay of a workload: the compiled half of `batchlab.Simulation`.
#[pyclass(module = "batchlab._kernel")]
pub struct Simulation {
    pub kernel: Kernel<Replay>,
    /// The yield point being handled outside, or the last one if its handler failed: it is handled again before the run
    /// continues.
    pub asking: Option<YieldPoint>,
    /// The names that a formula may use, for policies that are adopted later.
    names: Vec<String>,
}

impl Simulation {
    /// Builds the simulation of a run.
    pub fn built(py: Python<'_>, description: RunDescription, feed: Replay) -> PyResult<Self> {
        let names = description.columns.clone();
        Ok(Self { kernel: built(py, description, feed)?, asking: None, names })
    }
}

/// A simulation, for reading; an error while another thread drives it.
pub fn looked_at<'py>(simulation: &Bound<'py, Simulation>) -> PyResult<PyRef<'py, Simulation>> {
    simulation.try_borrow().map_err(|_| is_in_use(simulation.py()))
}

/// A simulation, for writing; an error while another thread drives or reads it.
pub fn changed<'py>(simulation: &Bound<'py, Simulation>) -> PyResult<PyRefMut<'py, Simulation>> {
    simulation.try_borrow_mut().map_err(|_| is_in_use(simulation.py()))
}

fn is_in_use(py: Python<'_>) -> PyErr {
    let rule = "use a simulation, its view and its jobs in one thread at a time, or a fork in each thread";
    simulation_error(py, &format!("the simulation is in use by another thread at this moment; {rule}."))
}

/// Creates the error of a run in which further timers or calls have no effect.
pub fn stuck(py: Python<'_>, simulation: &Bound<'_, Simulation>) -> PyErr {
    let simulation = match looked_at(simulation) {
        Ok(simulation) => simulation,
        Err(error) => return error,
    };
    let state = simulation.kernel.state();
    let waiting = state.queue.len() + state.queue.on_hold.len();
    simulation_error(
        py,
        &format!(
            "at {} s the run is stuck: {MAX_IDLE_WAKEUPS} timers in a row, or questions of the clock, brought nothing about; \
             jobs waiting: {waiting}, running: {}. Start jobs, or kill those that wait in vain; resume nodes; set no \
             timers without end, or with watching=True if they only watch.",
            state.now,
            state.running.len(),
        ),
    )
}

/// Calls `progress(finished, now)`.
pub fn report_to(progress: &Py<PyAny>, simulation: &Bound<'_, Simulation>) -> PyResult<()> {
    let at = {
        let simulation = looked_at(simulation)?;
        let state = simulation.kernel.state();
        (state.finished, state.now)
    };
    progress.call1(simulation.py(), at).map(drop)
}

#[pymethods]
impl Simulation {
    /// Build the simulation of a run from its description.
    #[new]
    fn new(py: Python<'_>, inputs: RunInputs<'_>) -> PyResult<Self> {
        let begun = inputs.begun;
        let description = inputs.description(py)?;
        let feed = Replay::of(&description.scenario).begun_at(begun);
        Self::built(py, description, feed)
    }

    /// Return the measures computed during a run that has ended, with the names of `batchlab.metrics.overview`; only
    /// once, and None if none were computed. Raise `OSError` if the temporary file for many jobs fails.
    fn metrics<'py>(
        &mut self,
        py: Python<'py>,
        resources: Vec<String>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let summary = py.detach(|| self.kernel.take_summary())?;
        summary.map(|summary| metrics(py, &summary, &resources)).transpose()
    }

    /// The current time, seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.kernel.state().now
    }

    /// The time of the next event, or None at the end.
    #[getter]
    fn next_time(&self) -> Option<f64> {
        let next = self.kernel.next_time();
        (next != Time::NEVER).then_some(next.0)
    }

    /// Number of jobs that have ended or were rejected so far.
    #[getter]
    fn finished(&self) -> u64 {
        self.kernel.state().finished
    }

    /// Process all events of the next instant, without hooks; return False if no event was left.
    fn step(&mut self, py: Python<'_>) -> PyResult<bool> {
        let more = loop {
            let Ok(more) = detached(py, || self.kernel.step_or_pause())?;
            match more {
                Some(more) => break more,
                None => py.check_signals()?,
            }
        };
        if self.kernel.failure().is_some() { Err(self.failed(py)) } else { Ok(more) }
    }

    /// Process all events until `time`, inclusive, without hooks. `progress(finished, now)` is called occasionally, and
    /// may read this simulation.
    #[pyo3(signature = (time, progress=None))]
    fn run_until(slf: &Bound<'_, Self>, time: f64, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let py = slf.py();
        loop {
            let point = {
                let kernel = &mut changed(slf)?.kernel;
                let Ok(point) = detached(py, || kernel.run_a_while_until(Time(time)))?;
                point
            };
            py.check_signals()?;
            match point {
                YieldPoint::Failed => return Err(looked_at(slf)?.failed(py)),
                YieldPoint::Stuck => return Err(stuck(py, slf)),
                _ => {}
            }
            if let Some(progress) = &progress {
                report_to(progress, slf)?;
            }
            if point != YieldPoint::Pause {
                return Ok(());
            }
        }
    }

    /// Return an independent copy of the current state.
    fn fork(&mut self) -> Self {
        // A copy made during a pass repeats the current decision.
        let is_decision =
            |&point: &YieldPoint| matches!(point, YieldPoint::Decision | YieldPoint::Allocation(_));
        let asking = self.asking.filter(is_decision);
        Self { kernel: self.kernel.fork(), asking, names: self.names.clone() }
    }

    /// Return the current state as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes =
            self.kernel.snapshot(self.asking).map_err(|error| simulation_error(py, &format!("{error}.")))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Continue from a snapshot of a simulation of the same jobs, system, policy and options.
    fn restore(&mut self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let fresh = self.kernel.fork();
        let restored = detached(py, || fresh.restored(data, |fresh, restored| fresh.moved_to(&restored)))?;
        let (kernel, asking) = restored.map_err(|error| PyValueError::new_err(error.to_string()))?;
        (self.kernel, self.asking) = (kernel, asking);
        Ok(())
    }

    /// Begin in a state, before the first event. Raise `ValueError` with the row of a job, or None, and the rule that the
    /// state breaks; the simulation cannot be used then.
    fn begin_in(&mut self, py: Python<'_>, columns: InitialColumns<'_>) -> PyResult<()> {
        let nodes = self.kernel.state().machine.capacity().len() / self.kernel.state().machine.resources();
        let state = columns.state(self.kernel.state().jobs.len(), nodes as u32)?;
        detached(py, || self.kernel.begin_in(&state))?.map_err(initial_state::refused)
    }

    /// Return the present state, in which another simulation can begin. Raise `ValueError` with the row of a job, or
    /// None, and the reason if there is none.
    fn initial_state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.kernel.initial_state().map_err(initial_state::refused)?;
        let columns = initial_state::columns(py, &state)?;
        columns.set_item("first_submission", self.kernel.scenario().first_submission)?;
        Ok(columns)
    }

    /// Continue with another policy, beginning with a pass at this instant.
    fn adopt(&mut self, policy: PolicyNames) -> PyResult<()> {
        let machine = &self.kernel.state().machine;
        let capacities = Capacities {
            resources: machine.resources(),
            amounts: machine.capacity().to_vec(),
            node_sets: Arc::clone(machine.node_sets()),
            has_calendar: self.kernel.scenario().calendar.is_some(),
        };
        let parts = PolicyChoice::try_from(policy)?
            .parts(&capacities, &formula_names(&self.names))
            .map_err(PyValueError::new_err)?;
        if let Some(reason) =
            parts.scheduler.refusal(self.kernel.scenario(), &self.kernel.state().jobs, machine.capacity())
        {
            return Err(PyValueError::new_err(reason));
        }
        self.kernel.adopt(parts);
        self.asking = None;
        Ok(())
    }

    /// Make every job run for its estimate from now on, without further submissions.
    fn assume_estimates(&mut self) {
        self.kernel.assume_estimates();
    }

    /// Return the run time of every job, seconds; in a look ahead, the known or assumed one.
    fn run_times<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let jobs = &self.kernel.state().jobs;
        let run_times: Vec<f64> = (0..jobs.len() as u32).map(|job| jobs.run_time(job)).collect();
        run_times.into_pyarray(py)
    }

    /// Return the results of every job so far: columns by name.
    fn outcome<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let view = self.kernel.view();
        let jobs = &view.state.jobs;
        let result = PyDict::new(py);
        let states: Vec<u8> = jobs.states().into_iter().map(|state| state as u8).collect();
        result.set_item("state", states.into_pyarray(py))?;
        let number = |reason: Option<Rejection>| reason.map_or(0, |reason| reason as u8);
        let reasons: Vec<u8> = jobs.rejections().into_iter().map(number).collect();
        result.set_item("reason", reasons.into_pyarray(py))?;
        result.set_item("start_time", jobs.start_times().into_pyarray(py))?;
        result.set_item("end_time", jobs.end_times().into_pyarray(py))?;
        let resources = view.state.machine.resources();
        let (mut offsets, mut first, mut count, mut tasks) =
            (vec![0_i64], Vec::new(), Vec::new(), Vec::new());
        let mut allocated = Vec::with_capacity(jobs.len() * resources);
        let mut held = Vec::new();
        for job in 0..jobs.len() as u32 {
            jobs.last_placement(job).ranges().for_each(|range| {
                first.push(range.first);
                count.push(range.count);
                tasks.push(range.tasks);
            });
            offsets.push(first.len() as i64);
            view.state.held(view.scenario, job, &mut held);
            allocated.extend_from_slice(&held);
        }
        result.set_item("range_offsets", offsets.into_pyarray(py))?;
        result.set_item("range_first", first.into_pyarray(py))?;
        result.set_item("range_count", count.into_pyarray(py))?;
        result.set_item("range_tasks", tasks.into_pyarray(py))?;
        result.set_item("allocated", allocated.into_pyarray(py).reshape([jobs.len(), resources])?)?;
        Ok(result)
    }

    /// Return the waiting jobs, the running jobs with their nodes, and the free amounts; and the nodes of the `latest`
    /// jobs that ended last.
    fn status<'py>(&mut self, py: Python<'py>, latest: usize) -> PyResult<Bound<'py, PyDict>> {
        self.kernel.order_queue();
        status::status(py, self.kernel.view(), latest)
    }

    /// Return the number of waiting jobs, and the total free amount of each resource.
    fn gauges(&self) -> (usize, Vec<i64>) {
        status::gauges(self.kernel.state())
    }

    /// Return further results of every job, by the names of the fields of an outcome; None for those that were not
    /// recorded.
    fn recorded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        recorded::columns(py, &self.kernel)
    }

    /// Return the tables of the recorders by name.
    fn logs<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        recorded::logs(py, &mut self.kernel)
    }

    /// Return the other recorded tables by name, as columns.
    fn tables<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.kernel.order_queue();
        recorded::tables(py, &self.kernel)
    }

    fn __repr__(&self) -> String {
        let waiting = self.kernel.state().queue.len();
        format!("<Simulation at {} s: {} jobs done, {waiting} waiting>", self.now(), self.finished())
    }
}

impl Simulation {
    /// Checks and applies a decision from outside.
    pub fn decide(&mut self, py: Python<'_>, decision: Decision) -> PyResult<Result<Effect, Refusal>> {
        caught(py, || self.kernel.decide(decision))
    }

    /// The error of a run that cannot continue.
    pub fn failed(&self, py: Python<'_>) -> PyErr {
        failed(py, &self.kernel)
    }
}

/// Creates the error of a simulation that cannot continue.
pub fn failed<F: Feed>(py: Python<'_>, kernel: &Kernel<F>) -> PyErr {
    let described = kernel.failure().map(|failure| {
        let row = failure.job().map_or(0, |job| kernel.scenario().job(job).row);
        failure.describe(row, kernel.state().now)
    });
    simulation_error(py, &described.unwrap_or_default())
}

/// Builds the kernel's simulation of a run.
pub fn built<F: Feed + Send + 'static>(
    py: Python<'_>,
    description: RunDescription,
    feed: F,
) -> PyResult<Kernel<F>> {
    let is_small = description.amounts.len() < LARGE;
    // A thread costs more than building a small machine.
    let kernel =
        if is_small { description.build(feed) } else { interruptible(py, move || description.build(feed))? };
    kernel.map_err(PyValueError::new_err)
}
