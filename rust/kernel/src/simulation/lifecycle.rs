//! The life cycle of a job: admission or rejection, launch, run, completion and end, and the effects on other jobs.
use crate::cluster::{EmptyMachine, PlacementRequest};
use crate::control::KeyEvent;
use crate::record::{Cause, Change};
use crate::scenario::{JobCheck, WallTime};
use crate::scheduler::{Scheduler, SchedulingRule};
use crate::state::{Phase, Violation};
use crate::time::Time;
use crate::workload::{JobState, Rejection, RunEvent};

use super::agenda::EndTies;
use super::triggers::Trigger;
use super::{Feed, Simulation, View};

impl<F: Feed> Simulation<F> {
    /// Add a job to the queue, or reject it.
    pub(super) fn admit(&mut self, job: u32) -> Result<(), F::Error> {
        self.state.changed();
        let is_held = self.state.held_ahead.remove(&job);
        if let Some(reason) = self.rejection(job) {
            self.reject(job, reason);
            return self.hand_over(job);
        }
        self.queue_or_hold(job, is_held);
        self.key_event(job, KeyEvent::Arrival);
        if self.agenda.triggers.is_some() {
            self.happened(Trigger::Submission(job));
        }
        self.recorders.changes.notify(Change::Submitted, job);
        self.recorders.tally.enqueued(View { scenario: &self.scenario, state: &self.state }, job);
        if let Some(time) = self.scenario.attributes.cancelled_at(job) {
            self.cancel_at(job, Time(time));
        }
        Ok(())
    }

    /// Count a submitted job, and put it in the queue, or on hold if it is held or not eligible yet.
    pub(super) fn queue_or_hold(&mut self, job: u32, is_held: bool) {
        self.state.count_submitted(&self.scenario, job, 1);
        let is_eligible = self.is_eligible(job);
        if is_eligible && !is_held {
            self.state.enqueue(&self.scenario, &self.priority, job);
        } else {
            self.state.put_on_hold(&self.scenario, &self.priority, job);
        }
        if let (Some(conditions), true, false) = (&mut self.state.conditions, is_held, is_eligible) {
            conditions.hold(job);
        }
    }

    /// Cancel a job at a time, or now if it is cancelled at the instant of its submission.
    fn cancel_at(&mut self, job: u32, time: Time) {
        if time > Time(self.state.now) {
            self.state.own_events.insert((time, self.scenario.job(job).row, job));
            return;
        }
        let cancelled = self.end_early(job, JobState::Cancelled);
        debug_assert!(cancelled.is_ok(), "a job that was admitted waits: {cancelled:?}");
        self.recorders.happens(Cause::Job, Some(job), self.state.now);
    }

    /// Return why a job that is submitted now is rejected, or None.
    fn rejection(&mut self, job: u32) -> Option<Rejection> {
        if let Some(known) = self.state.jobs.rejection(job) {
            Some(known)
        } else if self.state.conditions.as_ref().is_some_and(|conditions| conditions.can_never_start(job)) {
            Some(Rejection::Dependency)
        } else if matches!(self.scheduler, Scheduler::Reject) {
            Some(Rejection::Policy)
        } else if !self.can_ever_fit(job) {
            Some(Rejection::NeverFits)
        } else {
            self.state.over_submission_limit(&self.scenario, job).map(|_| Rejection::Limit)
        }
    }

    /// Return the minimum number of tasks of a start. An external scheduler may start a job on fewer tasks than
    /// requested if its type allows it.
    fn fewest_tasks(&self, job: u32) -> u32 {
        if self.scheduler.is_external() { self.sizes(job).0 } else { self.scenario.job(job).tasks }
    }

    /// Return whether a job passes the submission check; by default, whether it fits on the empty machine.
    fn can_ever_fit(&mut self, job: u32) -> bool {
        if self.scenario.job_check == JobCheck::None {
            return true;
        }
        let tasks = self.fewest_tasks(job);
        if self.scenario.job_check == JobCheck::Nodes && !self.allocator.is_free_to_spread() {
            let Self { scenario, state, allocator, .. } = self;
            let mut requests = View { scenario, state }.placement_requests(job);
            let fits = |want: PlacementRequest<'_>| {
                allocator.fits_when_empty(&state.machine, &PlacementRequest { tasks, ..want })
            };
            return requests.any(fits);
        }
        let Self { scenario, state, .. } = self;
        let mut requests = scenario.alternatives(job).iter();
        requests.any(|&request| u64::from(tasks) <= state.most_tasks(scenario, request))
    }

    /// Return whether a waiting job would fit on the machine if no other job ran and all nodes were available. An
    /// external scheduler may also release jobs on hold.
    pub(super) fn repairs_may_help(&self) -> bool {
        let queue = &self.state.queue;
        let fits = |&job: &u32| self.fits_on_whole_machine(job);
        let is_external = self.scheduler.is_external();
        queue.jobs().iter().any(fits) || (is_external && queue.on_hold.iter().any(fits))
    }

    fn fits_on_whole_machine(&self, job: u32) -> bool {
        let tasks = self.fewest_tasks(job);
        let machine = &self.state.machine;
        self.view().placement_requests(job).any(|want| {
            let want = PlacementRequest { tasks, ..want };
            self.allocator.fits(&EmptyMachine(machine), &want)
        })
    }

    fn reject(&mut self, job: u32, reason: Rejection) {
        self.reject_alone(job, reason);
        self.after_end(job, JobState::Rejected);
    }

    pub(super) fn reject_alone(&mut self, job: u32, reason: Rejection) {
        if self.state.jobs.state(job) == JobState::Queued {
            self.state.count_submitted(&self.scenario, job, -1);
            self.forget_own_event(job);
            self.key_event(job, KeyEvent::Departure);
        }
        self.state.forget_priority(job);
        self.state.jobs.reject(job, reason);
        self.state.finished += 1;
        self.recorders.changes.notify(Change::Rejected, job);
    }

    /// Delete the pending cancellation of a job that is over, or its pending return to the queue.
    pub(super) fn forget_own_event(&mut self, job: u32) {
        if self.state.own_events.is_empty() && self.state.legs.returns.is_empty() {
            return;
        }
        let row = self.scenario.job(job).row;
        if let Some(time) = self.scenario.attributes.cancelled_at(job) {
            self.state.own_events.remove(&(Time(time), row, job));
        }
        if let Some(time) = self.state.legs.returns.remove(&job) {
            self.state.own_events.remove(&(time, row, job));
        }
    }

    /// Process an event at the end of a running job's leg: the job releases its nodes and waits again, in the queue or
    /// outside.
    #[inline(never)]
    fn end_leg(&mut self, job: u32, event: RunEvent) {
        let (until, saved, done) = match (event, self.state.leg(&self.scenario, job)) {
            (RunEvent::Suspend(pause), Some(leg)) => {
                (self.state.now + pause, self.state.jobs.work_left(job), leg.until)
            }
            _ => (self.state.now, 0.0, 0.0),
        };
        self.leave_nodes_with(job, saved, |state, scenario| state.begin_next_leg(scenario, job, done));
        if until <= self.state.now {
            return self.wait_again(job);
        }
        self.state.put_on_hold(&self.scenario, &self.priority, job);
        self.recorders.tally.enqueued(View { scenario: &self.scenario, state: &self.state }, job);
        self.state.legs.returns.insert(job, Time(until));
        self.state.own_events.insert((Time(until), self.scenario.job(job).row, job));
    }

    /// Begin the launch of a job that has just received its nodes, or its work if the launch takes no time.
    pub(super) fn begin_run(&mut self, job: u32) {
        self.state.changed();
        let Some(run) = self.state.jobs.run(job) else { return };
        let sequence = match self.agenda.ties {
            EndTies::ByRow => self.scenario.job(job).row,
            EndTies::ByStart => self.state.starts,
        };
        self.state.starts += 1;
        self.state.running.set_sequence(run, sequence);
        let (now, launch) = (self.state.now, self.view().overhead(job).launch);
        let ready = self.state.ready_time(job);
        if ready > now || (launch > 0.0 && self.awaits_launch(job, now + launch)) {
            self.launch(job, run);
        } else {
            self.begin_work(job, run, now + launch);
        }
    }

    /// Return whether the end of a job's launch must be an event: something other than its work begins then, or its run
    /// takes no time, so that it ends at the same instant. Otherwise its work is scheduled at once for a later begin.
    fn awaits_launch(&self, job: u32, begin: f64) -> bool {
        let is_cut = self.scenario.wall_time == WallTime::Kill;
        let allowed = if is_cut { self.allowed_from(job, begin) } else { f64::INFINITY };
        let takes_time = begin + self.state.jobs.work_left(job).min(allowed) > begin;
        self.listeners.estimates || self.phases_mean_more() || !takes_time
    }

    /// Return whether the phases of runs affect more than the ends of their jobs.
    fn phases_mean_more(&self) -> bool {
        self.state.applications.is_some() || self.state.service.is_some() || self.scenario.bills_runs_only()
    }

    /// Schedule the end of a job's launch as an event.
    pub(super) fn launch(&mut self, job: u32, run: u32) {
        let (now, begin) = (self.state.now, self.view().work_begin(job));
        let sequence = self.state.running.get(run).sequence;
        self.state.running.set_phase(run, Phase::Launching);
        self.state.limits.remove(run);
        self.state.work.end_at(now, run, sequence, begin);
    }

    /// Begin the work of a job now, or later if its launch needs no event.
    pub(super) fn begin_work(&mut self, job: u32, run: u32, begin: f64) {
        let now = self.state.now;
        self.state.running.set_phase(run, Phase::Running);
        let sequence = self.state.running.get(run).sequence;
        if self.view().has_application(job) {
            // The job ends with its application or at its limit: cancel the end of its launch.
            self.state.work.stop(run);
            self.begin_application(job);
        } else {
            self.state.begin_service(&self.scenario, job, run, sequence, begin);
        }
        self.limit_run(job, run);
        if self.listeners.estimates {
            // A zero estimate expires at once, a corrected one later: at most one correction is made at an instant.
            let was_launched = self.view().overhead(job).launch > 0.0
                || self.state.counts_from(job) < self.state.ready_time(job);
            self.schedule_expiry(job, Time(if was_launched { now.next_up() } else { now }));
        }
        if self.scenario.bills_runs_only() {
            self.state.begin_charge(&self.scenario, job);
        }
    }

    /// Set when a running job is killed at its time limit, if time limits kill.
    pub(super) fn limit_run(&mut self, job: u32, run: u32) {
        if self.scenario.wall_time == WallTime::Kill {
            let from = self.state.now.max(self.view().work_begin(job));
            self.schedule_limit(job, run, from, self.allowed_from(job, from));
        }
    }

    /// Return how many seconds the time limit allows a job to run from a time on, which is the begin of its work or
    /// later.
    pub(super) fn allowed_from(&self, job: u32, from: f64) -> f64 {
        let (view, jobs) = (self.view(), &self.state.jobs);
        let end = self.scheduler.end_of(job, jobs.start_time(job), jobs.time_limit(job), view.now());
        let allowed = match end {
            Some(end) => end - from,
            None => view.allowed_run(job) - (from - view.work_begin(job)),
        };
        allowed.max(0.0)
    }

    /// Schedule the kill of a job that may run `allowed` seconds `from` a time on. No kill is scheduled if the job
    /// completes before at its current rate.
    fn schedule_limit(&mut self, job: u32, run: u32, from: f64, allowed: f64) {
        let now = self.state.now;
        let is_cut = || {
            // A controlled rate may change before.
            let has_run_time =
                !self.view().has_application(job) && self.state.runs_until(&self.scenario, job).is_none();
            !has_run_time || self.state.service.is_some() || {
                let (left, rate) = (self.state.work.left(now, run), self.state.work.rate(run));
                if rate > 0.0 { left / rate > allowed } else { true }
            }
        };
        if allowed.is_finite() && is_cut() {
            let sequence = self.state.running.get(run).sequence;
            self.state.limits.set(run, (Time(from + allowed), sequence));
        } else {
            self.state.limits.remove(run);
        }
    }

    /// Schedule the correction of an estimate when a running job reaches it, if that is at `from` or later.
    pub(super) fn schedule_expiry(&mut self, job: u32, from: Time) {
        if !self.listeners.estimates {
            return;
        }
        let Some(run) = self.state.jobs.run(job) else { return };
        if self.state.running.get(run).phase != Phase::Running {
            return;
        }
        let end = self.state.estimated_end(job);
        if end >= from && end != Time::NEVER {
            self.state.expiries.set(run, (end, self.scenario.job(job).row));
        } else {
            self.state.expiries.remove(run);
        }
    }

    /// End the current phase of a run and begin the next one. Return false if this was the last phase.
    pub(super) fn go_on_to_next_phase(&mut self, run: u32) -> bool {
        self.state.changed();
        let job = self.state.running.get(run).job;
        match self.state.running.get(run).phase {
            Phase::Launching => {
                self.begin_work(job, run, self.state.now);
                true
            }
            Phase::Running => match self.state.run_event(&self.scenario, job) {
                Some(event) => {
                    self.end_leg(job, event);
                    true
                }
                None => self.begin_completion(job, run, false),
            },
            Phase::Suspending => {
                let done = self.work_done(job);
                self.leave_nodes(job, done);
                self.wait_again(job);
                true
            }
            Phase::Completing(_) => false,
        }
    }

    /// End the next phase of a job that is not its last, if it ends before any other event: it triggers no call and no
    /// record, and needs no instant. Return whether there was one.
    pub(super) fn take_phase_before(&mut self, besides: Time) -> bool {
        let Some(((end, _), run)) = self.state.work.next() else { return false };
        let means_more =
            self.phases_mean_more() || self.state.sleep.is_some() || self.scenario.calendar.is_some();
        let phase = self.state.running.get(run).phase;
        let needs_pass = phase == Phase::Running && self.scheduler.needs_pass_at_completion();
        let means_more =
            means_more || needs_pass || phase == Phase::Suspending || self.view().waits_again(run);
        if end >= besides || means_more || self.view().is_last_phase(run) {
            return false;
        }
        self.state.now = end.0;
        self.go_on_to_next_phase(run)
    }

    /// Suspend a job: its work stops, and it releases its nodes after this many seconds.
    pub(super) fn begin_suspension(&mut self, job: u32, seconds: f64) {
        let Some(run) = self.state.jobs.run(job).filter(|_| !self.view().is_suspending(job)) else { return };
        let (now, done) = (self.state.now, self.work_done(job));
        self.state.begin_suspension(&self.scenario, job, done, now + seconds);
        self.state.end_service(&self.scenario, job);
        self.leave_work(job, run, Phase::Suspending, seconds);
        self.disturb();
    }

    /// Begin the completion phase of a job with completed work. Return false if completion takes no time.
    pub(super) fn begin_completion(&mut self, job: u32, run: u32, killed: bool) -> bool {
        let completion = self.view().overhead(job).completion;
        if completion <= 0.0 {
            return false;
        }
        self.state.forgo_work(&self.scenario, job);
        self.leave_work(job, run, Phase::Completing(killed), completion);
        self.scheduler.completing();
        true
    }

    /// Stop the work of a job that holds its nodes for this many seconds in a phase.
    fn leave_work(&mut self, job: u32, run: u32, phase: Phase, seconds: f64) {
        self.state.running.set_phase(run, phase);
        if self.scenario.bills_runs_only() {
            self.state.end_charge(&self.scenario, job);
        }
        self.state.limits.remove(run);
        self.state.expiries.remove(run);
        let sequence = self.state.running.get(run).sequence;
        self.state.work.start(self.state.now, run, sequence, seconds, 1.0);
    }

    /// End the run of a job that reaches its limit. Return whether its completion phase begins.
    pub(super) fn cut_run(&mut self, run: u32) -> bool {
        let job = self.state.running.get(run).job;
        let completes = self.begin_completion(job, run, true);
        if completes {
            self.note_cut_application(job);
            self.stop_application(job);
        }
        completes
    }

    /// End a running job that has completed or reached its limit.
    pub(super) fn complete(&mut self, job: u32, at_limit: bool) {
        let Some(run) = self.state.jobs.run(job) else { return };
        let was_killed = self.state.running.get(run).phase == Phase::Completing(true);
        self.release_held_nodes(job);
        if at_limit {
            self.note_cut_application(job);
            self.stop_application(job);
        }
        let state = || self.state.state_when_done(&self.scenario, job);
        let state = if at_limit || was_killed { JobState::Killed } else { state() };
        self.end(job, state);
    }

    /// Release the nodes of a running job, unless it released them at the beginning of this instant.
    pub(super) fn release_held_nodes(&mut self, job: u32) {
        if self.state.holds_nodes(job) {
            self.release_nodes(job);
        }
    }

    /// Release the nodes of a running job.
    pub(super) fn release_nodes(&mut self, job: u32) {
        self.recorders.nodes_to_be_released(View { scenario: &self.scenario, state: &self.state }, job);
        self.state.count_busy(&self.scenario, job, -1.0);
        self.state.give_back(&self.scenario, job);
        self.state.open_after(&self.scenario, &self.priority, job);
        self.recorders.nodes_released(View { scenario: &self.scenario, state: &self.state }, job);
    }

    /// Record the work of a job with a run that is interrupted now, in any phase.
    pub(super) fn note_short_run(&mut self, job: u32) {
        let work_end = self.view().work_end(job).unwrap_or(self.state.now);
        let work_start = self.view().work_begin(job);
        self.state.note_short_run(job, work_start, work_end, false);
    }

    /// End a job that has released its nodes.
    pub(super) fn end(&mut self, job: u32, state: JobState) {
        let before = self.state.jobs.state(job);
        if !matches!(before, JobState::Queued | JobState::Running) {
            return self.state.violates(job, Violation::EndedTwice(before));
        }
        self.state.count_submitted(&self.scenario, job, -1);
        self.forget_own_event(job);
        self.key_event(job, KeyEvent::Departure);
        self.state.leave_running(&self.scenario, job);
        self.state.forget_priority(job);
        self.state.jobs.end(job, self.state.now, state);
        self.state.ended.push(job);
        self.state.finished += 1;
        self.cursor.idle = 0;
        let change = if state == JobState::Completed { Change::Completed } else { Change::Killed };
        self.recorders.changes.notify(change, job);
        self.after_end(job, state);
    }
}
