//! Application of decisions: each is checked, and either applied completely or refused without changes.
use crate::cluster::{NodeTasks, Place, PlacementRequest, place_at, placement_of_ranks};
use crate::decision::{Decision, Effect, Preemption, Where};
use crate::record::{Cause, Change, PowerMeter, PricedKind, ThermalModel};
use crate::scenario::Scenario;
use crate::scheduler::{PolicyParts, SchedulingRule};
use crate::state::{BEYOND_RESERVATION, Phase, State};
use crate::time::Time;
use crate::workload::JobState;

use super::cursor::LoopState;
use super::{Feed, Refusal, Simulation, View};

impl<F: Feed> Simulation<F> {
    /// Check and apply an external decision.
    pub fn decide(&mut self, decision: Decision) -> Result<Effect, Refusal> {
        if let Decision::Start { job, .. } | Decision::Reserve { job, .. } = decision {
            self.check_startable(job)?;
        }
        self.apply(decision)
    }

    /// Check and apply a decision of a rule or from outside.
    pub(super) fn apply(&mut self, decision: Decision) -> Result<Effect, Refusal> {
        if !matches!(decision, Decision::Wake { .. }) {
            self.state.changed();
        }
        match decision {
            Decision::Start { job, place, tasks } => return self.start(job, place, tasks),
            Decision::Reserve { job, at } => return self.reserve(job, at),
            Decision::Hold(job) => self.hold(job)?,
            Decision::Release(job) => self.release(job)?,
            Decision::Kill(job) => self.end_early(job, JobState::Killed)?,
            Decision::Preempt { job, keep } => self.preempt(job, keep)?,
            Decision::Resize { job, size } => self.resize(job, size)?,
            Decision::SetRate { job, rate } => self.set_rate(job, rate)?,
            Decision::SetServiceRate { control, rate } => self.set_service_rate(control, rate)?,
            Decision::SetEstimate { job, seconds } => self.set_estimate(job, seconds)?,
            Decision::SetRuntimeArguments { job, arguments } => {
                self.check_job(job)?;
                if !self.view().has_application(job) {
                    return Err(Refusal::NoApplication(job));
                }
                if let Some(running) = &mut self.state.applications {
                    running.execution.set_runtime_arguments(job, arguments);
                }
            }
            Decision::Drain(node) => self.set_drained(node, true)?,
            Decision::Resume(node) => self.set_drained(node, false)?,
            Decision::ReserveCapacity { node, amounts } => self.reserve_capacity(node, &amounts)?,
            Decision::Wake { time, caller, purpose } => {
                self.check_time(time)?;
                self.cursor.timers.set(time, caller, purpose);
            }
        }
        Ok(Effect::Done)
    }

    /// Start a queued job; `NotNow` if the allocator finds no nodes, or if its nodes would delay a reservation.
    fn start(&mut self, job: u32, place: Where, tasks: Option<u32>) -> Result<Effect, Refusal> {
        self.check_in_queue(job)?;
        let is_free_choice = matches!(place, Where::AskAllocator);
        // A choice that a kernel rule has just made has room: the allocator has checked it.
        let is_proven = matches!(place, Where::Proposed) && self.allocator.as_external().is_none();
        let mut ranks = None;
        let placement = match place {
            Where::Proposed => std::mem::take(&mut self.allocator.chosen),
            Where::AskAllocator => match self.place_now(job, tasks)? {
                Some(placement) => placement,
                None => return Ok(Effect::NotNow),
            },
            Where::Nodes(placement) => placement,
            Where::Ranks(nodes) => {
                let placement = placement_of_ranks(&nodes);
                ranks = Some(nodes);
                placement
            }
        };
        if is_proven {
            debug_assert!(
                self.check_placement(job, &placement).is_ok(),
                "the allocator chose room that is there"
            );
        } else {
            self.check_placement(job, &placement)?;
        }
        if self.scheduler.is_external()
            && let Some(limit) = self.limit_over(job, Some(placement.iter().map(|part| part.tasks).sum()))
        {
            return if is_free_choice { Ok(Effect::NotNow) } else { Err(Refusal::OverLimit { job, limit }) };
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        if let Some(external) = self.scheduler.as_external_mut()
            && !external.admit(view, &self.allocator, job, &placement)
        {
            return if is_free_choice { Ok(Effect::NotNow) } else { Err(Refusal::Delays(job)) };
        }
        self.take_nodes(job, &placement);
        if self.state.applications.is_some() {
            self.place_ranks(job, ranks);
        }
        self.recorders.changes.notify(Change::Started, job);
        // The next choice reuses this buffer.
        self.allocator.chosen = placement;
        Ok(Effect::Done)
    }

    /// Return the first limit, by number, that a waiting job would exceed if it started with this many tasks now;
    /// [`BEYOND_RESERVATION`] if it could not end within its reservation.
    #[must_use]
    pub fn limit_over(&self, job: u32, tasks: Option<u32>) -> Option<u32> {
        if self.state.jobs.state(job) != JobState::Queued {
            return None;
        }
        let tasks = tasks.unwrap_or(self.scenario.job(job).tasks);
        match (self.state.over_limit(&self.scenario, job, tasks)?, &self.scenario.limits) {
            (BEYOND_RESERVATION, _) | (_, None) => Some(BEYOND_RESERVATION),
            (counter, Some(limits)) => Some(limits.cap(counter).limit),
        }
    }

    pub(super) fn take_nodes(&mut self, job: u32, placement: &[NodeTasks]) {
        self.state.start(&self.scenario, job, placement);
        self.state.count_busy(&self.scenario, job, 1.0);
        self.state.open_next_like(&self.scenario, &self.priority, job);
        if self.scheduler.plans_to_the_end() && self.state.ready_time(job) > self.state.now {
            // The plan does not account for the wake-up of the job's nodes.
            self.disturb();
        }
        self.recorders.nodes_taken(View { scenario: &self.scenario, state: &self.state }, job, placement);
        self.allocator.started(placement);
        if let (Some(rules), Some(preemption)) = (&self.scenario.preemption, &mut self.state.preemption) {
            preemption.waiting_victims.remove(&job);
            if rules.exempt_time > 0.0 && self.scheduler.preempts() {
                preemption.begin_exemption(job, self.state.now + rules.exempt_time);
            }
        }
    }

    /// Return the allocator's placement of a queued job now, for this many tasks. None if it does not fit.
    pub fn place_now(&mut self, job: u32, tasks: Option<u32>) -> Result<Option<Vec<NodeTasks>>, Refusal> {
        self.check_job(job)?;
        let view = View { scenario: &self.scenario, state: &self.state };
        let mut placement = std::mem::take(&mut self.allocator.chosen);
        let fits = match tasks {
            None => view.placement_requests(job).any(|want| {
                let (machine, now) = (&self.state.machine, view.now());
                let powered_nodes = view.powered_nodes().filter(|_| self.allocator.as_external().is_none());
                view.may_fit_request(&want)
                    && (powered_nodes.is_some_and(|powered_nodes| {
                        place_at(&mut self.allocator, &powered_nodes, &want, now, &mut placement) == Ok(true)
                    }) || place_at(&mut self.allocator, machine, &want, now, &mut placement) == Ok(true))
            }),
            Some(tasks) => {
                self.check_size(job, u64::from(tasks))?;
                view.placement_requests(job).any(|want| {
                    let want = PlacementRequest { tasks, ..want };
                    self.allocator.place(&view.expansion(job), &want, &mut placement) == Ok(true)
                })
            }
        };
        Ok(fits.then_some(placement))
    }

    fn reserve(&mut self, job: u32, at: Option<f64>) -> Result<Effect, Refusal> {
        if let Some(time) = at {
            self.check_time(time)?;
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        let Some(external) = self.scheduler.as_external_mut() else { return Err(Refusal::DecidesItself) };
        match at {
            None => Ok(Effect::Reserved(external.reserve(view, &self.allocator, job))),
            Some(time) if external.reserve_at(view, &self.allocator, job, time) => Ok(Effect::Reserved(time)),
            Some(time) => Err(Refusal::NoFit { job, time }),
        }
    }

    fn hold(&mut self, job: u32) -> Result<(), Refusal> {
        self.check_state(job, JobState::Queued, "queued")?;
        if let Some(conditions) = self.state.conditions.as_mut().filter(|conditions| conditions.waits(job)) {
            conditions.hold(job);
        } else if !self.state.queue.on_hold.contains(&job) {
            self.leave_queue(job);
            self.state.queue.on_hold.insert(job);
        } else if self.state.legs.returns.contains_key(&job) {
            self.forget_own_event(job);
        }
        Ok(())
    }

    fn release(&mut self, job: u32) -> Result<(), Refusal> {
        self.check_state(job, JobState::Queued, "queued")?;
        if let Some(conditions) = &mut self.state.conditions {
            let was_held = conditions.release(job);
            if conditions.waits(job) {
                return if was_held { Ok(()) } else { Err(Refusal::NotEligible(job)) };
            }
        }
        if self.state.queue.on_hold.remove(&job) {
            if self.state.legs.returns.contains_key(&job) {
                self.forget_own_event(job);
            }
            self.state.enqueue(&self.scenario, &self.priority, job);
            self.disturb();
        }
        Ok(())
    }

    /// End a waiting or running job in the given state.
    pub(super) fn end_early(&mut self, job: u32, ended: JobState) -> Result<(), Refusal> {
        self.check_job(job)?;
        match self.state.jobs.state(job) {
            JobState::Queued => self.leave_queue(job),
            JobState::Running => {
                self.check_interruptible(job)?;
                if self.end_completion(job) {
                    return Ok(());
                }
                self.note_short_run(job);
                self.release_nodes(job);
                self.stop_application(job);
            }
            state => return Err(Refusal::WrongState { job, state, needed: "queued or running" }),
        }
        self.disturb();
        self.end(job, ended);
        Ok(())
    }

    fn preempt(&mut self, job: u32, keep: Preemption) -> Result<(), Refusal> {
        self.check_state(job, JobState::Running, "running")?;
        self.check_interruptible(job)?;
        if self.end_completion(job) {
            return Ok(());
        }
        if keep == Preemption::Requeue && !self.scenario.attributes.may_be_requeued(job) {
            return self.end_early(job, JobState::Killed);
        }
        if keep == Preemption::Suspend && !self.view().has_application(job) {
            let seconds = self.view().overhead(job).suspend;
            if seconds > 0.0 {
                self.begin_suspension(job, seconds);
                return Ok(());
            }
        }
        self.cut_short(job, keep)?;
        self.wait_again(job);
        Ok(())
    }

    /// End a job in its completion phase. Return false if it is not in one.
    fn end_completion(&mut self, job: u32) -> bool {
        let Some(run) = self.state.jobs.run(job) else { return false };
        let Phase::Completing(killed) = self.state.running.get(run).phase else { return false };
        self.note_short_run(job);
        self.release_nodes(job);
        self.disturb();
        let state = if killed { JobState::Killed } else { self.state.state_when_done(&self.scenario, job) };
        self.end(job, state);
        true
    }

    /// Return a job with an interrupted run to the queue.
    pub(super) fn wait_again(&mut self, job: u32) {
        self.state.enqueue(&self.scenario, &self.priority, job);
        self.recorders.tally.enqueued(View { scenario: &self.scenario, state: &self.state }, job);
    }

    /// Interrupt a running job and release its nodes; its run restarts later.
    pub(super) fn cut_short(&mut self, job: u32, keep: Preemption) -> Result<(), Refusal> {
        if self.view().has_application(job) && keep != Preemption::Requeue {
            return Err(Refusal::Stateless(job));
        }
        let done = self.work_done(job);
        let saved = match keep {
            Preemption::Requeue => 0.0,
            Preemption::Suspend => done,
            Preemption::FromCheckpoint(every) if every.is_finite() && every > 0.0 => {
                (done / every).floor() * every
            }
            Preemption::FromCheckpoint(every) => return Err(Refusal::BadDuration(every)),
        };
        self.leave_nodes(job, saved);
        Ok(())
    }

    /// Release the nodes of a running job, which keeps this much of its work.
    pub(super) fn leave_nodes(&mut self, job: u32, saved: f64) {
        self.leave_nodes_with(job, saved, |_, _| {});
    }

    /// Same as `leave_nodes`, with a change of the job's next work in `goes_on`.
    pub(super) fn leave_nodes_with(
        &mut self,
        job: u32,
        saved: f64,
        goes_on: impl FnOnce(&mut State, &Scenario),
    ) {
        self.release_nodes(job);
        let view = View { scenario: &self.scenario, state: &self.state };
        if F::KEEPS_JOBS {
            self.recorders.interruptions.add(view, job, saved);
        }
        self.recorders.tally.interrupted(view, job, saved);
        self.stop_application(job);
        let left = self.state.work_remaining(&self.scenario, job);
        self.state.leave_running(&self.scenario, job);
        self.state.jobs.requeue(job, saved);
        goes_on(&mut self.state, &self.scenario);
        if let Some(left) = left {
            let again = self.state.work_remaining(&self.scenario, job).unwrap_or_default();
            self.state.change_work(&self.scenario, job, again - left);
        }
        self.disturb();
        self.recorders.changes.notify(Change::Interrupted, job);
    }

    /// Return the work that a running job has completed in its current run, seconds at rate 1.
    pub(super) fn work_done(&self, job: u32) -> f64 {
        let elapsed = self.state.now - self.state.jobs.start_time(job);
        let Some(run) = self.state.jobs.run(job) else { return 0.0 };
        match self.state.running.get(run).phase {
            _ if self.view().has_application(job) => elapsed,
            Phase::Running => self.state.work.done(self.state.now, run),
            Phase::Suspending => self.state.suspension(job).map_or(0.0, |each| each.done),
            Phase::Launching | Phase::Completing(_) => 0.0,
        }
    }

    fn set_rate(&mut self, job: u32, rate: f64) -> Result<(), Refusal> {
        self.check_state(job, JobState::Running, "running")?;
        self.check_interruptible(job)?;
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(Refusal::BadRate { job, rate });
        }
        if self.view().has_application(job) {
            return Err(Refusal::HasApplication(job));
        }
        let Some(run) = self.state.jobs.run(job) else { return Ok(()) };
        if self.state.running.get(run).phase != Phase::Running || self.state.now < self.view().work_begin(job)
        {
            return Err(Refusal::NotWorking(job));
        }
        let sequence = self.state.running.get(run).sequence;
        self.state.serve_at(&self.scenario, job, run, sequence, rate);
        self.limit_run(job, run);
        Ok(())
    }

    fn set_estimate(&mut self, job: u32, estimate: f64) -> Result<(), Refusal> {
        self.check_job(job)?;
        // A job without a requested time may have an infinite estimate.
        let is_unknown = self.state.jobs.requested_time(job).is_infinite();
        if !(estimate >= 0.0 && (is_unknown || estimate.is_finite())) {
            return Err(Refusal::BadDuration(estimate));
        }
        let state = self.state.jobs.state(job);
        if state.has_ended() {
            return Err(Refusal::WrongState { job, state, needed: "submitted, queued or running" });
        }
        if state == JobState::Running && self.is_ending(job) {
            return Err(Refusal::EndsNow(job));
        }
        if Time(self.state.jobs.estimate(job)) == Time(estimate + 0.0) {
            return Ok(());
        }
        if state == JobState::Queued && !self.state.queue.on_hold.contains(&job) {
            self.state.set_queued_estimate(&self.scenario, &self.priority, job, estimate);
        } else {
            self.state.set_estimate(&self.scenario, job, estimate);
        }
        if state == JobState::Running {
            self.schedule_expiry(job, Time(self.state.now.next_up()));
        }
        if matches!(state, JobState::Queued | JobState::Running) {
            // A pass follows, unless the scheduler changed the estimate in its own pass.
            if self.is_deciding() { self.renew_reservations() } else { self.disturb() }
        }
        Ok(())
    }

    /// Set the keys of the queued jobs, in the current queue order.
    pub fn set_priorities(&mut self, keys: &[f64]) {
        self.complete_queue();
        self.state.sort_queue_by(keys);
    }

    fn set_drained(&mut self, node: u32, drained: bool) -> Result<(), Refusal> {
        self.check_node(node)?;
        if self.state.machine.is_drained(node) != drained {
            self.state.machine.set_drained(node, drained);
            self.state.touch_node(&self.scenario, node);
            self.recorders.node_changed(View { scenario: &self.scenario, state: &self.state }, node);
            self.recorders.happens(Cause::Node, None, self.state.now);
            self.disturb();
            let change = if drained { Change::NodeDrained } else { Change::NodeResumed };
            self.recorders.changes.notify(change, node);
        }
        Ok(())
    }

    fn reserve_capacity(&mut self, node: u32, amounts: &[i64]) -> Result<(), Refusal> {
        self.check_node(node)?;
        for (&amount, &capacity) in amounts.iter().zip(self.state.machine.capacity_of(node)) {
            if amount < 0 || amount > capacity {
                return Err(Refusal::BadAmount { node, amount, capacity });
            }
        }
        if self.state.machine.reserve_capacity(node, amounts) {
            self.recorders.happens(Cause::Node, None, self.state.now);
            self.disturb();
            self.recorders.changes.notify(Change::NodeChanged, node);
        }
        Ok(())
    }

    /// Measure the power of the nodes from now on. `kinds` is each node's index in `priced`.
    pub fn measure_power(&mut self, kinds: &[u32], priced: Vec<PricedKind>) -> Result<(), Refusal> {
        // The meter would not know of running jobs.
        if !self.state.running.is_empty() {
            return Err(Refusal::UnderWay);
        }
        let meter = PowerMeter::new(self.view(), kinds, priced);
        self.recorders.power = Some(Box::new(meter));
        Ok(())
    }

    /// Compute the temperature of the nodes. Their power must be measured.
    pub fn measure_temperature(&mut self, models: Vec<ThermalModel>, initial: &[f64]) -> Result<(), Refusal> {
        let until = self.view().integrated_until();
        let meter = self.recorders.power.as_mut().ok_or(Refusal::Unmeasured)?;
        meter.warm(models, initial, until);
        Ok(())
    }

    /// Continue under another policy, beginning with a pass at this instant.
    pub fn adopt(&mut self, policy: PolicyParts) {
        let PolicyParts { mut scheduler, priority, allocator } = policy;
        scheduler.disturbed();
        self.complete_queue();
        (self.scheduler, self.priority, self.allocator) = (scheduler, priority, allocator);
        self.keep_indices();
        self.choose_kinds();
        if let Some(calculation) = &mut self.state.calculation {
            calculation.age_by_calls(self.scheduler.ages_by_calls());
        }
        let queued = self.state.queue.jobs();
        self.state.queue.index.clear();
        for job in queued {
            self.state.enqueue_again(&self.scenario, &self.priority, job);
        }
        self.state.queue.arrived.clear();
        // The new scheduler is not called event by event.
        if self.agenda.triggers.is_some() {
            let agenda = super::Agenda::completions_first();
            self.agenda = std::sync::Arc::new(agenda);
            self.choose_kinds();
        }
        self.cursor.happened = None;
        self.disturb();
    }

    fn leave_queue(&mut self, job: u32) {
        self.state.leave_queue(&self.scenario, &self.priority, job);
        let view = View { scenario: &self.scenario, state: &self.state };
        if let Some(external) = self.scheduler.as_external_mut() {
            external.give_up(view, job);
        }
        self.scheduler.disturbed();
    }

    /// Recompute the reservations of this pass with the current knowledge.
    fn renew_reservations(&mut self) {
        let is_deciding = self.is_deciding();
        let view = View { scenario: &self.scenario, state: &self.state };
        if let Some(external) = self.scheduler.as_external_mut()
            && is_deciding
        {
            external.renew(view, &self.allocator);
        }
    }

    /// Invalidate plans after a change of the machine; a pass follows at this instant.
    pub(super) fn disturb(&mut self) {
        // A scheduler that is called event by event is not called about its own decisions.
        self.cursor.is_disturbed |= self.agenda.triggers.is_none() || !self.is_deciding();
        self.nodes_changed();
        if self.cursor.at == LoopState::Idle {
            self.cursor.at = LoopState::EndOfInstant;
        }
    }

    /// Invalidate plans after a change of the nodes.
    pub(super) fn nodes_changed(&mut self) {
        self.state.changed();
        self.state.releases += 1;
        self.scheduler.disturbed();
        self.renew_reservations();
    }
}
