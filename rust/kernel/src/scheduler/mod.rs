//! Schedulers: rules that propose which job to start next.
//!
//! A rule reads a [`View`] and proposes one decision at a time; the simulation checks and applies it, then asks for the
//! next. So a pass can be interrupted and resumed between any two decisions. A rule that places jobs may need an answer
//! of an external allocator ([`Unanswered`]): the simulation then restores the rule's state before the step, and
//! repeats the step when the answer has arrived.
mod blocking;
mod conservative;
mod conservative_plan;
mod contender;
mod delayed_head_cache;
mod delays;
mod disciplines;
mod easy;
mod easy_heads;
mod easy_reservations;
mod external;
mod first_fit;
mod free_slots;
mod freed_capacity;
mod overdue;
mod plan;
mod plan_by_totals;
mod policy_choice;
mod registry;
mod shadow;
mod shadow_availability;
mod shadow_capacity;
mod shadow_windows;
mod slurm;
mod victims;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cluster::{PlacementRequest, Unanswered};
use crate::decision::Decision;
use crate::placement::Allocator;
use crate::scenario::Scenario;
use crate::state::{JobRecords, View};
use crate::time::Time;

pub use blocking::Blocking;
pub use conservative::Conservative;
pub use conservative_plan::{ConservativePlan, PlannedStart};
pub use contender::Contender;
pub use delays::{Delay, Delays, Heads, Several};
pub use disciplines::{DISCIPLINES, Discipline};
pub use easy::Easy;
pub use easy_reservations::EasyReservations;
pub use external::External;
pub use first_fit::FirstFit;
pub use policy_choice::{Capacities, PolicyChoice, PolicyParts};
pub use registry::{BACKFILLING, Entry};
pub use shadow::{Trial, limiting_resource};
pub use slurm::{BackfillState, ControllerState, KnownJob, MainState, Slurm, SlurmSettings};

/// The next step of a rule in its pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Propose this decision.
    Propose(Decision),
    /// A part of the planning is done; the pass continues and can be interrupted here.
    Continue,
    /// This job was skipped; the pass continues and can be interrupted here.
    PassOver(u32),
    /// This queued job is over a limit of this counter: it is skipped until the counter decreases.
    Close(u32, u32),
    /// These decisions remove running jobs from their nodes so that this job fits. It starts before any other job is
    /// examined, and the pass restarts behind it, unless the decisions take effect later.
    Preempt(u32, Vec<Decision>),
    /// Suspend this running job: it releases its nodes and waits with all its work kept, unless its end is being
    /// processed.
    Suspend(u32),
    /// Ask the scheduler outside the kernel for its decision.
    Ask,
    /// The pass has ended.
    Done,
}

/// A backfilling rule.
pub trait SchedulingRule {
    /// Return whether the rule queries the expected ends of running jobs.
    fn needs_running(&self) -> bool {
        false
    }

    /// Return whether it does so in few steps only, and announces each of them with `asks_for_running`.
    fn asks_for_running_seldom(&self) -> bool {
        false
    }

    /// Return whether the next step may query them; used with `asks_for_running_seldom`.
    fn asks_for_running(&self, _view: View<'_>) -> bool {
        false
    }

    /// Return whether the rule queries which runs have changed since its latest pass.
    fn needs_changed_runs(&self) -> bool {
        false
    }

    /// Handle the event that nodes became available or unavailable, or that jobs left queue or nodes other than by
    /// starting or ending.
    fn disturbed(&mut self) {}

    /// Receive whether submissions or external events are still pending.
    fn awaits_events(&mut self, _are_to_come: bool) {}

    /// Handle the event that a job has finished running but occupies its nodes for its completion phase.
    fn completing(&mut self) {}

    /// Return whether the rule needs a pass at that event.
    fn needs_pass_at_completion(&self) -> bool {
        false
    }

    /// Share the per-job data with the next clone.
    fn share(&mut self) {}

    /// Handle the event that jobs which did not fit may fit now, for reasons outside the kernel.
    fn reexamine(&mut self) {}

    /// Begin or restart a pass. Return whether it examines the whole queue, so that time-dependent keys have to be
    /// refreshed.
    fn begin(&mut self, view: View<'_>, keys_change: bool) -> bool;

    /// Return the next step of the pass.
    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered>;

    /// Return the time of the next pass that is due without an event.
    fn next_due(&self) -> Time {
        Time::NEVER
    }

    /// Return whether waiting jobs age from the first scheduler call with them in its queue, instead of from their
    /// eligible time.
    fn ages_by_calls(&self) -> bool {
        false
    }

    /// Remove and return the jobs that entered the queue of a call for the first time in this pass, if jobs age by
    /// calls; each with the time since which it had been eligible.
    fn take_called(&mut self) -> Vec<(u32, f64)> {
        Vec::new()
    }

    /// Return when the limit ends a running job with this start and time limit, at `now` or later. None if the job ends
    /// exactly at its limit.
    fn end_of(&self, _job: u32, _start: f64, _time_limit: f64, _now: f64) -> Option<f64> {
        None
    }

    /// Return when a job chosen as a victim now leaves its nodes, at `now` or later. None if it leaves after its grace
    /// time.
    fn victim_release_time(&self, _victim: u32, _now: f64) -> Option<f64> {
        None
    }
}

/// The backfilling rules with their state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Scheduler {
    /// `none`: no job overtakes another.
    Blocking(Blocking),
    /// `first_fit`: every job that fits starts.
    FirstFit(FirstFit),
    /// `easy`: the first job that does not fit is not delayed.
    Easy(Box<Easy>),
    /// `easy(reservations=k)`: the first k jobs that do not fit are not delayed.
    EasyReservations(Box<EasyReservations>),
    /// `conservative`: no job is delayed by a later one.
    Conservative(Box<Conservative>),
    /// `slurm`: main loop and backfill scheduler of Slurm's controller, called when its threads call them.
    Slurm(Box<Slurm>),
    /// A discipline, which suspends and resumes jobs.
    Discipline(Box<Discipline>),
    /// A scheduler outside the kernel.
    External(Box<External>),
    /// Every job is rejected at submission: measures the bare cost of the simulator.
    Reject,
}

impl Scheduler {
    /// Return the scheduler outside the kernel, if it is used.
    #[must_use]
    pub fn as_external(&self) -> Option<&External> {
        if let Self::External(external) = self { Some(external) } else { None }
    }

    /// Return the scheduler outside the kernel for modification, if it is used.
    pub fn as_external_mut(&mut self) -> Option<&mut External> {
        if let Self::External(external) = self { Some(external) } else { None }
    }

    /// Return Slurm's controller, if it decides.
    #[must_use]
    pub fn as_slurm(&self) -> Option<&Slurm> {
        if let Self::Slurm(rule) = self { Some(rule) } else { None }
    }

    /// Return Slurm's controller for modification, if it decides.
    pub fn as_slurm_mut(&mut self) -> Option<&mut Slurm> {
        if let Self::Slurm(rule) = self { Some(rule) } else { None }
    }

    /// Return whether a scheduler outside the kernel decides.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.as_external().is_some()
    }

    /// Return whether the rule preempts running jobs, if preemption is configured.
    #[must_use]
    pub fn preempts(&self) -> bool {
        matches!(self, Self::Blocking(_) | Self::FirstFit(_) | Self::Easy(_) | Self::EasyReservations(_))
    }

    /// Return whether passes have no effect while the queue is empty.
    #[must_use]
    pub fn looks_at_queue_only(&self) -> bool {
        matches!(self, Self::Blocking(_) | Self::Easy(_))
    }

    /// Return whether the plan is kept between passes and covers the expected ends of all jobs.
    #[must_use]
    pub fn plans_to_the_end(&self) -> bool {
        matches!(self, Self::Conservative(_))
    }

    /// Return whether passes plan for all jobs, also if none may start.
    #[must_use]
    pub fn plans_ahead(&self) -> bool {
        match self {
            Self::External(_) | Self::Conservative(_) | Self::Slurm(_) => true,
            Self::Easy(rule) => rule.names_heads(),
            Self::EasyReservations(rule) => rule.names_heads(),
            _ => false,
        }
    }

    /// Return the reservations that the rule keeps for later passes, by slot.
    #[must_use]
    pub fn planned(&self) -> BTreeMap<u32, PlannedStart> {
        if let Self::Conservative(rule) = self { rule.planned() } else { BTreeMap::new() }
    }

    /// Begin in the middle of a run, with these reservations. `decided` is true if the pass of this instant is over.
    pub fn resume(&mut self, view: View<'_>, planned: &[(u32, &PlannedStart)], decided: bool) {
        if !decided {
            // The jobs that wait have the keys of their submissions.
            self.reexamine();
        }
        match self {
            Self::Conservative(rule) => rule.resume(view, planned, decided),
            Self::Discipline(rule) if decided => rule.resume(view),
            _ => {}
        }
    }

    /// Return whether the rule checks all jobs before a run begins.
    #[must_use]
    pub fn checks_all_jobs(&self) -> bool {
        matches!(self, Self::Slurm(_))
    }

    /// Find out what keeps waiting jobs, where passes alone know it.
    pub fn explain(&mut self) {
        if let Self::Slurm(rule) = self {
            rule.explain();
        }
    }

    /// Note which promised starts change (S15), from now on.
    pub fn note_promises(&mut self) {
        match self {
            Self::Conservative(rule) => rule.note_promises(),
            Self::Easy(rule) => rule.name_heads(),
            Self::EasyReservations(rule) => rule.name_heads(),
            _ => {}
        }
    }

    /// Return the feature of a run, or the job, that the rule does not support on a machine with these capacities, or
    /// None. Jobs that will be rejected need no support.
    #[must_use]
    pub fn refusal(&self, scenario: &Scenario, jobs: &JobRecords, capacity: &[i64]) -> Option<String> {
        if let Self::Slurm(rule) = self { rule.refusal(scenario, jobs, capacity) } else { None }
    }
}

/// Call a method of the rule of a scheduler; `Reject` evaluates `$otherwise`.
macro_rules! of_rule {
    ($scheduler:expr, $rule:ident => $call:expr, $otherwise:expr) => {
        match $scheduler {
            Scheduler::Blocking($rule) => $call,
            Scheduler::FirstFit($rule) => $call,
            Scheduler::Easy($rule) => $call,
            Scheduler::EasyReservations($rule) => $call,
            Scheduler::Conservative($rule) => $call,
            Scheduler::Slurm($rule) => $call,
            Scheduler::Discipline($rule) => $call,
            Scheduler::External($rule) => $call,
            Scheduler::Reject => $otherwise,
        }
    };
}

impl SchedulingRule for Scheduler {
    fn needs_running(&self) -> bool {
        of_rule!(self, rule => rule.needs_running(), false)
    }

    fn asks_for_running_seldom(&self) -> bool {
        of_rule!(self, rule => rule.asks_for_running_seldom(), false)
    }

    fn asks_for_running(&self, view: View<'_>) -> bool {
        of_rule!(self, rule => rule.asks_for_running(view), false)
    }

    fn needs_changed_runs(&self) -> bool {
        of_rule!(self, rule => rule.needs_changed_runs(), false)
    }

    fn disturbed(&mut self) {
        of_rule!(self, rule => rule.disturbed(), ());
    }

    fn awaits_events(&mut self, are_to_come: bool) {
        of_rule!(self, rule => rule.awaits_events(are_to_come), ());
    }

    fn completing(&mut self) {
        of_rule!(self, rule => rule.completing(), ());
    }

    fn needs_pass_at_completion(&self) -> bool {
        of_rule!(self, rule => rule.needs_pass_at_completion(), false)
    }

    fn share(&mut self) {
        of_rule!(self, rule => rule.share(), ());
    }

    fn reexamine(&mut self) {
        of_rule!(self, rule => rule.reexamine(), ());
    }

    fn begin(&mut self, view: View<'_>, keys_change: bool) -> bool {
        of_rule!(self, rule => rule.begin(view, keys_change), false)
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        for job in view.preempting_jobs() {
            if chance_of(view, allocator, job)? == Chance::Fits {
                return Ok(start_chosen(job));
            }
        }
        of_rule!(self, rule => rule.propose(view, allocator), Ok(Step::Done))
    }

    fn next_due(&self) -> Time {
        of_rule!(self, rule => rule.next_due(), Time::NEVER)
    }

    fn ages_by_calls(&self) -> bool {
        of_rule!(self, rule => rule.ages_by_calls(), false)
    }

    fn take_called(&mut self) -> Vec<(u32, f64)> {
        of_rule!(self, rule => rule.take_called(), Vec::new())
    }

    fn end_of(&self, job: u32, start: f64, time_limit: f64, now: f64) -> Option<f64> {
        of_rule!(self, rule => rule.end_of(job, start, time_limit, now), None)
    }

    fn victim_release_time(&self, victim: u32, now: f64) -> Option<f64> {
        of_rule!(self, rule => rule.victim_release_time(victim, now), None)
    }
}

/// Propose to start a job on the nodes that the allocator has just chosen.
fn start_chosen(job: u32) -> Step {
    Step::Propose(Decision::Start { job, place: crate::decision::Where::Proposed, tasks: None })
}

/// Result of a check whether a job can start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chance {
    /// It fits, and the allocator has chosen its nodes.
    Fits,
    /// It does not fit.
    DoesNotFit,
    /// The job is over a limit of this counter; jobs behind it may start.
    Closed(u32),
    /// The job is over a limit and blocks all jobs behind it in its partitions and the partitions connected with them.
    HoldsUp,
}

/// Check whether a job is within its limits and fits now.
fn chance_of(view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<Chance, Unanswered> {
    chance_among(view, allocator, job, view.placement_requests(job))
}

/// Check whether a job is within its limits and fits now with one of these requests.
fn chance_among<'a>(
    view: View<'_>,
    allocator: &mut Allocator,
    job: u32,
    wants: impl Iterator<Item = PlacementRequest<'a>>,
) -> Result<Chance, Unanswered> {
    match view.over_limit(job) {
        Some((_, true)) => Ok(Chance::HoldsUp),
        Some((counter, false)) => Ok(Chance::Closed(counter)),
        None if choose_now(view, allocator, wants)? => Ok(Chance::Fits),
        None => Ok(Chance::DoesNotFit),
    }
}

/// Return whether a job fits now with one of its requests. If so, the allocator has chosen its nodes.
fn choose_now<'a>(
    view: View<'_>,
    allocator: &mut Allocator,
    wants: impl Iterator<Item = PlacementRequest<'a>>,
) -> Result<bool, Unanswered> {
    for want in wants {
        if !view.may_fit_request(&want) {
            continue;
        }
        // An external allocator sees which nodes are powered on, and is asked once.
        let powered_nodes = view.powered_nodes().filter(|_| allocator.as_external().is_none());
        if let Some(powered_nodes) = powered_nodes
            && allocator.choose(&powered_nodes, &want, view.now())?
        {
            return Ok(true);
        }
        if allocator.choose_on(&view.state.machine, &want, view.now())? {
            return Ok(true);
        }
    }
    Ok(false)
}
