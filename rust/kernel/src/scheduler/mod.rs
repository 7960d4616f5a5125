//! Schedulers: rules that propose which job starts next.
//!
//! A rule sees a [`View`] and proposes one decision at a time; the simulation checks and applies it, and asks for the next
//! one. So a pass can be left and entered again between any two decisions. A rule that places jobs may find that the
//! allocator has to be asked outside first ([`Unanswered`]): then the simulation restores the rule as it was before the
//! step, and proposes again once the answer is there.
mod blocking;
mod conservative;
mod conservative_plan;
mod disciplines;
mod easy;
mod easy_heads;
mod easy_reservations;
mod external;
mod first_fit;
mod free_slots;
mod freed;
mod harm;
mod overdue;
mod plan;
mod plan_by_totals;
mod policy_choice;
mod registry;
mod shadow;
mod shadow_capacity;
mod shadow_room;
mod shadow_windows;
mod slurm;
mod victims;

use serde::{Deserialize, Serialize};

use crate::cluster::{PlacementRequest, Unanswered};
use crate::decision::Decision;
use crate::placement::Allocator;
use crate::scenario::Scenario;
use crate::state::View;
use crate::time::Time;

pub use blocking::Blocking;
pub use conservative::Conservative;
pub use disciplines::{DISCIPLINES, Discipline};
pub use easy::Easy;
pub use easy_reservations::EasyReservations;
pub use external::External;
pub use first_fit::FirstFit;
pub use policy_choice::{Capacities, PolicyChoice, PolicyParts};
pub use registry::{BACKFILLING, Entry};
pub use slurm::{Slurm, SlurmSettings};

/// What a rule does next in its pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// It proposes this.
    Propose(Decision),
    /// It has done a part of its planning, and goes on: the pass can be left here.
    Continue,
    /// It has passed over this job, and goes on likewise.
    PassOver(u32),
    /// A queued job is over a limit of this counter: it is not looked at until that is counted down.
    Close(u32, u32),
    /// These decisions take running jobs from their nodes, so that this job fits: it starts before any other is looked at, and
    /// the pass begins again behind it, unless they take effect later.
    Preempt(u32, Vec<Decision>),
    /// This running job gives up its nodes and waits again, with all of its work kept; unless its end is being taken in.
    Suspend(u32),
    /// A scheduler outside the kernel decides now.
    Ask,
    /// The pass is over.
    Done,
}

/// A backfilling rule.
pub trait SchedulingRule {
    /// Whether it asks when running jobs are expected to end.
    fn needs_running(&self) -> bool {
        false
    }

    /// Whether it asks that in few steps only, and of each says beforehand if it does.
    fn asks_for_running_seldom(&self) -> bool {
        false
    }

    /// Whether it may ask that in its next step, where it asks it seldom.
    fn asks_for_running(&self, _view: View<'_>) -> bool {
        false
    }

    /// Whether it asks which runs have changed since its latest pass.
    fn needs_changed_runs(&self) -> bool {
        false
    }

    /// Takes note that nodes came or went, or that jobs left queue or nodes otherwise than by starting or ending.
    fn disturbed(&mut self) {}

    /// Takes note whether submissions or external events are still to come.
    fn awaits_events(&mut self, _are_to_come: bool) {}

    /// Takes note that the run of a job is over which holds its nodes for a while yet.
    fn completing(&mut self) {}

    /// Whether it is asked when that happens.
    fn heeds_completing(&self) -> bool {
        false
    }

    /// Lets the next clone share what is kept of single jobs.
    fn share(&mut self) {}

    /// Takes note that jobs which did not fit may fit now for reasons that the kernel does not see.
    fn reexamine(&mut self) {}

    /// Begins a pass, or begins it again; whether it looks at the whole queue, so that keys that change with time are to be refreshed.
    fn begin(&mut self, view: View<'_>, keys_change: bool) -> bool;

    /// The next step of the pass.
    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered>;

    /// When a pass is due even if nothing happens.
    fn next_due(&self) -> Time {
        Time::NEVER
    }

    /// Whether waiting jobs age from the first call on that has them in its queue, not from when they are eligible.
    fn ages_by_calls(&self) -> bool {
        false
    }

    /// Returns the jobs that calls of this pass had in their queue for the first time, if jobs age by calls: each with the time
    /// since which it had been eligible. They are forgotten.
    fn take_called(&mut self) -> Vec<(u32, f64)> {
        Vec::new()
    }

    /// When a running job that has started then, and asks for so many seconds, is ended by its limit, now or later; None where
    /// that is as soon as it has run so long.
    fn end_of(&self, _job: u32, _start: f64, _time_limit: f64, _now: f64) -> Option<f64> {
        None
    }

    /// When a job that has just been chosen as a victim leaves its nodes, now or later; None where that is after its grace time.
    fn fall_of(&self, _victim: u32, _now: f64) -> Option<f64> {
        None
    }
}

/// The backfilling rules, and what each has to remember.
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
    /// `slurm`: the main loop and the backfill scheduler of Slurm's controller, when their threads call them.
    Slurm(Box<Slurm>),
    /// A discipline, which suspends and resumes jobs.
    Discipline(Box<Discipline>),
    /// A scheduler outside the kernel decides.
    External(Box<External>),
    /// Every job is rejected at submission: the bare cost of the simulator.
    Reject,
}

impl Scheduler {
    /// The scheduler outside the kernel, where there is one.
    #[must_use]
    pub fn as_external(&self) -> Option<&External> {
        if let Self::External(external) = self { Some(external) } else { None }
    }

    /// The same, to be changed.
    pub fn as_external_mut(&mut self) -> Option<&mut External> {
        if let Self::External(external) = self { Some(external) } else { None }
    }

    /// Whether a scheduler outside the kernel decides.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.as_external().is_some()
    }

    /// Whether it takes running jobs from their nodes for others, where these may preempt them.
    #[must_use]
    pub fn preempts(&self) -> bool {
        matches!(self, Self::Blocking(_) | Self::FirstFit(_) | Self::Easy(_) | Self::EasyReservations(_))
    }

    /// Whether its passes do nothing while no job waits.
    #[must_use]
    pub fn looks_at_queue_only(&self) -> bool {
        matches!(self, Self::Blocking(_) | Self::Easy(_))
    }

    /// Whether what it plans is kept from pass to pass, to the expected ends of all jobs.
    #[must_use]
    pub fn plans_to_the_end(&self) -> bool {
        matches!(self, Self::Conservative(_))
    }

    /// Whether its passes plan for all jobs, also where none may start.
    #[must_use]
    pub fn plans_ahead(&self) -> bool {
        matches!(self, Self::External(_) | Self::Conservative(_) | Self::Slurm(_))
    }

    /// What of a run the rule does not model, on a machine of these capacities; None where it models all.
    #[must_use]
    pub fn refusal(&self, scenario: &Scenario, capacity: &[i64]) -> Option<String> {
        if let Self::Slurm(rule) = self { rule.refusal(scenario, capacity) } else { None }
    }
}

/// Calls the rule of a scheduler; `Reject` does nothing.
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

    fn heeds_completing(&self) -> bool {
        of_rule!(self, rule => rule.heeds_completing(), false)
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

    fn fall_of(&self, victim: u32, now: f64) -> Option<f64> {
        of_rule!(self, rule => rule.fall_of(victim, now), None)
    }
}

/// The start of a job where the allocator has just chosen.
fn start_chosen(job: u32) -> Step {
    Step::Propose(Decision::Start { job, place: crate::decision::Where::Chosen, tasks: None })
}

/// Whether a job can start now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chance {
    /// It fits, and the allocator has chosen its nodes.
    Fits,
    /// It does not fit.
    DoesNotFit,
    /// It is over a limit of this counter; those behind it may go on.
    Closed(u32),
    /// It is over a limit, and holds up all behind it in its partitions and those that are connected with them.
    HoldsUp,
}

/// Whether a job is within its limits and fits now.
fn chance_of(view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<Chance, Unanswered> {
    chance_among(view, allocator, job, view.placement_requests(job))
}

/// Whether a job is within its limits and fits now, by one of these requests of it.
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

/// Whether a job fits now by one of its requests; the allocator has then chosen its nodes.
fn choose_now<'a>(
    view: View<'_>,
    allocator: &mut Allocator,
    wants: impl Iterator<Item = PlacementRequest<'a>>,
) -> Result<bool, Unanswered> {
    for want in wants {
        if !view.may_fit_request(&want) {
            continue;
        }
        // One outside the kernel sees which nodes are on, and is asked once.
        let awake = view.awake().filter(|_| allocator.as_external().is_none());
        if let Some(awake) = awake
            && allocator.choose(&awake, &want, view.now())?
        {
            return Ok(true);
        }
        if allocator.choose_on(&view.state.machine, &want, view.now())? {
            return Ok(true);
        }
    }
    Ok(false)
}
