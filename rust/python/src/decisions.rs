//! The decisions of a view.
#![allow(clippy::doc_markdown, reason = "Python shows what stands at its methods, in the form of numpydoc")]

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use batchlab_kernel::cluster::NodeTasks;
use batchlab_kernel::decision::{Decision, Effect, Preemption, Size, TimerPurpose, Where};
use batchlab_kernel::simulation::Refusal;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::application::Argument;
use crate::arguments::{Amount, ControlNumber, GivenJob, Gpus, Node, Real, Tasks};
use crate::errors::decision_error;
use crate::handles::{Job, View, refused};
use crate::placements::{ask_allocator, placement, ranks};

#[pymethods]
impl View {
    /// Start a waiting job.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job; in the queue.
    /// nodes
    ///     Its nodes: the number of tasks by node, or one node per task, by rank. By default the allocator chooses.
    /// tasks
    ///     Number of tasks, for a job that is not rigid; its requested number by default.
    /// gpus
    ///     Number of GPUs that its application uses on each node; the requested number per task by default.
    ///
    /// Returns
    /// -------
    /// bool
    ///     False, and nothing changes, if the job does not fit now, or would delay a reservation.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If the job is not waiting, or cannot be placed on these nodes; or if no pass is running.
    #[pyo3(signature = (job, nodes=None, *, tasks=None, gpus=None))]
    pub fn start(
        slf: &Bound<'_, Self>,
        job: GivenJob<'_>,
        nodes: Option<&Bound<'_, PyAny>>,
        tasks: Option<Tasks>,
        gpus: Option<Gpus>,
    ) -> PyResult<bool> {
        let py = slf.py();
        let tasks = tasks.map(|Tasks(tasks)| tasks);
        let this = slf.get();
        job.check_home(slf)?;
        let startable = this.simulation(py)?.kernel.check_startable(job.slot);
        startable.map_err(|refusal| refused(slf, &job, "start", &refusal))?;
        let carries = this.simulation(py)?.kernel.view().has_application(job.slot);
        if gpus.is_some() && !carries {
            return Err(refused(slf, &job, "choose its GPUs", &Refusal::NoApplication(job.slot)));
        }
        let (place, chosen_by_allocator) = where_to(slf, &job, nodes, carries)?;
        let Some(place) = place else { return Ok(false) };
        if let (Some(tasks), Some(placed)) = (tasks, placed_tasks(&place))
            && u64::from(tasks) != placed
        {
            return Err(refused(slf, &job, "start", &Refusal::OtherTasks { job: job.slot, placed, tasks }));
        }
        let tasks = if matches!(place, Where::AskAllocator) { tasks } else { None };
        let decision = Decision::Start { job: job.slot, place, tasks };
        let effect = this.simulation_mut(py)?.decide(py, decision)?;
        let started = match effect {
            // With nodes chosen by an allocator, a conflicting reservation is treated as with the kernel's allocator.
            Err(Refusal::Delays(_)) if chosen_by_allocator => false,
            Err(refusal) => return Err(refused(slf, &job, "start", &refusal)),
            Ok(effect) => effect == Effect::Done,
        };
        if let (true, Some(Gpus(gpus))) = (started, gpus) {
            this.simulation_mut(py)?.kernel.set_gpus(job.slot, gpus);
        }
        Ok(started)
    }

    /// Make a reservation for a waiting job until the end of this pass: no job starts that would delay it.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job. An existing reservation is changed.
    /// time
    ///     Time of the reservation, seconds. By default the earliest time allowed by running jobs and earlier
    ///     reservations.
    ///
    /// Returns
    /// -------
    /// float
    ///     Time of the reservation, seconds; infinity if the job does not fit on the available capacity.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If the job is not waiting, or does not fit from that time on; or if no pass is running.
    #[pyo3(signature = (job, time=None))]
    fn reserve(slf: &Bound<'_, Self>, job: GivenJob<'_>, time: Option<Real>) -> PyResult<f64> {
        let at = time.map(|Real(time)| time);
        let decision = Decision::Reserve { job: job.slot, at };
        match Self::decide(slf, &job, "have a reservation", decision)? {
            Effect::Reserved(time) => Ok(time),
            Effect::Done | Effect::NotNow => Ok(f64::INFINITY),
        }
    }

    /// Hold a waiting job: it leaves the queue until it is released.
    fn hold(slf: &Bound<'_, Self>, job: GivenJob<'_>) -> PyResult<()> {
        Self::decide(slf, &job, "be held", Decision::Hold(job.slot)).map(drop)
    }

    /// Release a held job: it returns to its place in the queue.
    fn release(slf: &Bound<'_, Self>, job: GivenJob<'_>) -> PyResult<()> {
        Self::decide(slf, &job, "be released", Decision::Release(job.slot)).map(drop)
    }

    /// Kill a waiting or running job: its state becomes killed.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is neither waiting nor running, was started in this pass, or ends at this instant.
    fn kill(slf: &Bound<'_, Self>, job: GivenJob<'_>) -> PyResult<()> {
        Self::decide(slf, &job, "be killed", Decision::Kill(job.slot)).map(drop)
    }

    /// Preempt a running job: it returns to the queue.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job; not started in this pass, and not ending at this instant.
    /// mode
    ///     The work that it keeps: "requeue", none, it runs again from its start; "suspend", all, it continues where it
    ///     was; "from_checkpoint", the work up to its latest checkpoint.
    /// every
    ///     Seconds of its run between two checkpoints.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is not running, or cannot be preempted now.
    #[pyo3(signature = (job, mode="requeue", every=None))]
    fn preempt(slf: &Bound<'_, Self>, job: GivenJob<'_>, mode: &str, every: Option<Real>) -> PyResult<()> {
        job.check_home(slf)?;
        let every = every.map(|Real(seconds)| seconds);
        let keep = match (mode, every) {
            ("requeue", None) => Preemption::Requeue,
            ("suspend", None) => Preemption::Suspend,
            ("from_checkpoint", Some(every)) if every.is_finite() && every > 0.0 => {
                Preemption::FromCheckpoint(every)
            }
            _ => {
                let given = every.map_or(String::new(), |every| format!(", every = {every}"));
                let rule = "must be 'requeue', 'suspend', or 'from_checkpoint' with every = seconds > 0";
                return Err(decision_error(slf.py(), &format!("mode = '{mode}'{given}; {rule}.")));
            }
        };
        Self::decide(slf, &job, "be preempted", Decision::Preempt { job: job.slot, keep }).map(drop)
    }

    /// Suspend a running job: it releases its nodes and waits, and continues where it was when it is started again.
    ///
    /// Equivalent to `preempt(job, mode="suspend")`; `start` resumes the job, possibly on other nodes.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job; not started in this pass, not ending at this instant, and without an application.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If it is not running, or cannot be preempted now.
    fn suspend(slf: &Bound<'_, Self>, job: GivenJob<'_>) -> PyResult<()> {
        Self::preempt(slf, job, "suspend", None)
    }

    /// Set the service rate of a running job from now on, independent of the rate of its nodes.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job; running, and not in its launch or completion phase.
    /// rate
    ///     Work per second, finite and >= 0; at 0 the job keeps its nodes and does not progress.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If the job is not being served, or has an application.
    fn set_rate(slf: &Bound<'_, Self>, job: GivenJob<'_>, rate: Real) -> PyResult<()> {
        let Real(rate) = rate;
        Self::decide(slf, &job, "have this rate", Decision::SetRate { job: job.slot, rate }).map(drop)
    }

    /// Set the service rate of the nodes of a control from now on.
    ///
    /// Parameters
    /// ----------
    /// rate
    ///     Work per second, finite and >= 0.
    /// control
    ///     Its index in the argument `control` of the run.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If there is no such control, or the rate is invalid.
    #[pyo3(signature = (rate, control=ControlNumber(0)))]
    fn set_service_rate(slf: &Bound<'_, Self>, rate: Real, control: ControlNumber) -> PyResult<()> {
        let (Real(rate), ControlNumber(control)) = (rate, control);
        let decision = Decision::SetServiceRate { control, rate };
        let done = slf.get().simulation_mut(slf.py())?.decide(slf.py(), decision)?;
        done.map(drop).map_err(|refusal| decision_error(slf.py(), &format!("{refusal}.")))
    }

    /// Set the estimate of a job's run time.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job; not finished.
    /// seconds
    ///     Seconds from its start, finite and >= 0.
    fn set_estimate(slf: &Bound<'_, Self>, job: GivenJob<'_>, seconds: Real) -> PyResult<()> {
        let Real(seconds) = seconds;
        let decision = Decision::SetEstimate { job: job.slot, seconds };
        Self::decide(slf, &job, "have this estimate", decision).map(drop)
    }

    /// Change the nodes of a running job with an application that allows it.
    ///
    /// The change is immediate if the job is at a scheduling point or requests it; otherwise it takes effect at its
    /// next scheduling point.
    ///
    /// Added nodes are allocated to the job from now on. By default the job loses its last ranks, and the allocator
    /// chooses the nodes that it gains.
    ///
    /// Parameters
    /// ----------
    /// job
    ///     The job; running.
    /// tasks
    ///     New number of tasks.
    /// nodes
    ///     Instead of `tasks`, one node per task, by rank.
    /// gpus
    ///     With `nodes`, the number of GPUs that the application uses on each of them; unchanged by default.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If the job is not running, cannot be resized or not to this size, or the nodes are not free.
    #[pyo3(signature = (job, tasks=None, *, nodes=None, gpus=None))]
    fn resize(
        slf: &Bound<'_, Self>,
        job: GivenJob<'_>,
        tasks: Option<Tasks>,
        nodes: Option<&Bound<'_, PyAny>>,
        gpus: Option<Gpus>,
    ) -> PyResult<()> {
        job.check_home(slf)?;
        let gpus = gpus.map(|Gpus(gpus)| gpus);
        let (size, tasks) = match (tasks, nodes) {
            (Some(Tasks(tasks)), None) if gpus.is_none() => (Size::Tasks(tasks), tasks as usize),
            (None, Some(nodes)) => {
                let ranks = ranks(slf, &job, nodes)?;
                let tasks = ranks.len();
                (Size::Ranks(ranks, gpus), tasks)
            }
            _ => {
                let rule = "give either tasks, or nodes and perhaps gpus";
                return Err(decision_error(slf.py(), &format!("resize({}): {rule}.", job.name(slf.py())?)));
            }
        };
        let what = format!("be resized to {tasks} tasks");
        Self::decide(slf, &job, &what, Decision::Resize { job: job.slot, size }).map(drop)
    }

    /// Set arguments that the formulas of a job's application use from its next start or resize on.
    fn set_runtime_arguments(
        slf: &Bound<'_, Self>,
        job: GivenJob<'_>,
        arguments: BTreeMap<String, Argument>,
    ) -> PyResult<()> {
        let arguments = arguments.into_iter().map(|(name, value)| (name, value.into())).collect();
        let decision = Decision::SetRuntimeArguments { job: job.slot, arguments };
        Self::decide(slf, &job, "have runtime arguments", decision).map(drop)
    }

    /// Drain a node: no further job starts there; its running jobs continue.
    fn drain(&self, py: Python<'_>, node: Node) -> PyResult<()> {
        self.decide_about_node(py, node, "be drained", Decision::Drain(node.0))
    }

    /// Resume a drained node: jobs may start on it again.
    fn resume(&self, py: Python<'_>, node: Node) -> PyResult<()> {
        self.decide_about_node(py, node, "be resumed", Decision::Resume(node.0))
    }

    /// Withhold amounts of a node's resources from jobs, by name, in place of those withheld before.
    fn reserve_capacity(&self, py: Python<'_>, node: Node, amounts: &Bound<'_, PyDict>) -> PyResult<()> {
        let mut kept = vec![0; self.resources.len()];
        for (name, amount) in amounts {
            let name: String = name.extract()?;
            let Some(index) = self.resources.iter().position(|known| *known == name) else {
                let known = self.resources.join(", ");
                return Err(decision_error(py, &format!("there is no resource {name:?}; known: {known}")));
            };
            let Amount(amount) = amount.extract()?;
            kept[index] = amount;
        }
        let decision = Decision::ReserveCapacity { node: node.0, amounts: kept };
        self.decide_about_node(py, node, "reserve this", decision)
    }

    /// Request a call at a given time.
    ///
    /// Parameters
    /// ----------
    /// time
    ///     Seconds; not before now.
    /// watching
    ///     Only observe: the timer does not keep the run going, and no pass follows.
    /// repairing
    ///     Only resume nodes, with ``resume``: the timer keeps the run going while a waiting job fits on the machine
    ///     with all its nodes.
    ///
    /// Raises
    /// ------
    /// DecisionError
    ///     If the time is before now, or a timer is both watching and repairing.
    #[pyo3(signature = (time, *, watching=false, repairing=false))]
    fn wake(&self, py: Python<'_>, time: Real, watching: bool, repairing: bool) -> PyResult<()> {
        let Real(time) = time;
        let purpose = match (watching, repairing) {
            (true, true) => {
                let rule = "watching = True and repairing = True: one that only watches repairs nothing; set one of them";
                return Err(decision_error(py, &format!("no timer can be set: {rule}.")));
            }
            (true, false) => TimerPurpose::Watch,
            (false, true) => TimerPurpose::Repair,
            (false, false) => TimerPurpose::Act,
        };
        let caller = self.caller.load(Ordering::Relaxed);
        let decision = Decision::Wake { time, caller, purpose };
        let done = self.simulation_mut(py)?.decide(py, decision)?.map(drop);
        done.map_err(|refusal| decision_error(py, &format!("no timer can be set: {refusal}.")))
    }
}

impl View {
    /// Applies a decision about a job; returns its effect, or the error with the reason of its refusal.
    fn decide(slf: &Bound<'_, Self>, job: &Job, what: &str, decision: Decision) -> PyResult<Effect> {
        job.check_home(slf)?;
        let effect = slf.get().simulation_mut(slf.py())?.decide(slf.py(), decision)?;
        effect.map_err(|refusal| refused(slf, job, what, &refusal))
    }

    fn decide_about_node(&self, py: Python<'_>, node: Node, what: &str, decision: Decision) -> PyResult<()> {
        let Node(node) = node;
        let (now, effect) = (self.time(py)?, self.simulation_mut(py)?.decide(py, decision)?);
        effect.map(drop).map_err(|refusal| {
            decision_error(py, &format!("node {node} cannot {what} at {now} s: {refusal}."))
        })
    }
}

/// The placement for the start of a job, None if the allocator finds none; and whether an allocator outside chose it.
fn where_to(
    view: &Bound<'_, View>,
    job: &Job,
    nodes: Option<&Bound<'_, PyAny>>,
    carries: bool,
) -> PyResult<(Option<Where>, bool)> {
    match nodes {
        Some(nodes) if carries && !nodes.is_instance_of::<PyDict>() => {
            Ok((Some(Where::Ranks(ranks(view, job, nodes)?)), false))
        }
        Some(nodes) => Ok((Some(Where::Nodes(placement(view, job, nodes)?)), false)),
        None if view.get().allocator.is_some() => Ok((ask_allocator(view, job)?.map(Where::Nodes), true)),
        None => Ok((Some(Where::AskAllocator), false)),
    }
}

/// Number of placed tasks, if the nodes are given.
fn placed_tasks(place: &Where) -> Option<u64> {
    match place {
        Where::Nodes(placement) => {
            Some(placement.iter().map(|NodeTasks { tasks, .. }| u64::from(*tasks)).sum())
        }
        Where::Ranks(nodes) => Some(nodes.len() as u64),
        Where::Proposed | Where::AskAllocator => None,
    }
}
