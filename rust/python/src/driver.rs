//! The loop of a simulation with hooks outside the kernel: one crossing of the boundary per call.
use batchlab_kernel::decision::Decision;
use batchlab_kernel::record::Change;
use batchlab_kernel::replay::Replay;
use batchlab_kernel::simulation::{Simulation as Kernel, YieldPoint};
use batchlab_kernel::time::Time;
use numpy::{PyArrayLike1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arguments::GivenJob;
use crate::control;
use crate::errors::{decision_error, policy_error};
use crate::handles::{Job, Queue, View, refused};
use crate::panics::detached;
use crate::placements::placement;
use crate::simulation::{Simulation, changed, looked_at, report_to, stuck};

/// The hook for each kind of yield point; None without a hook.
#[derive(FromPyObject)]
pub struct Hooks {
    /// `schedule(view)`: makes decisions, or returns jobs to be started in order. None: the caller decides; the loop
    /// returns to it at each decision.
    schedule: Option<Py<PyAny>>,
    /// `order(queue, now)`: keys, one per queued job.
    order: Option<Py<PyAny>>,
    /// `estimate(job, view)`: seconds, at the submission of the job.
    estimate: Option<Py<PyAny>>,
    /// `correct(job, view)`: seconds, when the job has run for its estimate.
    correct: Option<Py<PyAny>>,
    /// `learn(job, view)`: the job has ended.
    learn: Option<Py<PyAny>>,
    /// The view for predictors.
    predictor_view: Py<View>,
    /// `changed(changes, view)`: (change, job or node) pairs.
    changed: Option<Py<PyAny>>,
    /// `allocate(job, view)`: nodes, or None.
    allocate: Option<Py<PyAny>>,
    /// `control(number, load)`: a rate, or None.
    control: Option<Py<PyAny>>,
    /// `wake(caller, view)`: a timer is due.
    wake: Option<Py<PyAny>>,
}

/// The reason why driving a simulation stopped.
#[derive(Clone, Copy)]
enum Stop {
    /// No event is left until the given time.
    Over,
    /// The given number of instants has been processed.
    Instants,
    /// The caller must decide.
    Decision,
}

impl Stop {
    fn name(self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Instants => "instants",
            Self::Decision => "decision",
        }
    }
}

/// Drives a simulation until a time, inclusive, for a number of instants, or until the caller must decide.
fn drive(
    simulation: &Bound<'_, Simulation>,
    time: f64,
    hooks: &Hooks,
    view: &Bound<'_, View>,
    progress: Option<&Py<PyAny>>,
    instants: u64,
) -> PyResult<Stop> {
    let py = simulation.py();
    let report = || progress.map_or(Ok(()), |progress| report_to(progress, simulation));
    let asked_before = looked_at(simulation)?.asking;
    if let Some(point) = asked_before
        && !ask_outside(point, simulation, hooks, view)?
    {
        return Ok(Stop::Decision);
    }
    let mut left = instants;
    loop {
        let point = {
            let kernel = &mut changed(simulation)?.kernel;
            detached(py, || next_question(kernel, Time(time), &mut left))?
        };
        match point {
            YieldPoint::End => break,
            YieldPoint::Stuck => return Err(stuck(py, simulation)),
            YieldPoint::Failed => return Err(looked_at(simulation)?.failed(py)),
            YieldPoint::InstantOver => return Ok(Stop::Instants),
            YieldPoint::Pause => {
                py.check_signals()?;
                report()?;
            }
            point => {
                if !ask_outside(point, simulation, hooks, view)? {
                    return Ok(Stop::Decision);
                }
            }
        }
    }
    report()?;
    Ok(Stop::Over)
}

/// Advances to the next yield point that needs an answer from outside; to the end, if no event is left until a time; or
/// for a number of instants.
fn next_question(kernel: &mut Kernel<Replay>, time: Time, instants: &mut u64) -> YieldPoint {
    loop {
        let next = kernel.next_time();
        if next == Time::NEVER || next > time {
            return YieldPoint::End;
        }
        let Ok(point) = kernel.advance();
        if point != YieldPoint::InstantOver {
            return point;
        }
        *instants = instants.saturating_sub(1);
        if *instants == 0 {
            return point;
        }
    }
}

#[pymethods]
impl Simulation {
    /// Run until a time, inclusive, and call the hooks; for at most `instants` instants. Return the reason of the stop:
    /// "over", "instants", or "decision" if there is no hook that decides. In that case the caller decides, and then
    /// calls `end_decision`.
    #[pyo3(signature = (time, hooks, view, progress=None, instants=u64::MAX))]
    fn drive_until(
        slf: &Bound<'_, Self>,
        time: f64,
        hooks: Hooks,
        view: &Bound<'_, View>,
        progress: Option<Py<PyAny>>,
        instants: u64,
    ) -> PyResult<&'static str> {
        drive(slf, time, &hooks, view, progress.as_ref(), instants).map(Stop::name)
    }

    /// Report the changes since the last report to the hooks; also possible during a pass.
    #[pyo3(name = "tell_changes")]
    fn tell(slf: &Bound<'_, Self>, hooks: Hooks, view: &Bound<'_, View>) -> PyResult<()> {
        tell_changes(slf, &hooks, view)
    }

    /// End the pass in which the caller decides; otherwise the decision is requested again.
    fn end_decision(&mut self) {
        self.asking = self.asking.filter(|&point| point != YieldPoint::Decision);
    }
}

/// Calls the hook of a yield point; returns false if the caller must decide.
fn ask_outside(
    point: YieldPoint,
    simulation: &Bound<'_, Simulation>,
    hooks: &Hooks,
    view: &Bound<'_, View>,
) -> PyResult<bool> {
    // Changes are reported to observers once, even if a hook fails.
    changed(simulation)?.asking = (point != YieldPoint::Changes).then_some(point);
    if point == YieldPoint::Decision && hooks.schedule.is_none() {
        return Ok(false);
    }
    ask(point, simulation, hooks, view)?;
    changed(simulation)?.asking = None;
    Ok(true)
}

fn ask(
    point: YieldPoint,
    simulation: &Bound<'_, Simulation>,
    hooks: &Hooks,
    view: &Bound<'_, View>,
) -> PyResult<()> {
    let py = simulation.py();
    match point {
        YieldPoint::Decision => {
            if let Some(schedule) = &hooks.schedule {
                let answer = schedule.call1(py, (view,))?;
                if !answer.is_none(py) {
                    start_all(view, answer.bind(py))?;
                }
            }
        }
        YieldPoint::Priorities => {
            if let Some(order) = &hooks.order {
                let now = view.get().time(py)?;
                let keys = order.call1(py, (Queue::of(view), now))?;
                give_keys(simulation, view, keys.bind(py))?;
            }
        }
        YieldPoint::Submission(job) => set_estimate(simulation, hooks, hooks.estimate.as_ref(), job)?,
        YieldPoint::Expiry(job) => set_estimate(simulation, hooks, hooks.correct.as_ref(), job)?,
        YieldPoint::Changes => tell_changes(simulation, hooks, view)?,
        YieldPoint::Allocation(job) => answer_allocation(simulation, hooks, view, job)?,
        YieldPoint::Control(control, event) => {
            if let Some(hook) = &hooks.control {
                control::ask(simulation, hook, control, event)?;
            }
        }
        YieldPoint::Timer(caller) => {
            if let Some(wake) = &hooks.wake {
                wake.call1(py, (caller, view))?;
            }
        }
        YieldPoint::Pause
        | YieldPoint::InstantOver
        | YieldPoint::End
        | YieldPoint::Stuck
        | YieldPoint::Failed => {}
    }
    Ok(())
}

/// Reports the changes since the last report to predictors and observers.
fn tell_changes(simulation: &Bound<'_, Simulation>, hooks: &Hooks, view: &Bound<'_, View>) -> PyResult<()> {
    let py = simulation.py();
    let changes = changed(simulation)?.kernel.take_changes();
    if let Some(learn) = &hooks.learn {
        let view = hooks.predictor_view.bind(py);
        for &(change, about) in &changes {
            // Predictors do not learn from a job that was killed while it waited.
            let ended = matches!(change, Change::Completed | Change::Killed);
            if ended && !looked_at(simulation)?.kernel.state().jobs.start_time(about).is_nan() {
                learn.call1(py, (Job::new(view, about), view))?;
            }
        }
    }
    if let Some(hook) = &hooks.changed {
        let changes: Vec<(u8, u32)> =
            changes.into_iter().map(|(change, about)| (change as u8, about)).collect();
        hook.call1(py, (changes, view))?;
    }
    Ok(())
}

/// Starts the jobs that a scheduler returned; each must fit.
fn start_all(view: &Bound<'_, View>, jobs: &Bound<'_, PyAny>) -> PyResult<()> {
    for job in jobs.try_iter()? {
        let job = job?;
        let Ok(handle) = job.cast::<Job>() else {
            return Err(decision_error(
                view.py(),
                &format!(
                    "schedule() returned {}; it must return jobs to be started in order, or nothing",
                    job.repr()?
                ),
            ));
        };
        if !View::start(view, GivenJob(handle.clone()), None, None, None)? {
            return Err(decision_error(
                view.py(),
                &format!(
                    "{} cannot start at {} s: it does not fit now, or would delay a reservation; return only jobs that \
                     fit.",
                    handle.get().name(view.py())?,
                    view.get().time(view.py())?,
                ),
            ));
        }
    }
    Ok(())
}

fn give_keys(
    simulation: &Bound<'_, Simulation>,
    view: &Bound<'_, View>,
    keys: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = simulation.py();
    let waiting = looked_at(simulation)?.kernel.state().queue.len();
    let wrong = |said: String| {
        decision_error(py, &format!("the order gave {said}; it must give one number per queued job"))
    };
    let Ok(keys) = keys.extract::<PyArrayLike1<'_, f64, numpy::AllowTypeChange>>() else {
        return Err(wrong(format!("{}", keys.get_type())));
    };
    if keys.len() != waiting {
        return Err(wrong(format!("{} keys for {waiting} queued jobs", keys.len())));
    }
    let keys = keys.to_vec()?;
    if let Some(at) = keys.iter().position(|key| key.is_nan()) {
        changed(simulation)?.kernel.complete_queue();
        let job = looked_at(simulation)?.kernel.state().queue.jobs()[at];
        let name = Job::new(view, job).name(py)?;
        return Err(decision_error(py, &format!("{name}: its key is nan; the order must give a number")));
    }
    changed(simulation)?.kernel.set_priorities(&keys);
    Ok(())
}

fn set_estimate(
    simulation: &Bound<'_, Simulation>,
    hooks: &Hooks,
    hook: Option<&Py<PyAny>>,
    job: u32,
) -> PyResult<()> {
    let py = simulation.py();
    let Some(hook) = hook else { return Ok(()) };
    let view = hooks.predictor_view.bind(py);
    let answer = hook.call1(py, (Job::new(view, job), view))?;
    // A job without a time limit may also have an infinite estimate.
    let most = looked_at(simulation)?.kernel.state().jobs.requested_time(job).max(f64::MAX);
    let seconds = answer.extract::<f64>(py).ok().filter(|seconds| (0.0..=most).contains(seconds));
    let Some(seconds) = seconds else {
        let (name, shown) = (Job::new(view, job).name(py)?, answer.bind(py).repr()?);
        let who = hook.bind(py).getattr("__self__").unwrap_or_else(|_| hook.bind(py).clone());
        let rule = "must be a finite number of seconds >= 0";
        return Err(policy_error(
            py,
            &format!("{} estimates {name} at {shown}; {rule}.", who.get_type().name()?),
        ));
    };
    let done = changed(simulation)?.decide(py, Decision::SetEstimate { job, seconds })?;
    done.map(drop).map_err(|refusal| refused(view, &Job::new(view, job), "have this estimate", &refusal))
}

/// Lets the allocator outside place a job; nodes that do not admit its tasks are an error.
fn answer_allocation(
    simulation: &Bound<'_, Simulation>,
    hooks: &Hooks,
    view: &Bound<'_, View>,
    slot: u32,
) -> PyResult<()> {
    let py = simulation.py();
    let job = Job::new(view, slot);
    let answer = match &hooks.allocate {
        Some(allocate) => {
            let nodes = allocate.call1(py, (Job::new(view, slot), view))?;
            if nodes.is_none(py) { None } else { Some(placement(view, &job, nodes.bind(py))?) }
        }
        None => None,
    };
    let done = changed(simulation)?.kernel.answer_allocation(answer);
    done.map_err(|refusal| refused(view, &job, "start", &refusal))
}
