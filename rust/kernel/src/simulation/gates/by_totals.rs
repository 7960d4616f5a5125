//! Looks at gates where the free amount of the only resource decides which jobs fit (S15).
//!
//! One walk over the numbers of the q waiting jobs finds those whose gate may have changed: O(q), and O(q) for a job that
//! starts or ends, a few operations on arrays each. If nothing has changed but arrivals, only these are examined. The head
//! of EASY costs O(log r) for r running jobs, once for as long as the same jobs run, and what would delay it O(log r) for
//! each new interval. The rules with several reservations find out themselves which of them a job would delay.
use crate::cluster::NodeSetId;
use crate::record::{
    ByTotals, EARLIER, Fit, Found, Gate, GateKind, GateLog, NEW, Numbers, OVERTAKERS, PromiseLog, STOPPER,
    Waiting,
};
use crate::scenario::JobCheck;
use crate::scheduler::Scheduler;
use crate::state::{TotalHead, View};

use super::{Feed, JobKind, Look, Simulation, holds_one_resource, kind_of, submission};

/// What keeps the jobs that fit, under rules with one reservation at most.
struct Keeps<'a> {
    view: View<'a>,
    /// The job at which the pass stopped, if the rule stops at one.
    stopper: Option<u32>,
    /// The head of EASY.
    head: Option<TotalHead>,
}

impl<F: Feed> Simulation<F> {
    /// Return whether a free amount decides which jobs fit, for jobs that have a need.
    pub(super) fn has_one_total(&self) -> bool {
        let (scenario, state) = (&self.scenario, &self.state);
        let has_rule = match self.scheduler {
            Scheduler::Blocking(_)
            | Scheduler::FirstFit(_)
            | Scheduler::Easy(_)
            | Scheduler::EasyReservations(_)
            | Scheduler::Conservative(_) => true,
            Scheduler::Slurm(_) | Scheduler::Discipline(_) | Scheduler::External(_) | Scheduler::Reject => {
                false
            }
        };
        has_rule
            && holds_one_resource(self.view())
            && self.allocator.as_external().is_none()
            && self.allocator.is_free_to_spread()
            && scenario.job_check == JobCheck::Nodes
            && scenario.calendar.is_none()
            && scenario.limits.is_none()
            && scenario.preemption.is_none()
            && scenario.sleep.is_none()
            && state.limited.is_none()
            && !state.is_stopped
            && !state.machine.has_unavailable()
    }

    /// Return the head of EASY after a pass; None if there is none, or if more than one total decides when it starts.
    fn total_head(&mut self, known: Option<TotalHead>) -> Option<TotalHead> {
        let job = self.state.queue.first()?.job;
        let need = needed(self.view(), job)?;
        self.state.complete_expected_ends(&self.scenario);
        Some(TotalHead::of(self.view(), job, need, known))
    }

    /// Note the promised start of the head of EASY, where one amount decides when it starts. Return false, with nothing done,
    /// under other rules, or if more amounts decide.
    pub(super) fn note_total_head(&mut self, log: &mut PromiseLog) -> bool {
        if !matches!(self.scheduler, Scheduler::Easy(_)) {
            return false;
        }
        let known = self.recorders.gates.as_mut().and_then(|gates| gates.memo.head.take());
        let head = self.total_head(known);
        if head.is_none() && !self.state.queue.is_empty() {
            return false;
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        log.look(view.now(), |job| view.is_in_queue(job));
        let promised = head.as_ref().map(|head| (head.job, head.shadow_time(view)));
        log.note_only(promised.filter(|&(job, start)| start < f64::INFINITY && view.is_in_queue(job)));
        if let Some(gates) = &mut self.recorders.gates {
            gates.memo.head = head;
        }
        true
    }

    /// Examine the jobs of the queue by what each needs. Return false, with nothing done, under rules with several
    /// reservations, or if EASY's head has no need.
    pub(super) fn look_at_totals(&mut self, log: &mut GateLog) -> bool {
        let has_several =
            matches!(self.scheduler, Scheduler::EasyReservations(_) | Scheduler::Conservative(_));
        if has_several {
            return false;
        }
        let is_easy = matches!(self.scheduler, Scheduler::Easy(_));
        let head = if is_easy { self.total_head(log.memo.head.take()) } else { None };
        if is_easy && head.is_none() {
            return false;
        }
        let view = self.view();
        let is_blocking = matches!(self.scheduler, Scheduler::Blocking(_));
        let stopper = if is_blocking { first_within_limits(view) } else { None };
        let former = log.memo.ahead.first().copied().flatten();
        let ahead = [stopper, head.as_ref().map(|head| head.job)];
        let is_full = log.memo.begin(view.state.machine.changes(), ahead.into_iter(), false, false);
        log.memo.was_behind_one = false;
        if let Some(job) = stopper {
            log.stop_at(job, view.now());
        }
        let mut keeps = Keeps { view, stopper, head };
        // Behind one job all that fit have the same gate.
        let stays = stopper.is_some() && former.is_some();
        walk(log, view, is_full, stays, |log, at| keeps.examine(log, at));
        if stays && is_full {
            for job in [former, stopper].into_iter().flatten() {
                let key = submission(view, job);
                let place = log.waiting.binary_search_by_key(&key, |each| each.submission);
                let fits =
                    |at: &usize| log.waiting[*at].gate.is_some_and(|gate| gate.kind != GateKind::Resources);
                if let Some(at) = place.ok().filter(fits) {
                    keeps.examine(log, at);
                }
            }
        }
        log.memo.head = keeps.head;
        true
    }
}

/// Return the first job of the queue that is within its limits.
pub(super) fn first_within_limits(view: View<'_>) -> Option<u32> {
    let queue = &view.state.queue;
    let mut rank = queue.first();
    // The pass has not seen the jobs that its own starts have let into the queue.
    let is_new = |job: u32| queue.arrived.contains(&job);
    while let Some(each) = rank.filter(|each| is_new(each.job) || view.over_limit(each.job).is_some()) {
        rank = queue.first_matching(Some(&each), &|_| true);
    }
    rank.map(|rank| rank.job)
}

/// Return the amount of the only resource that a job needs if it decides whether the job fits.
pub(super) fn needed(view: View<'_>, job: u32) -> Option<i64> {
    let &[request] = view.scenario.alternatives(job) else { return None };
    let decides = view.scenario.requests.limiting_resource(request) == Some(0);
    decides.then(|| view.placement_request_of(job, request).need(0))
}

/// Make the numbers of the waiting jobs, unless they are known. Return whether one amount decides for all of them. O(1),
/// or O(jobs that wait and run).
pub(super) fn bring_up_to_date(view: View<'_>, log: &mut GateLog) -> bool {
    if log.memo.totals.is_none() {
        let mut totals = ByTotals::beside(&log.running);
        for (at, each) in log.waiting.iter().enumerate() {
            let need = needed(view, each.job).filter(|_| !each.is_late());
            let Some(need) = need else { return false };
            totals.enter(at, need, each.submission, &log.running);
        }
        log.memo.totals = Some(totals);
    }
    true
}

/// Record the gates of jobs that do not fit, and examine those that do; all of them at a full look, and otherwise those of
/// which nothing is known. Jobs that still fit are left out if their gate `stays`.
fn walk(
    log: &mut GateLog,
    view: View<'_>,
    is_full: bool,
    stays: bool,
    mut examine: impl FnMut(&mut GateLog, usize),
) {
    let Some(mut totals) = log.memo.totals.take() else { return };
    let free = view.state.machine.total_free_in(NodeSetId::ALL)[0];
    let count = if is_full || !totals.knows_all() { totals.len() } else { 0 };
    for at in 0..count {
        let known = totals.known(at);
        if known != Found::New && !is_full {
            continue;
        }
        let found = totals.find(at, free);
        if found == known && (found != Found::Fits || stays) {
            continue;
        }
        totals.know(at, found);
        if found == Found::Fits {
            examine(log, at);
            continue;
        }
        let detail = if found == Found::Overtaken { OVERTAKERS } else { EARLIER };
        let gate = Gate { kind: GateKind::Resources, subject: 0, detail };
        if log.waiting[at].gate != Some(gate) {
            let numbers = Numbers { asked: totals.need(at), free, ..Numbers::default() };
            log.change(at, gate, numbers, view.now());
        }
    }
    log.memo.totals = Some(totals);
}

impl Keeps<'_> {
    /// Record the gate of a job that fits.
    fn examine(&mut self, log: &mut GateLog, at: usize) {
        let each = log.waiting[at];
        let gate = self.gate_of(&each);
        log.memo.is_unsettled |= gate.kind == GateKind::NotLookedAt;
        if each.gate != Some(gate) {
            let numbers = self.numbers_of(&each, gate);
            log.change(at, gate, numbers, self.view.now());
        }
    }

    fn gate_of(&mut self, each: &Waiting) -> Gate {
        if self.stopper.is_some_and(|stopper| stopper != each.job) {
            return Gate { subject: STOPPER, ..Gate::of(GateKind::Order) };
        }
        let view = self.view;
        let none = Gate::of(GateKind::NotLookedAt);
        let Some(head) = &mut self.head else { return none };
        let is_late = view.now() + view.state.jobs.estimate(each.job) > head.shadow_time(view);
        if is_late && head.is_delayed_by(view, view.need(each.job, 0)) {
            Gate { subject: head.job, ..Gate::of(GateKind::WouldDelay) }
        } else {
            none
        }
    }

    fn numbers_of(&self, each: &Waiting, gate: Gate) -> Numbers {
        let Some(head) = self.head.as_ref().filter(|_| gate.kind == GateKind::WouldDelay) else {
            return Numbers::default();
        };
        let (view, now) = (self.view, self.view.now());
        let (end, shadow) = (now + view.state.jobs.estimate(each.job), head.shadow_time(view));
        let beside = head.time_beside(view, view.need(each.job, 0));
        let delayed = if beside <= end { beside } else { end.max(shadow) };
        Numbers { delay: delayed - shadow, hole: shadow - now, ..Numbers::default() }
    }
}

impl Look<'_> {
    /// Examine the jobs of the queue by what each needs.
    pub(super) fn by_totals(&mut self, log: &mut GateLog, is_full: bool) {
        walk(log, self.view, is_full, false, |log, at| {
            self.know_kind(log, at);
            let gate = self.of_rule(&log.waiting[at]);
            self.note(log, at, gate, None);
        });
    }

    /// Give a job the number of its kind, if it has none, or if events may have changed its limit.
    pub(super) fn know_kind(&mut self, log: &mut GateLog, at: usize) {
        let each = log.waiting[at];
        if each.kind == NEW || self.view.scenario.calendar.is_some() {
            let apart = if each.is_late() { each.job + 1 } else { 0 };
            log.waiting[at].kind =
                log.kind_of(JobKind { apart, ..kind_of(self.view, each.job, self.controller.is_some()) });
            self.kinds.resize(log.kinds(), Fit::default());
        }
    }
}
