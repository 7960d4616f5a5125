//! A scheduling pass: the scheduler proposes decisions, and the simulation checks and applies them, until there are no
//! more.
use crate::cluster::{NodeTasks, Unanswered};
use crate::decision::{Decision, Preemption};
use crate::scheduler::{SchedulingRule, Step};
use crate::time::Time;

use super::cursor::LoopState;
use super::triggers::Trigger;
use super::{Feed, Refusal, Simulation, View, YieldPoint};

/// Maximum number of suspensions of a job by a discipline at one time: under limits, a selection depends on the running
/// jobs, so that two jobs could replace each other endlessly (S20).
const MOST_SUSPENSIONS: usize = 8;

impl<F: Feed> Simulation<F> {
    /// Begin or continue a pass, to its end or to the next point at which an external party is called.
    pub(super) fn go_on_with_pass(&mut self) -> Result<Option<YieldPoint>, F::Error> {
        if self.cursor.at == LoopState::Notifying {
            self.cursor.at = LoopState::Prioritising;
            if self.recorders.changes.any() {
                return Ok(Some(YieldPoint::Changes));
            }
        }
        while self.cursor.at != LoopState::AfterPass {
            if let Some(point) = self.pass_once() {
                return Ok(Some(point));
            }
        }
        self.end_pass()?;
        self.cursor.at = LoopState::Events;
        Ok(None)
    }

    /// Process the queue until the pass is over, restarts at the head of the queue, or an external party has to be
    /// called.
    fn pass_once(&mut self) -> Option<YieldPoint> {
        if self.cursor.at == LoopState::Prioritising {
            self.cursor.at = LoopState::Passing;
            if self.begin_pass() {
                return Some(YieldPoint::Priorities);
            }
        }
        if self.cursor.at == LoopState::Passing {
            let goes_on = self.open_pass();
            self.cursor.at = if goes_on { LoopState::Proposing } else { LoopState::AfterPass };
        }
        if self.cursor.at == LoopState::Proposing {
            if let Some(point) = self.propose() {
                return Some(point);
            }
            if self.cursor.at == LoopState::Proposing {
                self.cursor.at = LoopState::AfterPass;
            }
        }
        None
    }

    /// Return whether keys have to be requested from outside at the begin of a pass.
    fn begin_pass(&mut self) -> bool {
        // Reservations need the order even if nothing can start, and an external scheduler may read it for any reason.
        let is_seen = || self.scheduler.plans_ahead() || self.view().may_start_some();
        self.priority.is_external() && self.state.queue.len() > 1 && is_seen()
    }

    /// Open a pass. Return whether the scheduler can have proposals in it.
    fn open_pass(&mut self) -> bool {
        if let Some(log) = self.recorders.dispatch.as_mut().filter(|_| self.cursor.stopwatch.is_none()) {
            self.cursor.stopwatch = Some(log.begin());
        }
        self.cursor.is_disturbed = false;
        self.cursor.calendar_turn = None;
        self.cursor.plan_due = None;
        // A pass also processes ended exempt times, with or without waiting jobs.
        let has_no_effect = self.state.queue.is_empty()
            && self.state.preemption.is_none()
            && self.scheduler.looks_at_queue_only();
        if !has_no_effect || self.state.calculation.is_some() {
            self.refresh_priorities();
        }
        !has_no_effect
    }

    /// Sort the queue if the scheduler examines all of it and keys change with time.
    fn refresh_priorities(&mut self) {
        // Open closed jobs before the queue is sorted: whether some job may start depends on the open jobs.
        if self.view().looks_at_each() {
            self.state.open_all(&self.scenario, &self.priority);
        } else if self.scenario.limits.is_some() {
            self.state.open_counted_down(&self.scenario, &self.priority);
        }
        if self.state.calculation.is_some() {
            self.refresh_calculated();
        }
        let keys_change = self.priority.changes_with_time();
        if self.allocator.as_external().is_some() {
            self.scheduler.reexamine();
        }
        // Submissions are almost always pending, and cheaper to check.
        let are_to_come = self.feed.next_time() != Time::NEVER || self.next_external_event() != Time::NEVER;
        self.scheduler.awaits_events(are_to_come);
        let view = View { scenario: &self.scenario, state: &self.state };
        let looks_at_all = self.scheduler.begin(view, keys_change);
        self.state.running.forget_changed();
        if looks_at_all && keys_change && !self.priority.is_external() {
            self.state.refresh_priorities(&self.scenario, &self.priority);
        }
        if self.state.preemption.is_some() {
            self.begin_preemption();
        }
    }

    /// Process the scheduler's proposals until there are no more, or an external party has to be called.
    fn propose(&mut self) -> Option<YieldPoint> {
        loop {
            if self.signal_poll.is_due() {
                return Some(YieldPoint::Pause);
            }
            let Ok(step) = self.next_step() else {
                let question = self.allocator.as_external().and_then(|allocator| allocator.question());
                return question.map(|question| YieldPoint::Allocation(question.job));
            };
            if self.state.preemption.is_some() {
                self.forget_preempting_jobs(&step);
            }
            let goes_on = match step {
                Step::Ask if self.is_asked() => return Some(YieldPoint::Decision),
                Step::Ask | Step::Continue => true,
                Step::PassOver(job) => {
                    self.state.open_next_like(&self.scenario, &self.priority, job);
                    true
                }
                Step::Close(job, counter) => {
                    self.state.close(&self.scenario, &self.priority, job, counter);
                    true
                }
                Step::Propose(decision) => self.take_proposal(decision),
                Step::Suspend(job) => self.suspend(job),
                Step::Preempt(job, decisions) => self.make_room(job, decisions),
                Step::Done => false,
            };
            if !goes_on {
                return None;
            }
        }
    }

    /// Return the scheduler's next step.
    fn next_step(&mut self) -> Result<Step, Unanswered> {
        if self.scheduler.asks_for_running(View { scenario: &self.scenario, state: &self.state }) {
            self.state.complete_expected_ends(&self.scenario);
        }
        if self.allocator.as_external().is_some() {
            return self.next_step_asking_outside();
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        self.scheduler.propose(view, &mut self.allocator)
    }

    /// Return the scheduler's next step with an external allocator. If an answer is missing, restore the scheduler's
    /// state; the step runs again once the allocator has answered.
    #[inline(never)]
    fn next_step_asking_outside(&mut self) -> Result<Step, Unanswered> {
        let view = View { scenario: &self.scenario, state: &self.state };
        if let Some(external) = self.allocator.as_external_mut() {
            external.begin_step();
        }
        let before = self.scheduler.clone();
        let step = self.scheduler.propose(view, &mut self.allocator);
        if step.is_err() {
            self.scheduler = before;
        } else if let Some(external) = self.allocator.as_external_mut() {
            external.end_step();
        }
        step
    }

    /// Apply a proposal of a rule. Return false if it is refused: that is a defect of the rule, which would repeat it,
    /// so the pass ends.
    fn take_proposal(&mut self, decision: Decision) -> bool {
        let applied = self.apply(decision);
        debug_assert!(applied.is_ok(), "what a rule proposes fits: {applied:?}");
        applied.is_ok()
    }

    /// Suspend a job for a discipline, unless its end is being processed, or it was suspended too often at this time.
    /// Return whether the pass continues.
    #[inline(never)]
    fn suspend(&mut self, job: u32) -> bool {
        let times = self.cursor.suspended.iter().filter(|&&other| other == job).count();
        if times >= MOST_SUSPENSIONS || self.check_interruptible(job).is_err() {
            return true;
        }
        self.cursor.suspended.push(job);
        self.take_proposal(Decision::Preempt { job, keep: Preemption::Suspend })
    }

    /// Return whether an external scheduler has something to decide.
    fn is_asked(&self) -> bool {
        let points = self.state.applications.as_ref();
        let at_point = points.is_some_and(|running| !running.at_scheduling_point().is_empty());
        let is_asked = self.listeners.every_instant || at_point || self.agenda.triggers.is_some();
        is_asked || !self.state.queue.is_empty()
    }

    /// Answer the question of [`YieldPoint::Allocation`] with nodes that have room for the job's tasks, or None.
    pub fn answer_allocation(&mut self, placement: Option<Vec<NodeTasks>>) -> Result<(), Refusal> {
        if let Some(placement) = &placement {
            self.check_answer(placement)?;
        }
        self.allocator_answers(placement);
        Ok(())
    }

    pub(super) fn allocator_answers(&mut self, placement: Option<Vec<NodeTasks>>) {
        if let Some(allocator) = self.allocator.as_external_mut() {
            allocator.answer(placement);
        }
    }

    /// End a pass: begin the runs of started jobs, and hand over ended jobs.
    fn end_pass(&mut self) -> Result<(), F::Error> {
        if let (Some(log), Some(timer)) = (&mut self.recorders.dispatch, self.cursor.stopwatch.take()) {
            log.end(&timer, View { scenario: &self.scenario, state: &self.state });
        }
        if self.recorders.gates.is_some() {
            self.follow_queue();
        }
        // Jobs at scheduling points continue before others begin.
        if self.state.applications.is_some() {
            self.leave_scheduling_points();
        }
        let started = std::mem::take(&mut self.state.started);
        for &job in &started {
            self.recorders.tally.started(View { scenario: &self.scenario, state: &self.state }, job);
            self.begin_run(job);
        }
        self.state.queue.arrived.clear();
        self.note_called();
        if self.state.conditions.is_some() {
            self.after_starts(&started);
        }
        self.state.started = started;
        self.state.started.clear();
        if self.state.preemption.is_some() {
            self.requeue_or_end_victims();
        }
        if self.scenario.sleep.is_some() {
            self.look_at_head();
        }
        self.cursor.trigger = Trigger::Instant;
        if !self.state.ended.is_empty() {
            self.hand_over_ended()?;
        }
        if self.recorders.gates.is_some() {
            self.look_at_gates();
        }
        Ok(())
    }

    /// Hand the ended jobs over to the feed.
    pub(super) fn hand_over_ended(&mut self) -> Result<(), F::Error> {
        let mut ended = std::mem::take(&mut self.state.ended);
        for job in ended.drain(..) {
            self.hand_over(job)?;
        }
        self.state.ended = ended;
        Ok(())
    }

    /// Measure a job that ended or was rejected, and hand it over to the feed.
    pub(super) fn hand_over(&mut self, job: u32) -> Result<(), F::Error> {
        let view = View { scenario: &self.scenario, state: &self.state };
        self.recorders.tally.finished(view, job, || self.feed.run_time(&self.scenario, job));
        self.feed.finished(&self.scenario, &mut self.state, job)
    }
}
