//! The loop of a simulation in which somebody outside the kernel is asked: one crossing per question.
use batchlab_kernel::record::Change;
use batchlab_kernel::simulation::{Moment, PATIENCE};
use batchlab_kernel::time::Time;
use numpy::{PyArrayLike1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::job::{Job, decision_error, policy_error, refused, simulation_error};
use crate::simulation::{STRIDE, Simulation};
use crate::view::View;

/// Who is asked at which moment; None where nobody is.
#[derive(FromPyObject)]
pub struct Hooks {
    /// `schedule(view)`: makes decisions, or returns jobs to be started in order.
    schedule: Option<Py<PyAny>>,
    /// `order(queue, now)`: keys, one per queued job.
    order: Option<Py<PyAny>>,
    /// `estimate(job, view)`: seconds, at its submission.
    estimate: Option<Py<PyAny>>,
    /// `correct(job, view)`: seconds, when it has run for its estimate.
    correct: Option<Py<PyAny>>,
    /// `learn(job, view)`: it has ended.
    learn: Option<Py<PyAny>>,
    /// What those who estimate are given.
    predictor_view: Py<View>,
    /// `news(changes, view)`: (change, job or node) pairs.
    news: Option<Py<PyAny>>,
    /// `wake(whose, view)`: a timer is due.
    wake: Option<Py<PyAny>>,
}

/// Drives a simulation until a time, inclusive, or for so many instants; false if nothing is left to happen.
pub fn drive(
    simulation: &Bound<'_, Simulation>,
    time: f64,
    hooks: &Hooks,
    view: &Bound<'_, View>,
    progress: Option<&Py<PyAny>>,
    instants: u64,
) -> PyResult<bool> {
    let py = simulation.py();
    let mut done = 0;
    let report = || match progress {
        None => Ok(()),
        Some(progress) => {
            let at = (simulation.borrow().kernel.finished(), simulation.borrow().kernel.site().now);
            progress.call1(py, at).map(drop)
        }
    };
    let asked_before = simulation.borrow().asking;
    if let Some(moment) = asked_before {
        ask_outside(moment, simulation, hooks, view)?;
    }
    loop {
        let moment = {
            let kernel = &mut simulation.borrow_mut().kernel;
            let next = kernel.next_time();
            if next == Time::NEVER || next > Time(time) {
                break;
            }
            let Ok(moment) = kernel.advance();
            moment
        };
        match moment {
            Moment::End => break,
            Moment::Stuck => return Err(stuck(py, simulation)),
            Moment::Failed => return Err(simulation.borrow().failed(py)),
            Moment::Over => {
                done += 1;
                if done % STRIDE == 0 {
                    py.check_signals()?;
                    report()?;
                }
                if done >= instants {
                    return Ok(true);
                }
            }
            moment => ask_outside(moment, simulation, hooks, view)?,
        }
    }
    report()?;
    Ok(false)
}

fn stuck(py: Python<'_>, simulation: &Bound<'_, Simulation>) -> PyErr {
    let simulation = simulation.borrow();
    let site = simulation.kernel.site();
    let waiting = site.queue.len() + site.on_hold.len();
    simulation_error(
        py,
        &format!(
            "at {} s the run is stuck: {PATIENCE} timers in a row, or questions of the clock, brought nothing about; \
             jobs waiting: {waiting}, running: {}. Start jobs, or kill who waits in vain; open nodes; set no timers \
             without end, or with watching=True if they only watch.",
            site.now,
            site.running.len(),
        ),
    )
}

fn ask_outside(
    moment: Moment,
    simulation: &Bound<'_, Simulation>,
    hooks: &Hooks,
    view: &Bound<'_, View>,
) -> PyResult<()> {
    // News are told once, whatever comes of it.
    simulation.borrow_mut().asking = (moment != Moment::News).then_some(moment);
    ask(moment, simulation, hooks, view)?;
    simulation.borrow_mut().asking = None;
    Ok(())
}

fn ask(
    moment: Moment,
    simulation: &Bound<'_, Simulation>,
    hooks: &Hooks,
    view: &Bound<'_, View>,
) -> PyResult<()> {
    let py = simulation.py();
    match moment {
        Moment::Pass => {
            if let Some(schedule) = &hooks.schedule {
                let answer = schedule.call1(py, (view,))?;
                if !answer.is_none(py) {
                    start_all(view, answer.bind(py))?;
                }
            }
        }
        Moment::Order => {
            if let Some(order) = &hooks.order {
                let now = view.get().now(py);
                let keys = order.call1(py, (View::queue_of(view), now))?;
                give_keys(simulation, view, keys.bind(py))?;
            }
        }
        Moment::Submission(job) => set_estimate(simulation, hooks, hooks.estimate.as_ref(), job)?,
        Moment::Expiry(job) => set_estimate(simulation, hooks, hooks.correct.as_ref(), job)?,
        Moment::News => {
            let news = simulation.borrow_mut().kernel.take_news();
            if let Some(learn) = &hooks.learn {
                let view = hooks.predictor_view.bind(py);
                for &(change, whom) in &news {
                    // A job that was killed while it waited teaches nothing.
                    let ended = matches!(change, Change::Completed | Change::Killed);
                    if ended && !simulation.borrow().kernel.site().jobs.start_time(whom).is_nan() {
                        learn.call1(py, (Job::new(view, whom), view))?;
                    }
                }
            }
            if let Some(hook) = &hooks.news {
                let news: Vec<(u8, u32)> =
                    news.into_iter().map(|(change, whom)| (change as u8, whom)).collect();
                hook.call1(py, (news, view))?;
            }
        }
        Moment::Timer(whose) => {
            if let Some(wake) = &hooks.wake {
                wake.call1(py, (whose, view))?;
            }
        }
        Moment::Over | Moment::End | Moment::Stuck | Moment::Failed => {}
    }
    Ok(())
}

/// Starts the jobs that a scheduler returned, each of which must fit.
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
        if !View::start(view, handle.get(), None, None, None)? {
            return Err(decision_error(
                view.py(),
                &format!(
                    "{} cannot start at {} s: it does not fit now, or would delay a reservation; return only jobs that \
                     fit.",
                    handle.get().name(view.py())?,
                    view.get().now(view.py()),
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
    let waiting = simulation.borrow().kernel.site().queue.len();
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
        let job = simulation.borrow().kernel.site().queued()[at];
        let name = Job::new(view, job).name(py)?;
        return Err(decision_error(py, &format!("{name}: its key is nan; the order must give a number")));
    }
    simulation.borrow_mut().kernel.order_by(&keys);
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
    // A job without a limit may have no estimate either.
    let most = simulation.borrow().kernel.site().jobs.job(job).requested_time.max(f64::MAX);
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
    let done = simulation.borrow_mut().kernel.set_estimate(job, seconds);
    done.map_err(|refusal| refused(view, &Job::new(view, job), "have this estimate", &refusal))
}
