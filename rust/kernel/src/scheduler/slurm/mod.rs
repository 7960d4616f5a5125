//! `slurm`: the main loop and the backfill scheduler of Slurm's controller, called when its threads call them (S25).
//!
//! An instant at which no call is due costs O(1). Occupied nodes are kept between calls: a start or an end costs
//! O(nodes of the job + running jobs / 64). A call costs O(nodes / 64) and the entries that it examines: the main loop
//! up to the first job of each partition that does not fit, each O(nodes with free resources); backfill all waiting
//! jobs up to `bf_max_job_test`, each O(ends of plans before its start · nodes / 64 + running jobs that end before it).
mod call;
mod clock;
mod cycle;
mod entries;
mod findings;
mod idle_fit_cache;
mod occupation_cache;
mod queue;
mod relations;
mod remembered;
mod settings;
mod spacing;
mod time_limits;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::accounting::Multifactor;
use crate::cluster::{NodeSets, NodeTasks, Unanswered};
use crate::decision::{Decision, Where};
use crate::placement::Allocator;
use crate::scenario::Scenario;
use crate::slurm::{
    Backfill, Entry, EntryOutcome, Limits, MainLoop, Precedence, Select, Setup, Stop, evaluate,
};
use crate::state::{JobRecords, View};
use crate::time::Time;
use crate::workload::{JobState, PreemptionMode};

use super::{SchedulingRule, Step};

use call::{Call, Kind};
use clock::{BackfillCall, Clock, MainCall};
use cycle::{BackfillYield, Cycle, Turn};
use entries::{Description, used_by};
use findings::Findings;
pub use findings::Found;
use idle_fit_cache::IdleFitCache;
use occupation_cache::OccupationCache;
use queue::{Queued, queued};
use relations::{Delays, Waiting};
pub use remembered::{BackfillState, ControllerState, KnownJob, MainState};
pub use settings::SlurmSettings;

/// Events since the latest pass, apart from submissions and ends.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct PendingChanges {
    /// Nodes or jobs were changed from outside.
    disturbed: bool,
    /// A job has finished running but still occupies its nodes.
    completing: bool,
}

/// State of the rule `slurm`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Slurm {
    setup: Arc<Setup>,
    description: Description,
    /// Parameters of `multifactor`, if it is the order.
    priorities: Option<Box<Multifactor>>,
    clock: Clock,
    depth: usize,
    epilog: bool,
    backfill_yield: BackfillYield,
    delays: Delays,
    waiting: Waiting,
    idle_fits: IdleFitCache,
    occupation_cache: OccupationCache,
    pending: PendingChanges,
    /// True if the keys of the order change with time.
    keys_change: bool,
    /// True if the main loop is to be called at once.
    calls_at_once: bool,
    call: Option<Call>,
    /// A backfill cycle that continues later.
    paused: Option<Call>,
    due: Time,
    /// What calls found of waiting jobs, if it is recorded.
    findings: Option<Box<Findings>>,
}

impl Slurm {
    /// Create the rule before the run begins.
    pub(super) fn new(
        settings: &SlurmSettings,
        priorities: Option<&Multifactor>,
        resources: usize,
        capacity: &[i64],
        node_sets: &NodeSets,
        seed: u64,
    ) -> Self {
        let parameters = settings.parameters;
        let description = Description::new(settings, resources, seed);
        let (nodes, generic, partitions) = description.machine(resources, capacity, node_sets);
        let setup = Setup {
            parameters,
            weights: settings.node_weights(nodes.len()),
            machine: nodes,
            generic,
            gpu: description.gpu_kind(),
            partitions,
            weighs: false,
            precedence: Precedence::default(),
        };
        Self {
            occupation_cache: OccupationCache::new(&setup),
            setup: Arc::new(setup),
            description,
            priorities: priorities.cloned().map(Box::new),
            clock: Clock::new(&parameters, seed),
            depth: parameters.depth(),
            epilog: parameters.calls_at_epilog(),
            backfill_yield: BackfillYield::of(&parameters),
            delays: Delays::of(&parameters),
            waiting: Waiting::new(priorities.is_some_and(|rule| rule.weights.age > 0.0)),
            idle_fits: IdleFitCache::default(),
            pending: PendingChanges::default(),
            keys_change: false,
            calls_at_once: false,
            call: None,
            paused: None,
            due: Time::NEVER,
            findings: None,
        }
    }

    /// Record what calls find of waiting jobs.
    pub fn explain(&mut self) {
        self.findings = Some(Box::default());
    }

    /// Return what the latest call found of a waiting job.
    #[must_use]
    pub fn found(&self, job: u32) -> Option<Found> {
        self.findings.as_ref().and_then(|findings| findings.of(job))
    }

    /// Return the jobs with findings since the latest look; None if they are not recorded.
    #[must_use]
    pub fn fresh(&self) -> Option<&BTreeSet<u32>> {
        self.findings.as_ref().map(|findings| findings.fresh())
    }

    /// Return the waiting jobs whose promised starts may differ from those at the latest look, each with the one that
    /// it has now; NaN for none.
    #[must_use]
    pub fn promised(&self) -> Vec<(u32, f64)> {
        let Some(findings) = &self.findings else { return Vec::new() };
        let jobs = findings.left().union(findings.fresh());
        jobs.map(|&job| (job, findings.of(job).map_or(f64::NAN, |found| found.promised))).collect()
    }

    /// End a look at the findings; gates change next at this time without an event or a call.
    pub fn seen(&mut self, turn: Time) {
        if let Some(findings) = &mut self.findings {
            findings.seen(turn);
        }
    }

    /// Return the time limit of a waiting job for calls, seconds.
    #[must_use]
    pub fn limit_in_calls(view: View<'_>, job: u32) -> f64 {
        entries::limit(view, job)
    }

    /// Return from when a waiting job comes too late for its reservation, −∞ if this has not begun; None if it uses none.
    #[must_use]
    pub fn runs_out_at(view: View<'_>, job: u32) -> Option<f64> {
        relations::runs_out_at(view, job)
    }

    /// Return whether no call has had a job in its queue since it was requeued.
    #[must_use]
    pub fn awaits_requeue(&self, job: u32) -> bool {
        self.found(job).is_none() && self.waiting.is_requeued(job)
    }

    /// Return whether jobs get whole nodes.
    #[must_use]
    pub fn gives_whole_nodes(&self) -> bool {
        self.setup.parameters.select == Select::Linear
    }

    /// Return the feature of a run that the rule does not support, or None.
    pub(super) fn refusal(&self, scenario: &Scenario, jobs: &JobRecords, capacity: &[i64]) -> Option<String> {
        let preemption = scenario.preemption.as_ref();
        let parts = [
            (
                preemption.is_some_and(|rules| rules.mode == PreemptionMode::Suspend),
                "preemption by suspending jobs",
            ),
            (scenario.sleep.is_some(), "nodes that sleep"),
            (scenario.applications.is_some(), "applications"),
            (scenario.service.is_some(), "service rates"),
            (
                scenario.limits.as_ref().is_some_and(|limits| limits.some_block()),
                "limits that block the queue",
            ),
        ];
        if let Some((_, part)) = parts.iter().find(|(is_there, _)| *is_there) {
            return Some(format!("slurm does not model {part} yet; leave them out, or take another policy"));
        }
        let refused = self.description.refusal(scenario, jobs, &self.setup.machine, capacity);
        refused.map(|reason| format!("{reason}. Change the jobs, or take another policy"))
    }

    /// Read from the run what does not change in it.
    fn prepare(&mut self, view: View<'_>) {
        if !self.occupation_cache.has_begun() {
            let setup = Arc::make_mut(&mut self.setup);
            setup.precedence = relations::precedence(view.scenario);
            setup.weighs = relations::counts_nodes(view.scenario);
            self.occupation_cache.begin(view, setup, &self.description);
        }
    }

    /// Evaluate arriving jobs at their submission: nodes keep the weights of the last evaluation.
    fn evaluate_arrivals(&mut self, view: View<'_>) {
        if !self.setup.weighs || view.state.queue.arrived.is_empty() {
            return;
        }
        let (occupation, weights) = self.occupation_cache.weights_beside();
        let is_new = |job: u32| view.scenario.job(job).submit_time >= view.now();
        let is_evaluated = |&&job: &&u32| is_new(job) && used_by(view.scenario, job).is_none();
        for &job in view.state.queue.arrived.iter().filter(is_evaluated) {
            for &request in view.scenario.alternatives(job) {
                let entry = self.description.entry(view, job, request);
                let mut members = self.setup.partitions[entry.partition].nodes.clone();
                entry.keep_suitable(&mut members);
                evaluate(&self.setup, occupation, &entry, &members, weights);
            }
        }
    }

    /// Return the next call at this instant.
    fn next_call(&mut self, view: View<'_>) -> Option<Call> {
        let now = view.now();
        let depth = |is_full| if is_full { usize::MAX } else { self.depth };
        let main = if std::mem::take(&mut self.calls_at_once) && self.clock.calls_directly(now) {
            Some((false, self.depth))
        } else if let Some(is_full) = self.clock.main_is_due(now) {
            Some((true, depth(is_full)))
        } else {
            self.clock.put_off_is_due(now).map(|is_full| (false, depth(is_full)))
        };
        let Some((by_thread, depth)) = main else {
            return self.clock.backfill_is_due(now).then(|| self.next_cycle(view));
        };
        self.waiting.call(view);
        let state = self.occupation_cache.begin_call(view, &self.setup, &self.description);
        let call = MainLoop::new(&self.setup, state);
        let kind = Kind::Main(Box::new(call), by_thread, depth);
        let is_explained = self.findings.as_ref().is_some_and(|findings| findings.await_main_loop());
        let most = if is_explained { usize::MAX } else { depth.saturating_add(1) };
        Some(self.new_call(view, kind, most))
    }

    /// Create a call that examines at most `most` entries.
    fn new_call(&mut self, view: View<'_>, kind: Kind, most: usize) -> Call {
        let queue = queued(view, self.priorities.as_deref(), &self.waiting, most);
        let number = self.findings.as_mut().map_or(0, |findings| findings.begin_call());
        Call { kind, queue, next: 0, started: false, number }
    }

    /// Begin a backfill cycle, or continue a paused one; a paused one ends if something has changed.
    fn next_cycle(&mut self, view: View<'_>) -> Call {
        let now = view.now();
        let state = self.occupation_cache.begin_call(view, &self.setup, &self.description);
        let Some(mut call) = self.paused.take() else {
            self.waiting.call(view);
            let backfill = Backfill::new(&self.setup, state);
            let backfill = if self.findings.is_some() { backfill.explaining() } else { backfill };
            let kind = Kind::Backfill(Box::new(backfill), Cycle::new(now));
            return self.new_call(view, kind, self.most_entries(view));
        };
        if let Kind::Backfill(backfill, cycle) = &mut call.kind {
            backfill.resume(&self.setup, state);
            cycle.resume(now, backfill.tested());
        }
        call.started = false;
        if self.clock.was_disturbed() && !self.backfill_yield.continues {
            self.note_rest(view, &call, Stop::BfContinue);
            call.queue.clear();
        }
        call
    }

    /// Return the largest number of entries that a cycle can use. One entry of each job is examined, unless a depth of
    /// its partition, user, association or array is reached, or it leaves the queue during a pause.
    fn most_entries(&self, view: View<'_>) -> usize {
        let parameters = &self.setup.parameters;
        let max_entries = parameters.bf_max_job_test;
        let has_arrays = !view.scenario.attributes.array.is_empty();
        let leaves_out = parameters.leaves_some_out() || has_arrays || self.findings.is_some();
        if leaves_out || self.backfill_yield.may_pause(max_entries) { usize::MAX } else { max_entries }
    }

    /// Process entries until one starts or preempts. Return the step.
    fn next_start(&mut self, view: View<'_>) -> Option<Step> {
        let call = self.call.as_mut()?;
        while let Some(&Queued { job, request, priority }) = call.queue.get(call.next) {
            if call.kind.is_over(&self.setup, call.next)
                || call.kind.turn(&self.backfill_yield) != Turn::Continues
            {
                return None;
            }
            call.next += 1;
            if call.kind.has_paused() && !self.waiting.may_start(view, job) {
                continue;
            }
            let mut entry = Entry {
                may_preempt: self.waiting.may_preempt(job, view.now().floor(), &self.delays),
                eligible: self.waiting.eligible_since(job),
                priority,
                ..self.description.entry(view, job, request)
            };
            if !self.idle_fits.is_possible(&self.setup, &entry, request) {
                entry.limits = Limits::Shut;
            }
            let outcome = if let Some(findings) = &mut self.findings {
                let (outcome, finding) = call.kind.find(&self.setup, &entry);
                if self.waiting.may_start(view, job) && !matches!(outcome, EntryOutcome::Started(_)) {
                    let is_cycle = call.kind.is_cycle();
                    let planned = match outcome {
                        EntryOutcome::Planned(start, _) => start,
                        // Its plan begins now.
                        EntryOutcome::Preempts(..) if is_cycle => view.now().floor(),
                        _ => f64::NAN,
                    };
                    findings.note(job, (call.number, is_cycle), finding, planned);
                }
                outcome
            } else {
                call.kind.consider(&self.setup, &entry)
            };
            match outcome {
                EntryOutcome::Started(chosen) => {
                    call.started = true;
                    self.waiting.starts(job);
                    if let Some(findings) = &mut self.findings {
                        findings.leave(&[job]);
                    }
                    self.occupation_cache.decides(&[job]);
                    self.description.time_limits.starts(view.scenario, job, request);
                    let placement = self.description.placement(view, job, request, &chosen);
                    let place = Where::Nodes(placement);
                    return Some(Step::Propose(Decision::Start { job, place, tasks: None }));
                }
                EntryOutcome::Preempts(gone, _) => {
                    call.started = true;
                    self.occupation_cache.decides(&gone);
                    let leaving = self.description.notice(view, &gone);
                    self.waiting.preempts(job, &leaving, view.now(), &self.delays);
                    let remove = |&victim: &u32| relations::removal_decision(view, victim);
                    return Some(Step::Preempt(job, gone.iter().map(remove).collect()));
                }
                _ => {}
            }
        }
        None
    }

    /// Record the result of a call; a backfill cycle may continue later.
    fn end_call(&mut self, view: View<'_>) {
        let Some(mut call) = self.call.take() else { return };
        let now = view.now();
        if let Some(until) = self.pause_of(&call)
            && let Kind::Backfill(backfill, _) = &mut call.kind
        {
            self.occupation_cache.end_call(backfill.pause());
            self.clock.pauses(now, until, call.started);
            self.paused = Some(call);
            return;
        }
        let otherwise = if call.kind.is_cycle() { Stop::BfMaxTime } else { Stop::DefaultQueueDepth };
        self.note_rest(view, &call, otherwise);
        // A run in which jobs wait for events that never come must end, whatever a later order might start on an idle
        // machine.
        let is_idle = view.state.running.is_empty() && !relations::calendar_goes_on(view);
        let goes_on = !is_idle || self.clock.awaits_events;
        let runs_out = call.queue.iter().any(|entry| relations::may_run_out(view, entry.job));
        let run_on = self.description.time_limits.has_notices();
        let is_pending = runs_out || run_on || self.waiting.is_pending(now, &self.delays);
        let order_changes = self.keys_change || order_may_change(view) || self.setup.weighs;
        let may_differ = is_pending || (!call.queue.is_empty() && goes_on && order_changes);
        match call.kind {
            Kind::Main(main, by_thread, _) => {
                // Entries beyond `partition_job_depth` are examined after others have started.
                let is_beyond = call.started && self.setup.parameters.partition_job_depth > 0;
                let is_cut = may_differ || is_beyond || (call.next < call.queue.len() && !main.is_closed());
                let (started, met_no_room) = (call.started, main.met_no_room());
                self.clock.called_main(now, by_thread, MainCall { started, met_no_room, is_cut });
                self.occupation_cache.end_call(main.into_state());
            }
            Kind::Backfill(backfill, cycle) => {
                let is_left = call.next < call.queue.len() && !backfill.is_over(&self.setup);
                // The next cycle may examine another number of entries, and its parts may find another state.
                let is_irregular = is_left || cycle.may_differ(&self.backfill_yield, backfill.tested());
                let is_later = now.floor() + 1.0;
                let has_moving_plans = self.findings.is_some() && relations::calendar_goes_on(view);
                let found = BackfillCall {
                    started: call.started,
                    puts_off: backfill.puts_off(),
                    holds_until: if may_differ || is_irregular { is_later } else { backfill.holds_until() },
                    fraction: has_moving_plans.then(|| cycle.begin.fract()),
                    begin: cycle.begin,
                    length: cycle.length(&self.backfill_yield, backfill.tested()),
                    rests: is_irregular && is_idle && !is_pending,
                };
                self.clock.called_backfill(now, found);
                self.occupation_cache.end_call(backfill.into_state());
            }
        }
    }

    /// Record of the entries that a call leaves out why it is over, if findings are recorded.
    fn note_rest(&mut self, view: View<'_>, call: &Call, otherwise: Stop) {
        let Some(findings) = &mut self.findings else { return };
        for each in call.queue.get(call.next..).unwrap_or_default() {
            if self.waiting.may_start(view, each.job) {
                let partition = view.scenario.requests.get(each.request).partition.index();
                let place = (partition, used_by(view.scenario, each.job));
                let finding = call.kind.left_out(&self.setup, place, otherwise);
                findings.note(each.job, (call.number, call.kind.is_cycle()), finding, f64::NAN);
            }
        }
    }

    /// Return until when a call with remaining entries pauses.
    fn pause_of(&self, call: &Call) -> Option<f64> {
        let is_over = call.next >= call.queue.len() || call.kind.is_over(&self.setup, call.next);
        match call.kind.turn(&self.backfill_yield) {
            Turn::Pauses(until) if !is_over => Some(until),
            _ => None,
        }
    }
}

impl Slurm {
    /// Return why the controller has no state to begin from now, or None.
    #[must_use]
    pub fn state_refusal(&self) -> Option<&'static str> {
        if self.paused.is_some() {
            return Some("a cycle of backfill that pauses");
        }
        self.description.time_limits.has_notices().then_some("victims in their grace time")
    }

    /// Return what the controller remembers. The first calls of jobs are not in it.
    #[must_use]
    pub fn remembered(&self) -> Option<ControllerState> {
        let (main, backfill) = self.clock.remembered()?;
        let (mut jobs, arrays) = self.waiting.remembered();
        for &job in self.waiting.holding() {
            let over = self.description.time_limits.over(job);
            jobs.entry(job).or_insert(KnownJob { job, ..KnownJob::default() }).over_time_limit = Some(over);
        }
        let weights = self.occupation_cache.weights.clone();
        Some(ControllerState { main, backfill, weights, jobs: jobs.into_values().collect(), arrays })
    }

    /// Take what bears on running jobs out of the state in which a run begins.
    pub fn expect(&mut self, given: &ControllerState) {
        for each in &given.jobs {
            if let Some(over) = each.over_time_limit {
                self.description.time_limits.tolerates(each.job, over);
            }
        }
    }

    /// Record jobs that enter the queue before the time of the state.
    pub fn enter(&mut self, jobs: &[u32], now: f64) {
        self.waiting.arrive(jobs, now, &self.delays);
    }

    /// Record a job that starts on these nodes before the time of the state, in a partition that has them all.
    pub fn started_before(&mut self, view: View<'_>, job: u32, placement: &[NodeTasks]) {
        self.waiting.starts(job);
        let limits = &mut self.description.time_limits;
        if !limits.has_tolerance(job)
            && let Some(request) = view.scenario.request_id_on(job, placement)
        {
            limits.starts(view.scenario, job, request);
        }
    }

    /// Begin in the middle of a run. Without a state of the controller its threads begin to wake, its jobs have been in the
    /// queue of calls, and everything has changed. Return the jobs that have been, each with the time since which it had
    /// been eligible and from when its age counts.
    ///
    /// # Errors
    /// If the state is that of another machine or policy.
    pub fn resume(
        &mut self,
        view: View<'_>,
        given: Option<&ControllerState>,
        eligible: &[(u32, f64)],
    ) -> Result<Vec<KnownJob>, &'static str> {
        let now = view.now();
        self.prepare(view);
        self.pending = PendingChanges::default();
        let is_in = |state| move |job| view.state.jobs.state(job) == state;
        self.waiting.keep(is_in(JobState::Queued), is_in(JobState::Running));
        self.description.time_limits.keep(is_in(JobState::Running));
        let known = if let Some(given) = given {
            if given.weights.len() != self.setup.nodes() {
                return Err("the controller of the state has another number of nodes");
            }
            self.occupation_cache.weights.clone_from(&given.weights);
            self.waiting.recall(&given.jobs, &given.arrays);
            self.clock.recall(&given.main, given.backfill.as_ref())?;
            given.jobs.clone()
        } else {
            self.waiting.recall_eligible(eligible);
            self.clock.catch_up(now);
            self.clock.change(now);
            self.clock.want_main();
            self.waiting.call(view);
            let called = self.waiting.take_called();
            let known = |(job, ages_from)| KnownJob {
                job,
                called: Some(self.waiting.eligible_in_calls(view, job)),
                ages_from: Some(ages_from),
                ..KnownJob::default()
            };
            called.into_iter().map(known).collect()
        };
        if let Some(findings) = &mut self.findings {
            // No call has come upon the jobs of a state.
            findings.enter(&self.waiting.queued());
            self.clock.look_again();
        }
        self.due = self.clock.next_due(now);
        Ok(known)
    }
}

/// Return whether the queue order, the limits, or the allowed nodes or victims of its jobs change without an event.
fn order_may_change(view: View<'_>) -> bool {
    view.state.calculation.is_some()
        || view.scenario.preemption.as_ref().is_some_and(|rules| rules.exempt_time > 0.0)
        || view.scenario.limits.as_ref().is_some_and(|limits| limits.counts_minutes())
}

impl SchedulingRule for Slurm {
    fn needs_changed_runs(&self) -> bool {
        true
    }

    fn disturbed(&mut self) {
        self.pending.disturbed = true;
    }

    fn awaits_events(&mut self, are_to_come: bool) {
        self.clock.awaits_events = are_to_come;
    }

    fn completing(&mut self) {
        self.pending.completing = true;
    }

    fn needs_pass_at_completion(&self) -> bool {
        true
    }

    fn begin(&mut self, view: View<'_>, keys_change: bool) -> bool {
        let now = view.now();
        self.prepare(view);
        if let Some(call) = self.call.take() {
            // The latest decision of the call was refused, and the pass ended with it.
            self.occupation_cache.end_call(call.kind.into_state());
        }
        self.occupation_cache.follow(view, &self.setup, &self.description);
        self.evaluate_arrivals(view);
        self.waiting.end(&view.state.ended);
        self.description.time_limits.end(&view.state.ended);
        self.description.time_limits.forget_notices(&view.state.queue.arrived);
        self.waiting.arrive(&view.state.queue.arrived, now, &self.delays);
        if let Some(findings) = &mut self.findings {
            findings.leave(&view.state.ended);
            findings.enter(&view.state.queue.arrived);
        }
        self.keys_change = keys_change;
        self.clock.catch_up(now);
        let has_run = |&job: &u32| !view.state.jobs.start_time(job).is_nan();
        let has_ended = self.waiting.take_left() || view.state.ended.iter().any(has_run);
        let pending = std::mem::take(&mut self.pending);
        let turns = relations::calendar_turns(view);
        let is_wanted = pending.disturbed || turns || !view.state.queue.arrived.is_empty();
        if has_ended || is_wanted || pending.completing {
            self.clock.change(now);
        }
        self.calls_at_once = has_ended && self.epilog;
        if is_wanted || (has_ended && !self.epilog) {
            self.clock.want_main();
        }
        self.due = self.clock.next_due(now);
        self.calls_at_once || self.due <= Time(now)
    }

    fn propose(&mut self, view: View<'_>, _: &mut Allocator) -> Result<Step, Unanswered> {
        if self.call.is_none() {
            self.call = self.next_call(view);
            if self.call.is_none() {
                self.due = self.clock.next_due(view.now());
                return Ok(Step::Done);
            }
        }
        if let Some(start) = self.next_start(view) {
            return Ok(start);
        }
        self.end_call(view);
        Ok(Step::Continue)
    }

    fn next_due(&self) -> Time {
        self.findings.as_ref().map_or(self.due, |findings| self.due.min(findings.turn()))
    }

    fn ages_by_calls(&self) -> bool {
        self.waiting.ages_by_calls()
    }

    fn take_called(&mut self) -> Vec<(u32, f64)> {
        self.waiting.take_called()
    }

    fn end_of(&self, job: u32, start: f64, time_limit: f64, now: f64) -> Option<f64> {
        Some(self.description.time_limits.end_of(job, start, time_limit, now))
    }

    fn victim_release_time(&self, victim: u32, now: f64) -> Option<f64> {
        let limits = &self.description.time_limits;
        Some(limits.notice_end(victim).map_or(now, |end| limits.look_after(end, now)))
    }
}
