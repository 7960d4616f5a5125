//! Runs that begin in the middle (S28).
//!
//! The jobs of an initial state are submitted, started and ended at their own times, without passes: whatever follows
//! from that (ends, limits, counts, usage, eligible times) is computed by the functions of a run. What does not follow
//! from it, such as the reservations of a scheduler, is in the state. O(n log n) for n jobs submitted before.
use std::collections::{BTreeMap, VecDeque};

use crate::cluster::{Availability, NodeTasks, place_at};
use crate::scheduler::{ControllerState, PlannedStart, Slurm};
use crate::state::{Phase, PreemptionState, State};
use crate::time::Time;
use crate::workload::{Evacuation, ExternalEvent, JobState, Rejection};

use super::check::check_nodes_differ;
use super::cursor::LoopState;
use super::{Feed, Simulation, View};

/// A job of an initial state. Times in seconds, NaN if there is none.
#[derive(Clone, Debug)]
pub struct InitialJob {
    /// The slot of the job.
    pub job: u32,
    /// `Queued`, `Running`, or the state in which it ended.
    pub state: JobState,
    /// True if it waits until it is released.
    pub held: bool,
    /// The start of its present or last run.
    pub start_time: f64,
    /// Its end.
    pub end_time: f64,
    /// Its nodes; empty if the allocator chooses them, or if they are unknown. A node with 0 tasks gets as many as it has
    /// room for, and at least 1.
    pub placement: Vec<NodeTasks>,
    /// The reason of its rejection.
    pub rejection: Option<Rejection>,
    /// Seconds of work kept from interrupted runs.
    pub saved: f64,
    /// Since when it has been eligible; NaN if this follows from its submission.
    pub eligible_time: f64,
    /// The run time that schedulers assume; NaN for the requested time.
    pub estimate: f64,
    /// The requested time and limit that an external event has set; NaN if none has.
    pub requested_time: f64,
    /// The priority that an external event has fixed; NaN if none has.
    pub priority: f64,
    /// The reservation that the scheduler keeps for it.
    pub reservation: Option<PlannedStart>,
}

/// The usage of an account or a user at a time.
#[derive(Clone, Copy, Debug)]
pub struct InitialUsage {
    /// Its index in the tree of accounts.
    pub node: u32,
    /// The usage.
    pub value: f64,
    /// The time of the value, seconds.
    pub time: f64,
    /// What its running jobs are charged per second; NaN for the sum over them.
    pub rate: f64,
    /// Its fair-share factor of the latest calculation; NaN if it is to be computed.
    pub factor: f64,
}

/// The state in which a run begins.
#[derive(Clone, Debug)]
pub struct InitialState {
    /// The time of the state, seconds.
    pub time: f64,
    /// True if the scheduler has decided at this time; otherwise the run begins with a pass.
    pub decided: bool,
    /// The jobs. Others that are submitted by `time` wait.
    pub jobs: Vec<InitialJob>,
    /// The node that took the last task of the latest start; None if that follows from the jobs.
    pub last_node: Option<u32>,
    /// The drained nodes; None if they follow from the external events.
    pub drained: Option<Vec<u32>>,
    /// Usage of accounts and users; those that are not listed have what follows from the jobs.
    pub usage: Vec<InitialUsage>,
    /// What Slurm's controller remembers; None if its threads begin to wake at the time of the state.
    pub controller: Option<ControllerState>,
}

/// Why a run cannot begin in a state, or has no state to begin from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialFault {
    /// The row of the job that it is about.
    pub row: Option<u64>,
    /// The rule that is broken.
    pub reason: String,
}

impl From<&str> for InitialFault {
    fn from(reason: &str) -> Self {
        Self { row: None, reason: reason.to_owned() }
    }
}

/// What happens to a job before the time of the state, in the order of one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    End,
    Submission,
    /// A run that takes no time.
    Flash,
    Start,
}

/// The steps in order: time, kind, place among those of one time and kind, and job.
type Steps = Vec<(Time, Step, u32, u32)>;

/// The jobs of a state, with their places in it, by slot.
type Given<'a> = BTreeMap<u32, (&'a InitialJob, u32)>;

impl<F: Feed> Simulation<F> {
    /// Begin the run in a state, before its first event.
    ///
    /// # Errors
    /// If the state breaks a rule. The simulation cannot be used then.
    pub fn begin_in(&mut self, given: &InitialState) -> Result<(), InitialFault> {
        self.check_takes_states()?;
        if let (Some(rule), Some(controller)) = (self.scheduler.as_slurm_mut(), &given.controller) {
            rule.expect(controller);
        }
        let places = given.jobs.iter().zip(0..);
        let of_job: Given<'_> = places.map(|(each, place)| (each.job, (each, place))).collect();
        let steps = self.steps_until(given.time, &of_job)?;
        for instant in steps.chunk_by(|one, next| one.0 == next.0) {
            self.pass_time_to(instant[0].0.0)?;
            self.replay_instant(instant, &of_job, given.decided)?;
        }
        self.pass_time_to(given.time)?;
        self.take_events_until(given.time)?;
        self.close_given(given.drained.as_deref());
        self.place_running(given)?;
        self.begin_at(given)
    }

    /// Return an error if a feature of the run has a state that an initial state does not hold.
    fn check_takes_states(&self) -> Result<(), InitialFault> {
        let unsupported = if self.state.applications.is_some() {
            "jobs with applications"
        } else if self.state.service.is_some() {
            "service rates of nodes"
        } else if self.state.sleep.is_some() {
            "nodes that sleep"
        } else if !self.scenario.attributes.run_events.is_empty() {
            "jobs that are suspended or requeued by their log"
        } else if self.listeners.estimates {
            "predictors"
        } else if self.agenda.triggers.is_some() {
            "an invocation"
        } else if self.recorders.power.is_some() {
            "measured power"
        } else {
            return Ok(());
        };
        Err(InitialFault { row: None, reason: format!("an initial state does not support {unsupported}") })
    }

    /// Return the fault of a job.
    fn fault(&self, job: u32, reason: impl Into<String>) -> InitialFault {
        InitialFault { row: Some(self.scenario.job(job).row), reason: reason.into() }
    }

    /// Take the jobs submitted by `time` out of the feed. Return what happens to them, in order.
    fn steps_until(&mut self, time: f64, of_job: &Given<'_>) -> Result<Steps, InitialFault> {
        let mut steps = Steps::new();
        while self.feed.next_time() <= Time(time) {
            let Ok(job) = self.feed.submit(&mut self.scenario, &mut self.state) else {
                return Err("the jobs cannot be read".into());
            };
            let row = steps.len() as u32;
            steps.push((Time(self.scenario.job(job).submit_time), Step::Submission, row, job));
            let Some(&(each, place)) = of_job.get(&job) else { continue };
            let (start, end) = (Time(each.start_time), Time(each.end_time));
            let has_nodes = !each.placement.is_empty();
            if !each.start_time.is_nan() && (has_nodes || each.state != JobState::Running) {
                let is_flash = !each.end_time.is_nan() && end <= start;
                steps.push((start, if is_flash { Step::Flash } else { Step::Start }, place, job));
            }
            if each.state.has_ended() && (each.start_time.is_nan() || end > start) {
                steps.push((end, Step::End, place, job));
            }
        }
        steps.sort_unstable();
        for (each, _) in of_job.values() {
            if each.held && each.state == JobState::Queued {
                self.state.held_ahead.insert(each.job);
            }
            if !each.priority.is_nan() {
                self.state.fix_ahead(each.job, Some(each.priority));
            }
        }
        Ok(steps)
    }

    /// Move the clock to a time. Everything between two steps that is no decision happens.
    fn pass_time_to(&mut self, time: f64) -> Result<(), InitialFault> {
        loop {
            let gate = self.next_gate();
            let phase = self.next_end_of_work().min(self.next_limit());
            let next = gate.min(phase);
            if next > Time(time) {
                break;
            }
            if gate <= phase {
                self.state.now = gate.0;
                self.calculate_due();
                self.open_gates();
                self.note_arrivals();
            } else if !self.end_phase_at(phase.0, time)? {
                break;
            }
        }
        self.state.now = time;
        self.calculate_due();
        self.note_arrivals();
        Ok(())
    }

    /// Tell Slurm's controller when jobs have entered the queue. Other rules see them in the first pass.
    fn note_arrivals(&mut self) {
        let now = self.state.now;
        if let Some(rule) = self.scheduler.as_slurm_mut() {
            rule.enter(&std::mem::take(&mut self.state.queue.arrived), now);
        }
    }

    /// End the phase of a running job that ends at `now`. Return false if the job ends with it, at `time`.
    fn end_phase_at(&mut self, now: f64, time: f64) -> Result<bool, InitialFault> {
        self.state.now = now;
        self.calculate_due();
        let Some((run, at_limit)) = self.next_completion() else { return Ok(false) };
        let job = self.state.running.get(run).job;
        let goes_on = if at_limit { self.cut_run(run) } else { self.go_on_to_next_phase(run) };
        if goes_on || now >= time {
            return Ok(goes_on);
        }
        let what = if at_limit { "walltime = \"kill\" ends it at its limit" } else { "its run_time is over" };
        Err(self.fault(job, format!("it runs, but {what} at {now} s")))
    }

    /// Replay the steps of one time. A job that started with others of this time on which it depends comes after them.
    fn replay_instant(
        &mut self,
        steps: &[(Time, Step, u32, u32)],
        of_job: &Given<'_>,
        admitted: bool,
    ) -> Result<(), InitialFault> {
        let mut open: VecDeque<(Step, u32)> = steps.iter().map(|&(_, step, _, job)| (step, job)).collect();
        while let Some(&(_, first)) = open.front() {
            let on_hold = &self.state.queue.on_hold;
            let can_happen = |&(step, job): &(Step, u32)| {
                matches!(step, Step::End | Step::Submission) || !on_hold.contains(&job)
            };
            let next = open.iter().position(can_happen).and_then(|place| open.remove(place));
            let Some((step, job)) = next else {
                let rule = "it started before its begin_time, or before the jobs that it depends on";
                return Err(self.fault(first, rule));
            };
            self.replay(step, job, of_job.get(&job).map(|&(given, _)| given), admitted)?;
            self.note_arrivals();
        }
        Ok(())
    }

    fn replay(
        &mut self,
        step: Step,
        job: u32,
        given: Option<&InitialJob>,
        admitted: bool,
    ) -> Result<(), InitialFault> {
        match (step, given) {
            (Step::Submission, _) => self.replay_submission(job, given, admitted),
            (Step::Start, Some(given)) => self.replay_start(given),
            (Step::Flash, Some(given)) => self.replay_start(given).and_then(|()| self.replay_end(given)),
            (Step::End, Some(given)) => self.replay_end(given),
            (_, None) => Ok(()),
        }
    }

    /// Submit a job. Those of the present state of a run were `admitted`, whatever the limits were then.
    fn replay_submission(
        &mut self,
        job: u32,
        given: Option<&InitialJob>,
        admitted: bool,
    ) -> Result<(), InitialFault> {
        if let Some(given) = given {
            self.set_facts(given);
        }
        let unreadable = |_| InitialFault::from("the jobs cannot be read");
        match given.map(|given| (given.state, given.rejection)) {
            Some((JobState::Queued, _)) if !admitted => self.admit(job).map_err(unreadable)?,
            Some((JobState::Rejected, Some(reason))) if reason != Rejection::Dependency => {
                self.reject_alone(job, reason);
                self.state.ended.push(job);
                self.after_end(job, JobState::Rejected);
            }
            None | Some((JobState::Rejected, _)) => self.admit(job).map_err(unreadable)?,
            Some(_) => self.enqueue_again(job),
        }
        Ok(())
    }

    /// Set what is known of a job beside its row.
    fn set_facts(&mut self, given: &InitialJob) {
        let (job, jobs) = (given.job, &mut self.state.jobs);
        if !given.requested_time.is_nan() {
            jobs.set_requested_time(job, given.requested_time);
            jobs.set_estimate(job, given.requested_time);
        }
        if !given.estimate.is_nan() {
            jobs.set_estimate(job, given.estimate);
        }
        if given.saved > 0.0 {
            jobs.begin_leg(job, jobs.run_time(job), given.saved);
        }
    }

    /// Queue a job that was admitted at its submission.
    fn enqueue_again(&mut self, job: u32) {
        let is_held = self.state.held_ahead.remove(&job);
        self.queue_or_hold(job, is_held);
        self.recorders.tally.enqueued(View { scenario: &self.scenario, state: &self.state }, job);
        let cancelled = self.scenario.attributes.cancelled_at(job).filter(|&time| time > self.state.now);
        if let Some(time) = cancelled {
            self.state.own_events.insert((Time(time), self.scenario.job(job).row, job));
        }
    }

    fn replay_start(&mut self, given: &InitialJob) -> Result<(), InitialFault> {
        let job = given.job;
        if given.placement.is_empty() {
            self.after_starts(&[job]);
            return Ok(());
        }
        let placement = self.filled(given)?;
        self.take_nodes(job, &placement);
        self.state.started.clear();
        if let Some(rule) = self.scheduler.as_slurm_mut() {
            rule.started_before(View { scenario: &self.scenario, state: &self.state }, job, &placement);
        }
        self.recorders.tally.started(View { scenario: &self.scenario, state: &self.state }, job);
        if given.state == JobState::Running {
            self.begin_run(job);
        }
        self.after_starts(&[job]);
        Ok(())
    }

    /// Return the nodes of a job with its tasks on each. The job must have room on them.
    fn filled(&self, given: &InitialJob) -> Result<Vec<NodeTasks>, InitialFault> {
        let (job, now) = (given.job, self.state.now);
        let mut placement = given.placement.clone();
        let request = self.check_set(job, &placement);
        let request = request.map_err(|refusal| self.fault(job, refusal.to_string()))?;
        let tasks = self.scenario.job(job).tasks;
        let known: u32 = placement.iter().map(|part| part.tasks.max(1)).sum();
        let mut left = tasks.saturating_sub(known);
        for part in placement.iter_mut().filter(|part| part.tasks == 0) {
            let more = self.state.machine.slots(part.node, request).saturating_sub(1).min(left);
            part.tasks = 1 + more;
            left -= more;
        }
        let placed = placement.iter().map(|part| u64::from(part.tasks)).sum();
        if left > 0 && given.placement.iter().any(|part| part.tasks == 0) {
            let rule =
                format!("its nodes have room for {placed} of its {tasks} tasks at {now} s beside other jobs");
            return Err(self.fault(job, rule));
        }
        let has_size = self.check_size(job, placed).and_then(|()| check_nodes_differ(job, &placement));
        has_size.map_err(|refusal| self.fault(job, refusal.to_string()))?;
        let is_full = |part: &&NodeTasks| !self.state.machine.has_room(request, &[**part]);
        if let Some(&NodeTasks { node, tasks }) = placement.iter().find(is_full) {
            let rule =
                format!("node {node} has no room for {tasks} of its tasks at {now} s beside other jobs");
            return Err(self.fault(job, rule));
        }
        Ok(placement)
    }

    fn replay_end(&mut self, given: &InitialJob) -> Result<(), InitialFault> {
        let job = given.job;
        match self.state.jobs.state(job) {
            JobState::Running => self.release_nodes(job),
            JobState::Queued => self.state.leave_queue(&self.scenario, &self.priority, job),
            // Rejected, since a job that it depends on did not complete.
            state => {
                return Err(self.fault(job, format!("it is {}, not {}", state.name(), given.state.name())));
            }
        }
        self.end(job, given.state);
        self.state.jobs.set_start_time(job, given.start_time);
        Ok(())
    }

    /// Take the external events until a time out of the feed. Those about limits, reservations, nodes and the scheduler
    /// happen; what became of jobs is in the state.
    fn take_events_until(&mut self, time: f64) -> Result<(), InitialFault> {
        while self.feed.next_event_time() <= Time(time) {
            let Ok(event) = self.feed.take_event(&self.scenario) else {
                return Err("the external events cannot be read".into());
            };
            let applied = event.is_some_and(|event| self.takes_again(event));
            if let Some(log) = &mut self.recorders.events {
                log.applied.push(applied);
            }
        }
        Ok(())
    }

    fn takes_again(&mut self, event: ExternalEvent) -> bool {
        match event {
            ExternalEvent::CloseNodes { nodes, .. } => {
                self.happens(ExternalEvent::CloseNodes { nodes, jobs: Evacuation::Stay })
            }
            ExternalEvent::OpenNodes(_)
            | ExternalEvent::SetLimit { .. }
            | ExternalEvent::Reserve(_)
            | ExternalEvent::Unreserve(_)
            | ExternalEvent::StopScheduler
            | ExternalEvent::StartScheduler => self.happens(event),
            _ => false,
        }
    }

    /// Drain these nodes and no others, if they are given.
    fn close_given(&mut self, drained: Option<&[u32]>) {
        let Some(drained) = drained else { return };
        for node in 0..self.state.machine.nodes() {
            let closes = drained.binary_search(&node).is_ok();
            if closes != self.state.machine.is_drained(node) {
                self.state.machine.set_drained(node, closes);
            }
        }
    }

    /// Place the running jobs without nodes by the allocator, in the order of their starts.
    fn place_running(&mut self, given: &InitialState) -> Result<(), InitialFault> {
        let is_open = |each: &&InitialJob| each.state == JobState::Running && each.placement.is_empty();
        let mut open: Vec<&InitialJob> = given.jobs.iter().filter(is_open).collect();
        open.sort_by_key(|each| (Time(each.start_time), each.job));
        for each in open {
            let mut placement = Vec::new();
            self.state.now = given.time;
            let view = View { scenario: &self.scenario, state: &self.state };
            let fits = view.placement_requests(each.job).any(|want| {
                place_at(&mut self.allocator, &self.state.machine, &want, given.time, &mut placement)
                    == Ok(true)
            });
            if !fits {
                let rule = "it runs, and the allocator finds no nodes for it beside the running jobs";
                return Err(self.fault(each.job, rule));
            }
            self.state.now = each.start_time;
            self.replay_start(&InitialJob { placement, ..each.clone() })?;
            self.pass_time_to(given.time)?;
        }
        Ok(())
    }

    /// Set the clock to the time of the state, and what does not follow from the jobs.
    fn begin_at(&mut self, given: &InitialState) -> Result<(), InitialFault> {
        self.state.now = given.time;
        self.check_is_present(given.time)?;
        self.set_usage(&given.usage);
        if let Some(node) = given.last_node {
            self.allocator.started(&[NodeTasks { node, tasks: 1 }]);
        }
        self.set_eligible(&given.jobs);
        self.turn_calendar(given.time.next_down());
        if let Some(preemption) = &mut self.state.preemption {
            preemption.pass_exemptions(if given.decided { given.time } else { given.time.next_down() });
        }
        let State { queue, jobs, .. } = &mut self.state;
        queue.arrived.retain(|&job| jobs.state(job) == JobState::Queued);
        self.hand_over_ended().map_err(|_| InitialFault::from("the jobs cannot be read"))?;
        self.state.changed();
        drop(self.take_changes());
        self.resume_controller(given)?;
        let reservations: Vec<(u32, &PlannedStart)> =
            given.jobs.iter().filter_map(|each| Some((each.job, each.reservation.as_ref()?))).collect();
        let Self { scenario, state, scheduler, .. } = self;
        scheduler.resume(View { scenario, state }, &reservations, given.decided);
        let cursor = &mut self.cursor;
        (cursor.happened, cursor.idle, cursor.round) = (None, 0, None);
        cursor.is_disturbed = false;
        cursor.pass_is_due = !given.decided;
        cursor.released_early = !self.agenda.releases_early;
        cursor.at = if given.decided { LoopState::Idle } else { LoopState::Events };
        if given.decided {
            (cursor.cut, cursor.calendar_turn) = (None, None);
            self.state.queue.arrived.clear();
        }
        self.choose_kinds();
        self.begin_gates(&given.jobs);
        Ok(())
    }

    /// Let Slurm's controller continue, if it decides; jobs age from its calls.
    fn resume_controller(&mut self, given: &InitialState) -> Result<(), InitialFault> {
        let Self { scenario, state, scheduler, .. } = self;
        let Some(rule) = scheduler.as_slurm_mut() else {
            let is_left_over = given.controller.is_some();
            return if is_left_over {
                Err("the policy has no controller, and the state has".into())
            } else {
                Ok(())
            };
        };
        let eligible = given.jobs.iter().filter(|each| !each.eligible_time.is_nan());
        let eligible: Vec<(u32, f64)> = eligible.map(|each| (each.job, each.eligible_time)).collect();
        let known = rule.resume(View { scenario, state }, given.controller.as_ref(), &eligible)?;
        let Some(calculation) = &mut state.calculation else { return Ok(()) };
        for each in known {
            if let (Some(called), Some(ages_from)) = (each.called, each.ages_from) {
                calculation.called(each.job, ages_from, called);
            }
        }
        calculation.recalculate();
        Ok(())
    }

    /// Return an error if an event is due before the time of the state.
    fn check_is_present(&self, time: f64) -> Result<(), InitialFault> {
        if let Some(&(cancelled, _, job)) = self.state.own_events.first()
            && cancelled < Time(time)
        {
            return Err(self.fault(job, format!("it is there, but was cancelled at {} s", cancelled.0)));
        }
        Ok(())
    }

    fn set_usage(&mut self, given: &[InitialUsage]) {
        let Some(usage) = &mut self.state.usage else { return };
        for each in given {
            usage.set(each.node, each.value, (each.time, each.rate), each.factor);
        }
    }

    fn set_eligible(&mut self, jobs: &[InitialJob]) {
        let Some(calculation) = &mut self.state.calculation else { return };
        for each in jobs.iter().filter(|each| !each.eligible_time.is_nan()) {
            calculation.begin(each.job, each.eligible_time);
        }
        calculation.recalculate();
    }
}

impl<F: Feed> Simulation<F> {
    /// Return the present state, from which another run can begin.
    ///
    /// # Errors
    /// If the simulation is in the middle of an instant, or has a state that an initial state does not hold.
    pub fn initial_state(&self) -> Result<InitialState, InitialFault> {
        self.check_takes_states()?;
        self.check_has_state()?;
        let planned = self.scheduler.planned();
        let jobs = 0..self.state.jobs.len() as u32;
        let jobs = jobs.filter(|&job| self.state.jobs.state(job) != JobState::Loaded);
        let mut jobs: Vec<u32> = jobs.collect();
        jobs.sort_by_key(|&job| {
            (self.state.jobs.run(job).map(|run| self.state.running.get(run).sequence), job)
        });
        let mut described: Vec<InitialJob> = jobs.into_iter().map(|job| self.described(job)).collect();
        for each in &mut described {
            each.reservation = planned.get(&each.job).cloned();
        }
        let ahead = self.state.ahead().into_iter().map(|job| self.described(job));
        described.extend(ahead.map(|each| InitialJob { state: JobState::Queued, ..each }));
        let machine = &self.state.machine;
        Ok(InitialState {
            time: self.state.now,
            decided: true,
            jobs: described,
            last_node: self.allocator.last_node(),
            drained: Some((0..machine.nodes()).filter(|&node| machine.is_drained(node)).collect()),
            usage: self.described_usage(),
            controller: self.described_controller(),
        })
    }

    /// Return what Slurm's controller remembers, with the calls from which jobs age.
    fn described_controller(&self) -> Option<ControllerState> {
        let mut controller = self.scheduler.as_slurm()?.remembered()?;
        if let Some(calculation) = &self.state.calculation {
            for each in &mut controller.jobs {
                let first = calculation.first_call(each.job);
                (each.called, each.ages_from) = (first.map(|call| call.0), first.map(|call| call.1));
            }
        }
        Some(controller)
    }

    /// Return an error if this moment has no state to begin from.
    fn check_has_state(&self) -> Result<(), InitialFault> {
        let preemption = self.state.preemption.as_deref();
        let interruptions = !self.recorders.interruptions.is_empty();
        let unsupported = if self.cursor.at != LoopState::Idle {
            "an instant that is not over; call step() or run_until() first"
        } else if self.state.starts == 0 && self.state.queue.has_none_waiting() && self.state.finished == 0 {
            "a simulation without a submitted job; run it beyond its first submission"
        } else if self.scheduler.is_external() {
            "this scheduler, which remembers more than reservations"
        } else if self.allocator.as_external().is_some() {
            "an allocator written in Python"
        } else if !self.allocator.is_stateless() && self.allocator.last_node().is_none() {
            "an allocator that remembers in which order nodes came free"
        } else if interruptions && self.state.conditions.is_some() {
            "dependencies beside interrupted runs"
        } else if preemption.is_some_and(PreemptionState::has_graces) {
            "victims in their grace time"
        } else if self.state.machine.has_reserved_amounts() {
            "reserved amounts of nodes"
        } else if self.cursor.timers.any_acting() || self.cursor.timers.any_repairing() {
            "timers of observers or schedulers"
        } else if let Some(reason) = self.scheduler.as_slurm().and_then(Slurm::state_refusal) {
            reason
        } else {
            return self.check_runs();
        };
        Err(InitialFault { row: None, reason: format!("an initial state does not hold {unsupported}") })
    }

    /// Return an error if the course of a run does not follow from its start and run_time.
    fn check_runs(&self) -> Result<(), InitialFault> {
        let jobs = &self.state.jobs;
        for job in self.state.running.jobs() {
            let Some(run) = jobs.run(job) else { continue };
            let view = self.view();
            let (start, overhead) = (jobs.start_time(job), view.overhead(job));
            let begin = start + overhead.launch;
            let work = self.state.work.end_key(run).map(|(time, _)| time);
            let end = begin + jobs.work_left(job);
            let follows = match self.state.running.get(run).phase {
                _ if jobs.allocated_since(job).total_cmp(&start).is_ne() => false,
                Phase::Running => {
                    self.state.runs_until(&self.scenario, job).is_some() || work == Some(Time(end))
                }
                Phase::Launching => work == Some(Time(begin)),
                Phase::Completing(false) => work == Some(Time(end + overhead.completion)),
                Phase::Completing(true) => {
                    Time(jobs.requested_time(job)) == Time(self.scenario.job(job).requested_time)
                }
                Phase::Suspending => false,
            };
            if !follows {
                let rule = "an initial state does not hold a run that was resized, is being suspended, was ended \
                            early, or has another rate";
                return Err(self.fault(job, rule));
            }
        }
        Ok(())
    }

    fn described_usage(&self) -> Vec<InitialUsage> {
        let Some(usage) = &self.state.usage else { return Vec::new() };
        let nodes = usage.described().into_iter().zip(0..);
        let described = nodes.map(|((each, factor), node)| InitialUsage {
            node,
            value: each.value,
            time: each.time,
            rate: each.rate,
            factor,
        });
        described.collect()
    }

    /// Return what is known of a job, without its reservation.
    fn described(&self, job: u32) -> InitialJob {
        let (jobs, row) = (&self.state.jobs, self.scenario.job(job));
        let conditions = self.state.conditions.as_deref();
        let waits = conditions.is_some_and(|conditions| conditions.waits(job));
        let is_held = conditions.is_some_and(|conditions| conditions.is_held(job))
            || self.state.held_ahead.contains(&job)
            || (!waits && self.state.queue.on_hold.contains(&job));
        let (estimate, requested_time) = jobs.times_known(job);
        let set = |value: f64, usual: f64| if Time(value) == Time(usual) { f64::NAN } else { value };
        let calculation = self.state.calculation.as_ref().filter(|_| jobs.state(job) == JobState::Queued);
        InitialJob {
            job,
            state: jobs.state(job),
            held: is_held,
            start_time: jobs.start_time(job),
            end_time: jobs.end_time(job),
            placement: jobs.last_placement(job).listed().to_vec(),
            rejection: jobs.rejection(job),
            saved: jobs.saved(job),
            eligible_time: calculation.map_or(f64::NAN, |each| each.eligible_since(job)),
            estimate: set(estimate, requested_time),
            requested_time: set(requested_time, row.requested_time),
            priority: self.state.fixed_priority(job).unwrap_or(f64::NAN),
            reservation: None,
        }
    }
}
