//! Application of external events (S18): most equal a decision. An event that does not apply changes nothing.
use std::ops::Range;

use crate::decision::{Decision, Preemption};
use crate::record::Cause;
use crate::state::Phase;
use crate::time::Time;
use crate::workload::{Evacuation, ExternalEvent, JobState, LimitedQuantity};

use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// Return the time of the next external event; never if no job is left that it could affect.
    pub(super) fn next_external_event(&self) -> Time {
        let (next, own) = (self.feed.next_event_time(), self.next_own_event());
        let is_any_left = || {
            self.feed.next_time() != Time::NEVER
                || !self.state.running.is_empty()
                || !self.state.queue.has_none_waiting()
        };
        let next = if next == Time::NEVER || is_any_left() { next } else { Time::NEVER };
        next.min(own)
    }

    /// Return whether an external event happens at an instant. An event that had nothing to affect at its due time does
    /// not happen at a later instant, for example at a look of a control.
    pub(super) fn external_event_is_due(&self, now: Time) -> bool {
        self.feed.next_event_time() == now || self.next_external_event() <= now
    }

    /// Return when the next job without a run time is cancelled, or the next suspended job returns to the queue.
    pub(super) fn next_own_event(&self) -> Time {
        self.state.own_events.first().map_or(Time::NEVER, |(time, ..)| *time)
    }

    /// Apply the next external event, which is due. Events of the jobs themselves precede those of the list of events.
    pub(super) fn take_external_event(&mut self) -> Result<(), F::Error> {
        if self.next_own_event() <= Time(self.state.now) {
            if let Some((.., job)) = self.state.own_events.pop_first() {
                if self.state.legs.returns.remove(&job).is_some() {
                    let released = self.apply(Decision::Release(job));
                    debug_assert!(released.is_ok(), "a job that was suspended is held: {released:?}");
                } else if self.cancel(job) {
                    self.recorders.happens(Cause::Job, Some(job), self.state.now);
                }
            }
            return Ok(());
        }
        let Some(event) = self.feed.take_event(&self.scenario)? else { return Ok(()) };
        let about = cause_of(&event);
        let applied = self.happens(event);
        if let (true, Some((cause, job))) = (applied, about) {
            self.recorders.happens(cause, job, self.state.now);
        }
        if let Some(log) = &mut self.recorders.events {
            log.applied.push(applied);
        }
        Ok(())
    }

    /// Apply an event. Return false if it does not apply.
    pub(super) fn happens(&mut self, event: ExternalEvent) -> bool {
        match event {
            ExternalEvent::Cancel(job) => self.cancel(job),
            ExternalEvent::Kill(job) => self.is_running(job) && self.apply(Decision::Kill(job)).is_ok(),
            ExternalEvent::Requeue(job) => {
                self.scenario.attributes.may_be_requeued(job)
                    && self.apply(Decision::Preempt { job, keep: Preemption::Requeue }).is_ok()
            }
            ExternalEvent::End(job) => self.end_run(job),
            ExternalEvent::Hold(job) => self.hold_job(job),
            ExternalEvent::Release(job) => {
                self.state.held_ahead.remove(&job)
                    || (self.is_held(job) && self.apply(Decision::Release(job)).is_ok())
            }
            ExternalEvent::SetRequestedTime { job, seconds } => self.set_requested_time(job, seconds),
            ExternalEvent::SetPriority { job, priority } => self.set_priority(job, priority),
            ExternalEvent::CloseNodes { nodes, jobs } => self.close_nodes(&nodes, jobs),
            ExternalEvent::OpenNodes(nodes) => self.open_nodes(&nodes),
            ExternalEvent::SetLimit { limit, quantity, value } => self.set_limit(limit, quantity, value),
            ExternalEvent::Reserve(reservation) => self.set_known(reservation, true),
            ExternalEvent::Unreserve(reservation) => self.set_known(reservation, false),
            ExternalEvent::StopScheduler => !std::mem::replace(&mut self.state.is_stopped, true),
            ExternalEvent::StartScheduler => {
                let was_stopped = std::mem::take(&mut self.state.is_stopped);
                if was_stopped {
                    self.disturb();
                }
                was_stopped
            }
        }
    }

    fn is_queued(&self, job: u32) -> bool {
        self.state.jobs.state(job) == JobState::Queued
    }

    /// Cancel a waiting job, or a running job without a run time.
    fn cancel(&mut self, job: u32) -> bool {
        let has_run_time = self.state.runs_until(&self.scenario, job).is_none();
        if !self.is_queued(job) && (has_run_time || !self.is_running(job)) {
            return false;
        }
        self.state.changed();
        self.end_early(job, JobState::Cancelled).is_ok()
    }

    fn is_running(&self, job: u32) -> bool {
        self.state.jobs.state(job) == JobState::Running
    }

    /// Return whether a job is on hold, or would be once it is eligible.
    fn is_held(&self, job: u32) -> bool {
        let conditions = self.state.conditions.as_ref();
        let waits = conditions.is_some_and(|conditions| conditions.waits(job));
        conditions.is_some_and(|conditions| conditions.is_held(job))
            || (!waits && self.state.queue.on_hold.contains(&job))
    }

    fn hold_job(&mut self, job: u32) -> bool {
        if self.state.jobs.state(job) == JobState::Loaded {
            self.state.held_ahead.insert(job);
            return true;
        }
        let was_in_queue = self.is_queued(job) && !self.state.queue.on_hold.contains(&job);
        let applied = self.apply(Decision::Hold(job)).is_ok();
        if applied && was_in_queue {
            self.disturb();
        }
        applied
    }

    /// End the run of a job at this instant; if it was in its launch, the launch ends too.
    fn end_run(&mut self, job: u32) -> bool {
        let Some(run) = self.state.jobs.run(job) else { return false };
        match self.state.running.get(run).phase {
            Phase::Suspending | Phase::Completing(_) => return false,
            Phase::Launching => self.begin_work(job, run, self.state.now),
            Phase::Running => {}
        }
        self.stop_application(job);
        self.state.forgo_work(&self.scenario, job);
        self.state.end_legs(&self.scenario, job);
        let work_start = self.view().work_begin(job);
        self.state.note_short_run(job, work_start, self.state.now, true);
        let (now, sequence) = (self.state.now, self.state.running.get(run).sequence);
        self.state.work.end_at(now, run, sequence, now);
        true
    }

    fn set_requested_time(&mut self, job: u32, seconds: f64) -> bool {
        if !(self.is_queued(job) || self.is_running(job)) {
            return false;
        }
        let before = self.state.jobs.requested_time(job);
        let follows = Time(self.state.jobs.estimate(job)) == Time(before);
        self.state.set_requested_time(&self.scenario, &self.priority, job, seconds);
        self.state.recount_minutes(&self.scenario, job);
        if follows {
            let set = self.apply(Decision::SetEstimate { job, seconds });
            debug_assert!(set.is_ok(), "a requested_time is a duration: {set:?}");
        }
        if let Some(run) = self.state.jobs.run(job)
            && self.state.running.get(run).phase == Phase::Running
        {
            let launch = self.view().overhead(job).launch;
            let is_ahead = self.state.service.is_none() && self.state.now <= self.view().work_begin(job);
            if launch > 0.0 && is_ahead {
                // The run may take no time now.
                self.launch(job, run);
            } else {
                self.limit_run(job, run);
            }
        }
        if Time(before) != Time(seconds) {
            self.disturb();
        }
        true
    }

    fn set_priority(&mut self, job: u32, priority: Option<f64>) -> bool {
        if self.state.jobs.state(job) == JobState::Loaded {
            self.state.fix_ahead(job, priority);
            return true;
        }
        if !(self.is_queued(job) || self.is_running(job)) {
            return false;
        }
        self.state.fix_priority(&self.scenario, &self.priority, job, priority);
        self.disturb();
        true
    }

    fn set_limit(&mut self, limit: u32, quantity: LimitedQuantity, value: Option<f64>) -> bool {
        let applied = self.state.set_limit(&self.scenario, &self.priority, limit, quantity, value);
        if applied {
            self.disturb();
        }
        applied
    }

    /// Make a reservation known or unknown. A reservation that begins now may cancel jobs.
    fn set_known(&mut self, reservation: u32, is_known: bool) -> bool {
        let applied = self.state.set_known(&self.scenario, reservation, is_known);
        if applied {
            let now = self.state.now;
            let known = self.state.occurrences(&self.scenario);
            self.cursor.cut = known.filter(|known| known.has_cuts_at(now)).map(|_| Time(now));
            self.state.turn_calendar(&self.scenario, &self.priority);
            self.disturb();
        }
        applied
    }

    fn close_nodes(&mut self, nodes: &[Range<u32>], jobs: Evacuation) -> bool {
        let mut applied = false;
        for node in nodes.iter().cloned().flatten() {
            applied |= !self.state.machine.is_drained(node);
            let drained = self.apply(Decision::Drain(node));
            debug_assert!(drained.is_ok(), "the node is there: {drained:?}");
            if jobs != Evacuation::Stay {
                applied |= self.evacuate(node, jobs == Evacuation::Kill);
            }
        }
        applied
    }

    /// Kill or requeue the jobs on a node, by their expected ends. Return whether there were any.
    fn evacuate(&mut self, node: u32, kills: bool) -> bool {
        let there = self.view().jobs_on(node);
        for &job in &there {
            let decision = if kills {
                Decision::Kill(job)
            } else {
                Decision::Preempt { job, keep: Preemption::Requeue }
            };
            let cut = self.apply(decision);
            debug_assert!(cut.is_ok(), "a job on a node runs: {cut:?}");
        }
        !there.is_empty()
    }

    fn open_nodes(&mut self, nodes: &[Range<u32>]) -> bool {
        let mut applied = false;
        for node in nodes.iter().cloned().flatten() {
            applied |= self.state.machine.is_drained(node);
            let resumed = self.apply(Decision::Resume(node));
            debug_assert!(resumed.is_ok(), "the node is there: {resumed:?}");
        }
        applied
    }
}

/// Return how an event that applies may move promised starts, and its job; None for events about nodes, where each node
/// that changes counts.
fn cause_of(event: &ExternalEvent) -> Option<(Cause, Option<u32>)> {
    Some(match *event {
        ExternalEvent::Cancel(job)
        | ExternalEvent::Kill(job)
        | ExternalEvent::End(job)
        | ExternalEvent::Requeue(job)
        | ExternalEvent::Hold(job)
        | ExternalEvent::Release(job)
        | ExternalEvent::SetRequestedTime { job, .. }
        | ExternalEvent::SetPriority { job, .. } => (Cause::Job, Some(job)),
        ExternalEvent::SetLimit { .. } => (Cause::Limit, None),
        ExternalEvent::Reserve(_) | ExternalEvent::Unreserve(_) => (Cause::Reservation, None),
        ExternalEvent::StopScheduler | ExternalEvent::StartScheduler => (Cause::Scheduler, None),
        ExternalEvent::CloseNodes { .. } | ExternalEvent::OpenNodes(_) => return None,
    })
}
