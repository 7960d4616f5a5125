//! The loop of a simulation in which somebody outside the kernel is asked: one crossing per question.
use batchlab_kernel::simulation::{Moment, PATIENCE};
use batchlab_kernel::time::Time;
use numpy::{PyArrayLike1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::job::{Job, decision_error, refused, simulation_error};
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
    /// `expire(job, view)`: seconds, when it has run for its estimate; None leaves it.
    expire: Option<Py<PyAny>>,
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
            moment => ask(moment, simulation, hooks, view)?,
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
            "at {} s the run is stuck: {PATIENCE} timers in a row brought nothing about; jobs waiting: {waiting}, \
             running: {}. Set no timers without end, or with watching=True if they only watch; open nodes, or kill \
             who waits in vain.",
            site.now,
            site.running.len(),
        ),
    )
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
        Moment::Submission(job) => set_estimate(simulation, hooks.estimate.as_ref(), view, job)?,
        Moment::Expiry(job) => set_estimate(simulation, hooks.expire.as_ref(), view, job)?,
        Moment::News => {
            let news = simulation.borrow_mut().kernel.take_news();
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
        Moment::Over | Moment::End | Moment::Stuck => {}
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
        if !View::start(view, handle.get(), None)? {
            return Err(decision_error(
                view.py(),
                &format!(
                    "{}: cannot start: it does not fit now, or would delay a reservation; return only jobs that fit",
                    handle.get().name(view.py())?
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
    hook: Option<&Py<PyAny>>,
    view: &Bound<'_, View>,
    job: u32,
) -> PyResult<()> {
    let py = simulation.py();
    let Some(hook) = hook else { return Ok(()) };
    let handle = Bound::new(py, Job::new(view, job))?;
    let answer = hook.call1(py, PyTuple::new(py, [handle.as_any(), view.as_any()])?)?;
    let Some(seconds) = answer.extract::<Option<f64>>(py)? else { return Ok(()) };
    let done = simulation.borrow_mut().kernel.set_estimate(job, seconds);
    done.map_err(|refusal| refused(view, handle.get(), "be estimated at", &refusal))
}
