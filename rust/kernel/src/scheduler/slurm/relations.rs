//! Relations between jobs of a simulation for the controller: preemption, limits on nodes, reservations, and waiting
//! times after a preemption.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::decision::{Decision, Preemption};
use crate::index::NodeBits;
use crate::scenario::Scenario;
use crate::slurm::{Classes, Limits, Owner, Precedence, Reservation, SlurmParameters};
use crate::state::View;
use crate::workload::{JobState, PreemptionMode};

use super::remembered::KnownJob;
use super::time_limits::whole_minutes;

/// Return which jobs may preempt which.
pub(super) fn precedence(scenario: &Scenario) -> Precedence {
    scenario.preemption.as_ref().map_or_else(Precedence::default, |rules| Precedence {
        preempts: rules.preempts.clone(),
        importance: rules.importance.clone(),
        youngest_first: rules.youngest_first,
        grace_time: rules.grace_time,
    })
}

/// Return whether limits count nodes.
pub(super) fn counts_nodes(scenario: &Scenario) -> bool {
    let Some(limits) = &scenario.limits else { return false };
    (0..limits.counters_in_all() as u32).any(|counter| limits.caps_nodes(counter))
}

/// Return the preemption class of a job and the node-limiting counters that count it.
pub(super) fn classes(scenario: &Scenario, job: u32) -> Classes {
    let preemption = scenario.preemption.as_ref().map_or(0, |rules| rules.class_number(job));
    let counted = scenario.limits.as_ref().map_or_else(Vec::new, |limits| {
        limits.counters(job).iter().copied().filter(|&counter| limits.caps_nodes(counter)).collect()
    });
    Classes { preemption, counted }
}

/// Return the user, association and array of a job.
pub(super) fn owner(scenario: &Scenario, job: u32) -> Owner {
    let number = |column: &[u32]| column.get(job as usize).copied().filter(|&number| number > 0);
    let attributes = &scenario.attributes;
    Owner {
        user: number(&attributes.user),
        association: number(&attributes.association),
        array: number(&attributes.array),
    }
}

/// Return whether a waiting job is within its limits.
pub(super) fn limits(view: View<'_>, job: u32) -> Limits {
    match (view.over_limit(job), &view.scenario.limits) {
        (None, _) => Limits::Within,
        (Some((counter, _)), Some(limits)) if !limits.caps_jobs(counter) => Limits::Over,
        _ => Limits::Shut,
    }
}

/// Return the start of a running job that may be preempted, otherwise None.
pub(super) fn began(view: View<'_>, job: u32) -> Option<f64> {
    let rules = view.scenario.preemption.as_ref()?;
    let start = view.state.jobs.start_time(job);
    let may_be = start < view.now() && start + rules.exempt_time <= view.now() && !view.ends_now(job);
    may_be.then_some(start)
}

/// Return the decision that removes a preempted job.
pub(super) fn removal_decision(view: View<'_>, job: u32) -> Decision {
    let mode = view.scenario.preemption.as_ref().map(|rules| rules.mode);
    if mode == Some(PreemptionMode::Cancel) {
        return Decision::Kill(job);
    }
    Decision::Preempt { job, keep: Preemption::Requeue }
}

/// Return the current or next occurrence of each reservation, by number, as seen by a call at this instant. Calls use
/// whole seconds: times are reduced by the fraction of the current second.
pub(super) fn reservations(view: View<'_>, nodes: usize) -> Vec<Reservation> {
    let Some(known) = view.state.occurrences(view.scenario) else { return Vec::new() };
    let now = view.now();
    let fraction = now - now.floor();
    (0..known.count())
        .map(|number| {
            let (begin, end) = known.next_span(number, now).unwrap_or((f64::NEG_INFINITY, f64::NEG_INFINITY));
            let members = known.nodes(number).ranges_from(0).flatten();
            Reservation { nodes: NodeBits::of(nodes, members), begin: begin - fraction, end: end - fraction }
        })
        .collect()
}

/// Return whether a waiting job that starts now ends within its reservation. Its time limit is rounded up to whole
/// minutes as in Slurm.
fn is_in_time(view: View<'_>, job: u32) -> bool {
    let Some(known) = view.state.occurrences(view.scenario) else { return true };
    let own = view.scenario.calendar.as_deref().and_then(|calendar| calendar.used_by(job));
    let limit = whole_minutes(view.state.jobs.time_limit(job));
    known.of(own, limit).is_in_time(view.now())
}

/// Return from when a waiting job comes too late for its reservation, which has begun; None if it uses none, and −∞ if
/// it has not begun.
pub(super) fn runs_out_at(view: View<'_>, job: u32) -> Option<f64> {
    let known = view.state.occurrences(view.scenario)?;
    let own = view.scenario.calendar.as_deref().and_then(|calendar| calendar.used_by(job))?;
    let limit = whole_minutes(view.state.jobs.time_limit(job));
    let span = known.next_span(own as usize, view.now()).filter(|&(begin, _)| begin <= view.now());
    Some(span.map_or(f64::NEG_INFINITY, |(_, end)| end - limit))
}

/// Return the begin of the current occurrence of a job's reservation; −∞ if it uses none.
fn begin_of_own(view: View<'_>, job: u32) -> f64 {
    let own = view.scenario.calendar.as_deref().and_then(|calendar| calendar.used_by(job));
    own.zip(view.state.occurrences(view.scenario))
        .and_then(|(own, known)| known.next_span(own as usize, view.now()))
        .map_or(f64::NEG_INFINITY, |(begin, _)| begin)
}

/// Return whether a waiting job may become too late for its reservation.
pub(super) fn may_run_out(view: View<'_>, job: u32) -> bool {
    let own = view.scenario.calendar.as_deref().and_then(|calendar| calendar.used_by(job));
    own.zip(view.state.occurrences(view.scenario))
        .and_then(|(own, known)| known.next_span(own as usize, view.now()))
        .is_some_and(|(_, end)| end.is_finite())
}

/// Return whether a reservation begins or ends later.
pub(super) fn calendar_goes_on(view: View<'_>) -> bool {
    let (now, Some(known)) = (view.now(), view.state.occurrences(view.scenario)) else { return false };
    let turns = |(begin, end): (f64, f64)| begin > now || end.is_finite();
    (0..known.count()).any(|number| known.next_span(number, now).is_some_and(turns))
}

/// Return whether a reservation begins or ends at this instant.
pub(super) fn calendar_turns(view: View<'_>) -> bool {
    let known = view.state.occurrences(view.scenario);
    known.is_some_and(|known| known.next_from(view.now()) <= view.now())
}

/// Waiting jobs: when they became eligible, when they may start again, and when others were preempted for them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Waiting {
    /// When the first victims were preempted for a waiting job.
    first: BTreeMap<u32, f64>,
    /// When a requeued job may start again.
    again: BTreeMap<u32, f64>,
    /// Jobs that hold nodes.
    holding: BTreeSet<u32>,
    /// True if victims have left their nodes since the latest pass.
    has_left: bool,
    /// When waiting jobs entered the queue.
    entered: BTreeMap<u32, f64>,
    /// Calls that had the jobs in their queue; None if jobs do not age by calls.
    calls: Option<Calls>,
}

/// Which waiting jobs have been in the queue of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Calls {
    /// Queued jobs that have not been in the queue of any call.
    uncalled: BTreeSet<u32>,
    /// Jobs with their first call in this pass, and the time since which they had been eligible.
    called: Vec<(u32, f64)>,
    /// Time since which the first task of each array has been eligible.
    arrays: BTreeMap<u32, f64>,
}

impl Waiting {
    pub fn new(ages_by_calls: bool) -> Self {
        Self { calls: ages_by_calls.then(Calls::default), ..Self::default() }
    }

    /// Return whether jobs age from the first call that has them in its queue.
    pub fn ages_by_calls(&self) -> bool {
        self.calls.is_some()
    }

    /// Record the queue of a call that begins.
    pub fn call(&mut self, view: View<'_>) {
        let Some(mut calls) = self.calls.take() else { return };
        let first = calls.called.len();
        calls.uncalled.retain(|&job| {
            let is_called = self.may_start(view, job);
            if is_called {
                let eligible = self.eligible_in_calls(view, job);
                calls.called.push((job, eligible));
                if let Some(array) = self.array_of(view, job) {
                    let since = calls.arrays.entry(array).or_insert(eligible);
                    *since = since.min(eligible);
                }
            }
            !is_called
        });
        for (job, eligible) in &mut calls.called[first..] {
            if let Some(array) = self.array_of(view, *job) {
                *eligible = calls.arrays[&array].max(view.scenario.job(*job).submit_time);
            }
        }
        self.calls = Some(calls);
    }

    /// Return the time since which a job has been eligible for a call at this instant.
    pub fn eligible_in_calls(&self, view: View<'_>, job: u32) -> f64 {
        self.eligible_since(job).max(begin_of_own(view, job))
    }

    /// Return what is remembered of jobs, and since when the first task of each array has been eligible.
    pub fn remembered(&self) -> (BTreeMap<u32, KnownJob>, Vec<(u32, f64)>) {
        let mut jobs: BTreeMap<u32, KnownJob> = BTreeMap::new();
        let mut known = |job: u32, set: &dyn Fn(&mut KnownJob)| {
            set(jobs.entry(job).or_insert(KnownJob { job, ..KnownJob::default() }));
        };
        self.entered.iter().for_each(|(&job, &time)| known(job, &|each| each.entered = Some(time)));
        self.again.iter().for_each(|(&job, &time)| known(job, &|each| each.again = Some(time)));
        self.first.iter().for_each(|(&job, &time)| known(job, &|each| each.victims = Some(time)));
        let Some(calls) = &self.calls else { return (jobs, Vec::new()) };
        calls.uncalled.iter().for_each(|&job| known(job, &|each| each.uncalled = true));
        (jobs, calls.arrays.iter().map(|(&array, &since)| (array, since)).collect())
    }

    /// Continue with what was remembered of jobs and arrays.
    pub fn recall(&mut self, jobs: &[KnownJob], arrays: &[(u32, f64)]) {
        let times = |of: fn(&KnownJob) -> Option<f64>| -> BTreeMap<u32, f64> {
            jobs.iter().filter_map(|each| Some((each.job, of(each)?))).collect()
        };
        self.entered = times(|each| each.entered);
        self.again = times(|each| each.again);
        self.first = times(|each| each.victims);
        if let Some(calls) = &mut self.calls {
            calls.uncalled = jobs.iter().filter(|each| each.uncalled).map(|each| each.job).collect();
            calls.arrays = arrays.iter().copied().collect();
        }
    }

    /// Set since when waiting jobs have been eligible.
    pub fn recall_eligible(&mut self, jobs: &[(u32, f64)]) {
        for (job, time) in jobs {
            if let Some(entered) = self.entered.get_mut(job) {
                *entered = *time;
            }
        }
    }

    /// Forget that jobs wait or run, except these.
    pub fn keep(&mut self, waits: impl Fn(u32) -> bool, runs: impl Fn(u32) -> bool) {
        self.entered.retain(|&job, _| waits(job));
        self.holding.retain(|&job| runs(job));
        if let Some(calls) = &mut self.calls {
            calls.uncalled.retain(|&job| waits(job));
        }
    }

    /// Return the jobs in the queue.
    pub fn queued(&self) -> Vec<u32> {
        self.entered.keys().copied().collect()
    }

    /// Return the jobs that hold nodes.
    pub fn holding(&self) -> &BTreeSet<u32> {
        &self.holding
    }

    /// Return the array with which a job ages; None after it has been requeued.
    fn array_of(&self, view: View<'_>, job: u32) -> Option<u32> {
        owner(view.scenario, job).array.filter(|_| !self.again.contains_key(&job))
    }

    /// Remove and return the jobs with their first call in this pass, and the time since which they had been eligible.
    pub fn take_called(&mut self) -> Vec<(u32, f64)> {
        self.calls.as_mut().map(|calls| std::mem::take(&mut calls.called)).unwrap_or_default()
    }

    /// Return whether a job is in the queue and may start now.
    pub fn may_start(&self, view: View<'_>, job: u32) -> bool {
        let waits =
            view.state.jobs.state(job) == JobState::Queued && !view.state.queue.on_hold.contains(&job);
        waits && is_in_time(view, job) && self.is_eligible(job, view.now())
    }

    /// Record that others are preempted for a job; the jobs `leaving` leave their nodes now.
    pub fn preempts(&mut self, job: u32, leaving: &[u32], now: f64, settings: &Delays) {
        self.first.entry(job).or_insert(now);
        self.has_left |= !leaving.is_empty();
        let again = now + settings.requeue_delay;
        self.again.extend(leaving.iter().map(|&victim| (victim, again)));
    }

    /// Return whether victims have left their nodes since the latest pass, and reset the flag.
    pub fn take_left(&mut self) -> bool {
        std::mem::take(&mut self.has_left)
    }

    /// Add jobs to the queue; those that held nodes have been requeued.
    pub fn arrive(&mut self, jobs: &[u32], now: f64, settings: &Delays) {
        for &job in jobs {
            self.entered.insert(job, now);
            if let Some(calls) = &mut self.calls {
                calls.uncalled.insert(job);
            }
            if self.holding.remove(&job) {
                self.again.entry(job).or_insert(now + settings.requeue_delay);
            }
        }
    }

    /// Remove ended jobs.
    pub fn end(&mut self, jobs: &[u32]) {
        for job in jobs {
            self.holding.remove(job);
            if let Some(calls) = &mut self.calls {
                calls.uncalled.remove(job);
            }
        }
    }

    /// Return whether no waiting job has to wait for a requeue delay.
    pub fn all_are_eligible(&self) -> bool {
        self.again.is_empty()
    }

    /// Return whether a waiting job was requeued.
    pub fn is_requeued(&self, job: u32) -> bool {
        self.again.contains_key(&job)
    }

    /// Return the second since which a waiting job has been eligible.
    pub fn eligible_since(&self, job: u32) -> f64 {
        let time = |times: &BTreeMap<u32, f64>| times.get(&job).copied().unwrap_or(f64::NEG_INFINITY);
        time(&self.entered).max(time(&self.again)).floor()
    }

    /// Record the start of a job.
    pub fn starts(&mut self, job: u32) {
        self.entered.remove(&job);
        self.first.remove(&job);
        self.again.remove(&job);
        self.holding.insert(job);
    }

    /// Return whether others may be preempted for a job at this whole second.
    pub fn may_preempt(&self, job: u32, now: f64, settings: &Delays) -> bool {
        self.first.get(&job).is_none_or(|&first| first.floor() <= now - settings.notice)
    }

    /// Return whether the job's requeue delay, if any, is over.
    pub fn is_eligible(&self, job: u32, now: f64) -> bool {
        self.again.get(&job).is_none_or(|&again| again <= now)
    }

    /// Return whether some job has to wait for a requeue delay, or before it may preempt again.
    pub fn is_pending(&self, now: f64, settings: &Delays) -> bool {
        let waits = self.again.values().any(|&again| again > now);
        waits || self.first.values().any(|&first| first.floor() > now.floor() - settings.notice)
    }
}

/// Waiting times after a preemption or a requeue, seconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Delays {
    requeue_delay: f64,
    /// `KillWait` + `MessageTimeout`.
    notice: f64,
}

impl Delays {
    pub fn of(parameters: &SlurmParameters) -> Self {
        Self {
            requeue_delay: parameters.requeue_delay,
            notice: parameters.kill_wait + parameters.message_timeout,
        }
    }
}
