//! Looks at the gates of waiting jobs after passes (S15), if requested.
//!
//! Jobs with the same request and number of tasks fit alike, so that one trial decides for all of them while the machine
//! does not change; in submission order, those that would fit without overtakers are the first ones. A look at which only
//! jobs have arrived examines these; another one walks over the q waiting jobs, O(1) each, and tries each kind of job
//! once: O(1) where totals decide, and O(r) in all to sum up what overtakers hold. It examines jobs of kinds that have
//! changed, and those that fit. Where a pass stops at one job, the jobs behind it have a gate that names it; the log keeps
//! these jobs once, and jobs that fit as before are not examined. Under limits each job is examined at each look. Where
//! limits block, or partitions close, the queue is gone through in its order as the rule does.
use std::collections::BTreeMap;

use crate::cluster::{
    Availability, Machine, NodeSet, NodeSetId, NodeTasks, PlacementRequest, Profile, Request, UnreservedNodes,
};
use crate::placement::Allocator;
use crate::record::{
    Cause, EARLIER, Fit, Gate, GateKind, GateLog, JobKind, NEW, NONE, Numbers, OVERTAKERS, PREEMPTED,
    Running, SELECTION, Submission, VICTIMS, Waiting,
};
use crate::scheduler::{Contender, Delays, Scheduler, Slurm, limiting_resource};
use crate::state::{BEYOND_RESERVATION, ClosedPartitions, Reason, VICTIM};
use crate::time::{Time, ordered_bits};
use crate::workload::JobState;

use super::{Feed, InitialJob, Simulation, View};

mod by_totals;
mod controller;
mod promises;
mod rule;
mod window;

impl<F: Feed> Simulation<F> {
    /// Follow the queue after the decisions of a pass: which jobs are there, and which have started.
    #[inline(never)]
    pub(super) fn follow_queue(&mut self) {
        let Some(mut log) = self.recorders.gates.take() else { return };
        let mut promises = self.recorders.promises.take();
        let view = self.view();
        let now = view.now();
        if std::mem::take(&mut log.begins) {
            for at in 0..log.waiting.len() {
                let job = log.waiting[at].job;
                log.waiting[at].entered = now;
                if let Some(promises) = &mut promises {
                    promises.happens(Cause::Arrival, Some(job), now);
                }
            }
        }
        for &job in view.state.queue.arrived.iter().filter(|&&job| view.is_in_queue(job)) {
            let need = by_totals::needed(view, job);
            if let (true, Some(promises)) = (log.enter(submission(view, job), job, now, need), &mut promises)
            {
                promises.happens(Cause::Arrival, Some(job), now);
            }
        }
        for &job in &view.state.started {
            log.remove(submission(view, job), now);
        }
        let on_hold = &view.state.queue.on_hold;
        if log.waiting.len() != view.state.queue.len() {
            let is_queued = |job| view.state.jobs.state(job) == JobState::Queued && !on_hold.contains(&job);
            log.leave(now, |each| is_queued(each.job));
        }
        for &job in &view.state.ended {
            log.end(submission(view, job));
        }
        for &job in &view.state.started {
            log.start(self.running(job));
        }
        (self.recorders.gates, self.recorders.promises) = (Some(log), promises);
    }

    /// Describe a job that runs.
    fn running(&self, job: u32) -> Running {
        let view = self.view();
        let counts = holds_one_resource(view) && !self.scheduler.is_external();
        let held = if counts { held_in(view, job, NodeSetId::ALL, 0) } else { 0 };
        Running { submission: submission(view, job), job, start: view.state.jobs.start_time(job), held }
    }

    /// Begin in the middle of a run: jobs have waited before, until the first pass or until they started.
    pub(super) fn begin_gates(&mut self, given: &[InitialJob]) {
        let Some(mut log) = self.recorders.gates.take() else { return };
        let view = self.view();
        for each in given.iter().filter(|each| each.state != JobState::Queued) {
            let until = if each.start_time.is_nan() { each.end_time } else { each.start_time };
            log.waited_before(submission(view, each.job), each.job, until);
        }
        let jobs = 0..view.state.jobs.len() as u32;
        for job in jobs.filter(|&job| view.state.jobs.state(job) == JobState::Queued) {
            log.begin(submission(view, job), job, view.is_in_queue(job));
        }
        for job in view.state.running.jobs().into_iter().filter(|&job| view.state.holds_nodes(job)) {
            log.start(self.running(job));
        }
        self.recorders.gates = Some(log);
    }

    /// Record the gates of the waiting jobs.
    #[inline(never)]
    pub(super) fn look_at_gates(&mut self) {
        let has_one_total = self.has_one_total();
        self.note_promises(has_one_total);
        let Some(mut log) = self.recorders.gates.take() else { return };
        let now = self.state.now;
        if !self.state.queue.on_hold.is_empty() || log.has_outside() {
            let view = self.view();
            let outside = view.state.queue.on_hold.iter();
            log.look_outside(outside.map(|&job| (job, Gate::of(outside_kind(view.need_of(job))))), now);
        }
        if log.waiting.is_empty() {
            log.memo.changes = None;
        } else {
            self.look_at_queue(&mut log, has_one_total);
        }
        if let Scheduler::Slurm(_) = &self.scheduler {
            let turn = controller::next_turn(self.view(), &log);
            if let Scheduler::Slurm(rule) = &mut self.scheduler {
                rule.seen(turn);
            }
        }
        self.recorders.gates = Some(log);
    }

    /// Return how the scheduler goes through the queue.
    fn manner(&self) -> Manner {
        // A discipline selects sets of jobs: it has no order or reservation that would keep a single one.
        let selects = self.scheduler.is_external() || matches!(self.scheduler, Scheduler::Discipline(_));
        let outside = if selects {
            Some(GateKind::Policy)
        } else {
            self.allocator.as_external().map(|_| GateKind::Allocator)
        };
        let is_blocking = matches!(self.scheduler, Scheduler::Blocking(_)) && outside.is_none();
        let has_partitions = self.scenario.node_sets.partitions().count() > 1;
        let some_block = self.scenario.limits.as_ref().is_some_and(|limits| limits.some_block());
        let blocks = some_block && !self.scheduler.plans_to_the_end() && outside.is_none();
        Manner {
            outside,
            is_blocking,
            in_order: blocks || (is_blocking && has_partitions),
            // Without partitions and limits, one job at a time stops passes.
            is_stopper_shared: is_blocking && !has_partitions && self.scenario.limits.is_none(),
        }
    }

    fn look_at_queue(&mut self, log: &mut GateLog, has_one_total: bool) {
        if log.running.len() != self.state.running.len() || self.agenda.releases_early {
            drop_ended(self.view(), log);
        }
        // The running jobs are in the log until the look begins.
        let by_totals = has_one_total && by_totals::bring_up_to_date(self.view(), log);
        if by_totals && self.look_at_totals(log) {
            return;
        }
        let manner = self.manner();
        if manner.in_order {
            self.order_queue();
        }
        // Reservations matter to jobs that fit only. Jobs over a limit may be outside the queue order.
        let some_may_fit = self.state.limited.is_some() || self.view().may_start_some();
        if some_may_fit && matches!(self.scheduler, Scheduler::Easy(_) | Scheduler::EasyReservations(_)) {
            self.state.complete_expected_ends(&self.scenario);
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        let running = std::mem::take(&mut log.running);
        let controller = if let Scheduler::Slurm(rule) = &self.scheduler { Some(&**rule) } else { None };
        let whole = controller::whole_requests(view, controller, std::mem::take(&mut log.memo.whole));
        let mut look = Look {
            view,
            manner,
            controller,
            whole: &whole,
            allocator: &self.allocator,
            delays: (some_may_fit && manner.outside.is_none())
                .then(|| Delays::of(&self.scheduler, view))
                .flatten(),
            stopper: None,
            former_stopper: log.memo.ahead.first().copied().flatten(),
            running: &running,
            first: log.waiting.first().map(|each| each.submission),
            // A scheduler outside the kernel may resize running jobs.
            holds_one_resource: holds_one_resource(view) && !self.scheduler.is_external(),
            held_behind: None,
            kinds: Vec::new(),
            epoch: 0,
            number: 0,
            placement: Vec::new(),
            contenders: BTreeMap::new(),
            plan_copy: None,
        };
        let is_full = look.begin(log);
        if look.manner.in_order {
            look.in_order(log);
        } else if by_totals {
            look.by_totals(log, is_full);
        } else {
            log.memo.totals = None;
            look.by_submission(log, is_full);
            look.by_findings(log);
        }
        log.memo.fits = std::mem::take(&mut look.kinds);
        drop(look);
        log.running = running;
        log.memo.whole = whole;
    }
}

/// Return the position of a job in the order of submissions.
fn submission(view: View<'_>, job: u32) -> Submission {
    let job = view.scenario.job(job);
    (Time(job.submit_time), job.row)
}

/// Return the kind of a waiting job, which calls of Slurm's controller start or passes.
fn kind_of(view: View<'_>, job: u32, in_calls: bool) -> JobKind {
    let row = view.scenario.job(job);
    let calendar = view.scenario.calendar.as_deref();
    let limit = || if in_calls { Slurm::limit_in_calls(view, job) } else { view.state.jobs.time_limit(job) };
    JobKind {
        request: row.request,
        alternatives: view.scenario.alternatives.list_of(job),
        tasks: row.tasks,
        time_limit: calendar.map_or(0, |_| ordered_bits(limit())),
        reservation: own_reservation(view, job),
        apart: 0,
    }
}

/// Return the reservation that a job uses, or [`NONE`].
fn own_reservation(view: View<'_>, job: u32) -> u32 {
    view.scenario.calendar.as_deref().and_then(|calendar| calendar.used_by(job)).unwrap_or(NONE)
}

/// Return the gate of a job outside the queue.
fn outside_kind(reason: Reason) -> GateKind {
    match reason {
        Reason::Dependency => GateKind::Dependency,
        Reason::BeginTime => GateKind::BeginTime,
        Reason::ArrayLimit => GateKind::ArrayLimit,
        _ => GateKind::Held,
    }
}

/// Remove the jobs from the running jobs of the log that hold their nodes no more, or have started again.
fn drop_ended(view: View<'_>, log: &mut GateLog) {
    let state = view.state;
    let before = log.running.len();
    log.running.retain(|each| {
        Time(state.jobs.start_time(each.job)) == Time(each.start) && state.holds_nodes(each.job)
    });
    if log.running.len() < before {
        log.memo.totals = None;
    }
}

/// How a scheduler goes through the queue.
#[derive(Clone, Copy)]
struct Manner {
    /// The gate of jobs that fit, if a discipline or something outside the kernel decides.
    outside: Option<GateKind>,
    /// True if a job that does not fit stops the pass.
    is_blocking: bool,
    /// True if jobs close nodes to those behind them, so that the queue has to be gone through in its order.
    in_order: bool,
    /// True if the log has the job at which a pass stopped once for all jobs behind it, throughout the run.
    is_stopper_shared: bool,
}

/// A job that closed nodes to those behind it.
struct Closing {
    job: u32,
    /// The limit that did so, or [`NONE`].
    limit: u32,
    /// All nodes that are closed behind it.
    nodes: NodeSet,
}

/// A look at the jobs of the queue.
struct Look<'a> {
    view: View<'a>,
    manner: Manner,
    allocator: &'a Allocator,
    /// Slurm's controller, if it schedules.
    controller: Option<&'a Slurm>,
    /// The requests for whole nodes, if all jobs get these.
    whole: &'a [Request],
    delays: Option<Delays<'a>>,
    /// The job at which the pass stopped, if it stops at one.
    stopper: Option<u32>,
    /// The one of the latest look.
    former_stopper: Option<u32>,
    /// The running jobs by submission.
    running: &'a [Running],
    /// The submission of the first waiting job.
    first: Option<Submission>,
    holds_one_resource: bool,
    /// The running jobs that were submitted after the first waiting one, the last first, each with what it and those
    /// before it hold of the only resource; None until it is asked for.
    held_behind: Option<Vec<(i64, Submission)>>,
    /// Results of trials by kind of job.
    kinds: Vec<Fit>,
    epoch: u64,
    /// Counts looks.
    number: u64,
    placement: Vec<NodeTasks>,
    /// By kind of job, where it would start beside a plan.
    contenders: BTreeMap<u32, Contender<'a>>,
    /// A copy of the profile of the plan, for trials.
    plan_copy: Option<Profile>,
}

impl Look<'_> {
    /// Compare with the latest look. Return whether gates that are known may have changed.
    fn begin(&mut self, log: &mut GateLog) -> bool {
        let in_order = self.manner.in_order;
        let state = self.view.state;
        if self.manner.is_blocking && !in_order {
            self.stopper = by_totals::first_within_limits(self.view);
        }
        let heads = self.delays.as_ref().map_or_else(Vec::new, Delays::heads);
        let ahead = || std::iter::once(self.stopper).chain(heads.iter().copied());
        // Of several reservations, another one may be the first that a job would delay as time goes on.
        let has_several = matches!(self.delays, Some(Delays::Several(_) | Delays::Planned(_)));
        let memo = &mut log.memo;
        let varies = in_order
            || has_several
            || state.is_stopped
            || state.limited.is_some()
            || state.sleep.is_some()
            || self.view.scenario.calendar.is_some();
        let is_full = memo.begin(state.machine.changes(), ahead(), varies, state.is_stopped);
        (self.epoch, self.number) = (memo.epoch, memo.look);
        self.kinds = std::mem::take(&mut memo.fits);
        self.kinds.resize(log.kinds(), Fit::default());
        is_full
    }

    /// Examine the jobs by submission: those without a gate, or those with one that may have changed.
    ///
    /// Behind the one job at which a pass stopped, only those of kinds that fit now but did not, or no longer fit.
    fn by_submission(&mut self, log: &mut GateLog, is_full: bool) {
        let view = self.view;
        let each = view.state.limited.is_some();
        let stopper = self.stopper.filter(|_| self.manner.is_stopper_shared && !view.state.is_stopped);
        if let Some(job) = stopper {
            log.stop_at(job, view.now());
        }
        let was_behind_one = std::mem::replace(&mut log.memo.was_behind_one, stopper.is_some());
        let is_behind_one = stopper.is_some() && was_behind_one && view.scenario.calendar.is_none();
        for at in 0..log.marks.len() {
            let kind = log.marks[at];
            let is_known = kind != NEW
                && !(is_full && (each || self.has_changed(kind, &log.waiting[at], is_behind_one)));
            if !is_known {
                self.examine(log, at);
            }
        }
        if is_full && is_behind_one {
            for job in [self.former_stopper, stopper].into_iter().flatten() {
                self.examine_job(log, job);
            }
        }
    }

    /// Examine a job, if it waits.
    fn examine_job(&mut self, log: &mut GateLog, job: u32) {
        let key = submission(self.view, job);
        if let Ok(at) = log.waiting.binary_search_by_key(&key, |each| each.submission) {
            self.examine(log, at);
        }
    }

    fn examine(&mut self, log: &mut GateLog, at: usize) {
        let gate = match self.of_job(log, at) {
            Some(gate) => gate,
            None => self.of_rule(&log.waiting[at]),
        };
        self.note(log, at, gate, None);
    }

    /// Return whether gates of jobs of a kind may have changed since the latest look.
    fn has_changed(&mut self, kind: u32, each: &Waiting, is_behind_one: bool) -> bool {
        if self.kinds[kind as usize].epoch != self.epoch {
            self.fit(each);
        }
        let fit = &self.kinds[kind as usize];
        fit.has_changed || (fit.gate.is_none() && !is_behind_one)
    }

    /// Examine the jobs in the order of the queue, and close what the rule closes.
    fn in_order(&mut self, log: &mut GateLog) {
        let mut allocator = self.allocator.clone();
        let (mut closed, mut closings) = (ClosedPartitions::default(), Vec::<Closing>::new());
        for job in self.view.state.queue.jobs() {
            let key = submission(self.view, job);
            let Ok(at) = log.waiting.binary_search_by_key(&key, |each| each.submission) else { continue };
            let gate = match self.of_job(log, at) {
                Some(gate) => gate,
                None => self.of_rule_behind(&log.waiting[at], &closed, &closings),
            };
            self.note(log, at, gate, Some(&closed));
            if closed.shut_out(self.view, job) {
                continue;
            }
            let limit = match self.view.over_limit(job) {
                Some((counter, true)) => {
                    closed.close_connected(self.view, job);
                    self.view.limit_of(counter)
                }
                None if self.manner.is_blocking && !self.fits_behind(job, &closed) => {
                    closed.close(self.view, &mut allocator, job);
                    NONE
                }
                _ => continue,
            };
            closings.push(Closing { job, limit, nodes: closed.nodes().clone() });
        }
    }

    /// Record a gate if it differs from the one before.
    fn note(&mut self, log: &mut GateLog, at: usize, gate: Gate, closed: Option<&ClosedPartitions>) {
        log.memo.is_unsettled |= gate.kind == GateKind::NotLookedAt && self.controller.is_none();
        if log.marks[at] == NEW {
            log.marks[at] = log.waiting[at].kind;
        }
        if log.waiting[at].gate != Some(gate) {
            let numbers = self.numbers(&log.waiting[at], gate, closed);
            log.change(at, gate, numbers, self.view.now());
        }
    }

    /// Return the gate of a job by its limits and the free amounts; None if it fits.
    fn of_job(&mut self, log: &mut GateLog, at: usize) -> Option<Gate> {
        self.know_kind(log, at);
        let view = self.view;
        let job = log.waiting[at].job;
        if let Some(gate) = self.controller.and_then(|rule| controller::outside_calls(view, rule, job)) {
            return Some(gate);
        }
        if let Some((counter, _)) = view.over_limit(job) {
            return Some(match counter {
                VICTIM => {
                    let promised = view.state.preemption.as_ref();
                    let other = promised.and_then(|preemption| preemption.waiting_victims.get(&job).copied());
                    Gate { subject: other.unwrap_or(NONE), ..Gate::of(GateKind::Promised) }
                }
                BEYOND_RESERVATION => {
                    Gate { subject: own_reservation(view, job), ..Gate::of(GateKind::OwnReservation) }
                }
                _ => Gate { subject: view.limit_of(counter), ..Gate::of(GateKind::Limit) },
            });
        }
        let each = &log.waiting[at];
        let fit = self.fit(each);
        let kind = fit.gate?;
        let by_overtakers = fit.below.is_some_and(|below| each.submission < below);
        let detail = match kind {
            GateKind::Resources if view.has_victims(job) => VICTIMS,
            GateKind::Resources if by_overtakers => OVERTAKERS,
            GateKind::Resources => EARLIER,
            _ => NONE,
        };
        Some(Gate { kind, subject: fit.subject, detail })
    }

    /// Return whether a job fits now.
    fn fit(&mut self, each: &Waiting) -> Fit {
        let known = self.kinds[each.kind as usize];
        if known.epoch == self.epoch {
            return known;
        }
        let mut fit: Option<Fit> = None;
        for &request in self.view.scenario.alternatives(each.job) {
            let other = self.fit_with(each.job, request);
            if fit.is_none_or(|fit| fit.gate.is_some() && (other.gate.is_none() || other.gate > fit.gate)) {
                fit = Some(other);
            }
        }
        let mut fit = Fit { epoch: self.epoch, ..fit.unwrap_or_default() };
        if fit.gate == Some(GateKind::Resources) {
            fit.below = self.fits_below(each, fit.request);
        }
        let found = |fit: Fit| (fit.gate, fit.request, fit.subject, fit.below);
        fit.has_changed = known.epoch + 1 != self.epoch || found(fit) != found(known);
        self.kinds[each.kind as usize] = fit;
        fit
    }

    fn fit_with(&self, job: u32, request: u32) -> Fit {
        let (view, none) = (self.view, Fit { request, subject: NONE, ..Fit::default() });
        let want = self.want(job, request);
        let machine = &view.state.machine;
        let closed = self.under_way(&want);
        if view.may_fit_request(&want) && self.holds(machine, &want, &closed) {
            return match self.in_the_way(&want, &closed) {
                Some((subject, _)) => Fit { gate: Some(GateKind::Window), subject, ..none },
                None => none,
            };
        }
        let is_certain = view.fits_alone(job) && closed.is_empty();
        if !is_certain && machine.most_tasks_offered(want.request, &closed) < u64::from(want.tasks) {
            return Fit { gate: Some(GateKind::Unavailable), ..none };
        }
        Fit { gate: Some(GateKind::Resources), subject: self.lacks(&want, &closed), ..none }
    }

    /// Return whether a job fits on a machine without some nodes.
    fn holds(&self, machine: &Machine, want: &PlacementRequest<'_>, closed: &NodeSet) -> bool {
        if closed.is_empty() {
            self.allocator.fits(machine, want)
        } else {
            self.allocator.fits(&UnreservedNodes::new(machine, closed), want)
        }
    }

    /// Return the resource that a job lacks most, or [`NONE`] if enough of all resources is free.
    fn lacks(&self, want: &PlacementRequest<'_>, closed: &NodeSet) -> u32 {
        let (mut most, mut found) = ((0, 1), NONE);
        for resource in 0..self.view.state.machine.resources() {
            let (asked, free) =
                (i128::from(want.need(resource)), i128::from(self.free(want, closed, resource)));
            // Greater is asked / free > most.0 / most.1, where free may be 0.
            let is_more = found == NONE || (asked * most.1 > most.0 * free && most.1 > 0);
            if free < asked && is_more {
                (most, found) = ((asked, free), resource as u32);
            }
        }
        found
    }

    /// Return the amount of a resource that is free on the nodes of a request.
    fn free(&self, want: &PlacementRequest<'_>, closed: &NodeSet, resource: usize) -> i64 {
        let machine = &self.view.state.machine;
        if closed.is_empty() {
            return machine.total_free_in(want.request.nodes)[resource];
        }
        let nodes = machine.node_sets().nodes_from(want.request.nodes, 0);
        nodes.filter(|&node| !closed.contains(node)).map(|node| machine.free_of(node)[resource]).sum()
    }

    /// Free the nodes of overtakers of a job, and of others of its kind, the last submitted first, until it fits. Return the
    /// last one that this takes: jobs of the kind before it would fit without their overtakers.
    ///
    /// Where one amount decides, the amounts are summed up once in a look: O(log r) for a kind of job, r running jobs.
    fn fits_below(&mut self, each: &Waiting, request: u32) -> Option<Submission> {
        let (view, first) = (self.view, self.first?);
        // A job that entered the queue at its submission was there when those started that were submitted after it.
        let is_late = each.is_late();
        let first = if is_late { each.submission } else { first };
        let behind = self.running.iter().rev().take_while(|other| other.submission > first);
        let mut behind = behind.filter(|other| !is_late || other.start >= each.entered).peekable();
        behind.peek()?;
        let want = self.want(each.job, request);
        let closed = self.under_way(&want);
        if closed.is_empty()
            && self.whole.is_empty()
            && let Some(resource) = limiting_resource(view, self.allocator, each.job, request)
        {
            let set = want.request.nodes;
            let mut lacking = want.need(resource) - view.state.machine.total_free_in(set)[resource];
            if self.holds_one_resource && !is_late {
                let held_behind = self.held_behind.get_or_insert_with(|| {
                    let sum = |sum: &mut i64, other: &Running| {
                        *sum += other.held;
                        Some((*sum, other.submission))
                    };
                    behind.scan(0, sum).collect()
                });
                let enough = held_behind.partition_point(|&(sum, _)| sum < lacking);
                return held_behind.get(enough).map(|&(_, submission)| submission);
            }
            let is_enough = |other: &&Running| {
                let is_known = self.holds_one_resource;
                lacking -= if is_known { other.held } else { held_in(view, other.job, set, resource) };
                lacking <= 0
            };
            return behind.find(is_enough).map(|other| other.submission);
        }
        let mut machine = view.state.machine.clone();
        let is_enough = |other: &&Running| {
            machine.give_back(view.running_request(other.job), view.state.jobs.placement(other.job));
            self.holds(&machine, &want, &closed)
        };
        behind.find(is_enough).map(|other| other.submission)
    }

    /// Return the numbers of a gate.
    fn numbers(&mut self, each: &Waiting, gate: Gate, closed: Option<&ClosedPartitions>) -> Numbers {
        let (view, none) = (self.view, Numbers::default());
        match gate.kind {
            GateKind::Resources if [SELECTION, PREEMPTED].contains(&gate.detail) => none,
            GateKind::WouldDelay if self.controller.is_some() => {
                Numbers { hole: self.hole_found(each.job), ..none }
            }
            GateKind::Unavailable | GateKind::Resources => {
                let known = self.kinds[each.kind as usize].amounts;
                let (asked, free) = known.unwrap_or_else(|| self.amounts(each, gate));
                self.kinds[each.kind as usize].amounts = Some((asked, free));
                Numbers { asked, free, ..none }
            }
            GateKind::Window => {
                let request = self.kinds[each.kind as usize].request;
                let want = self.want(each.job, request);
                let begin = self.in_the_way(&want, &self.under_way(&want)).map(|(_, begin)| begin);
                Numbers { hole: begin.map_or(f64::NAN, |begin| begin - view.now()), ..none }
            }
            GateKind::WouldDelay => {
                let delay = match self.delays {
                    Some(Delays::Heads(_)) => self.delay_of_head(each, closed),
                    Some(Delays::Planned(plan)) => self.delay_in_plan(each, plan),
                    _ => self.delay(each.job, closed),
                };
                delay.map_or(none, |delay| Numbers {
                    delay: delay.delayed - delay.start,
                    hole: delay.start - view.now(),
                    ..none
                })
            }
            _ => none,
        }
    }

    /// Return the amounts that a job asks for that does not fit, and the free ones.
    fn amounts(&self, each: &Waiting, gate: Gate) -> (i64, i64) {
        let machine = &self.view.state.machine;
        let want = self.want(each.job, self.kinds[each.kind as usize].request);
        let closed = self.under_way(&want);
        let tasks = i64::from(want.tasks);
        if gate.kind == GateKind::Unavailable {
            return (tasks, machine.most_tasks_offered(want.request, &closed) as i64);
        }
        if gate.subject != NONE {
            let resource = gate.subject as usize;
            return (want.need(resource), self.free(&want, &closed, resource));
        }
        let nodes = machine.node_sets().nodes_from(want.request.nodes, 0);
        let open = nodes.filter(|&node| !closed.contains(node));
        (tasks, open.map(|node| i64::from(machine.slots(node, want.request))).sum())
    }
}

/// Return whether a single amount says what a job holds, on any nodes.
fn holds_one_resource(view: View<'_>) -> bool {
    view.state.machine.resources() == 1 && view.scenario.node_sets.count() == 1
}

/// Return the amount of a resource that a running job holds on the nodes of a set.
fn held_in(view: View<'_>, job: u32, set: NodeSetId, resource: usize) -> i64 {
    let (request, machine) = (view.running_request(job), &view.state.machine);
    let parts = view.state.jobs.placement(job).iter();
    if set == NodeSetId::ALL && !request.exclusive {
        return request.amounts[resource] * parts.map(|part| i64::from(part.tasks)).sum::<i64>();
    }
    let own = parts.filter(|part| set == NodeSetId::ALL || machine.node_sets().contains(set, part.node));
    own.map(|&part| machine.held(request, part, resource)).sum()
}
