//! The course of a job: it is admitted or rejected, launched, run, completed, and ended; and what that means for others.
use crate::cluster::{EmptyMachine, PlacementRequest};
use crate::record::Change;
use crate::scenario::{JobCheck, WallTime};
use crate::scheduler::Scheduler;
use crate::state::{Phase, Violation};
use crate::time::Time;
use crate::workload::{JobState, Rejection};

use super::agenda::EndTies;
use super::triggers::Trigger;
use super::{Feed, Simulation, View};

impl<F: Feed> Simulation<F> {
    /// Takes a job into the queue, or rejects it.
    pub(super) fn admit(&mut self, job: u32) -> Result<(), F::Error> {
        if let Some(reason) = self.rejection(job) {
            self.reject(job, reason);
            return self.feed.finished(&self.scenario, &mut self.state, job);
        }
        self.state.count_submitted(&self.scenario, job, 1);
        if self.is_eligible(job) {
            self.state.enqueue(&self.scenario, &self.priority, job);
        } else {
            self.state.put_on_hold(&self.scenario, &self.priority, job);
        }
        if self.agenda.triggers.is_some() {
            self.happened(Trigger::Submission(job));
        }
        self.recorders.changes.notify(Change::Submitted, job);
        self.feed.enqueued(View { scenario: &self.scenario, state: &self.state }, job);
        Ok(())
    }

    /// Why a job that is submitted now is rejected, if it is.
    fn rejection(&mut self, job: u32) -> Option<Rejection> {
        if let Some(known) = self.state.jobs.rejection(job) {
            Some(known)
        } else if self.state.conditions.as_ref().is_some_and(|conditions| conditions.is_hopeless(job)) {
            Some(Rejection::Dependency)
        } else if matches!(self.scheduler, Scheduler::Reject) {
            Some(Rejection::Policy)
        } else if !self.can_ever_fit(job) {
            Some(Rejection::NeverFits)
        } else {
            self.state.over_submission_limit(&self.scenario, job).map(|_| Rejection::Limit)
        }
    }

    /// Whether a job passes its check: usually, whether it fits on the empty machine. A scheduler outside may start it on
    /// fewer tasks than it asks for, where its type admits that.
    fn can_ever_fit(&mut self, job: u32) -> bool {
        let tasks =
            if self.scheduler.is_external() { self.sizes(job).0 } else { self.scenario.job(job).tasks };
        if self.scenario.job_check == JobCheck::None {
            return true;
        }
        if self.scenario.job_check == JobCheck::Nodes && !self.allocator.is_free_to_spread() {
            let empty = EmptyMachine(&self.state.machine);
            let mut requests = self.view().placement_requests(job);
            return requests.any(|want| self.allocator.fits(&empty, &PlacementRequest { tasks, ..want }));
        }
        let Self { scenario, state, .. } = self;
        let mut requests = scenario.alternatives(job).iter();
        requests.any(|&request| u64::from(tasks) <= state.most_tasks(scenario, request))
    }

    fn reject(&mut self, job: u32, reason: Rejection) {
        self.reject_alone(job, reason);
        self.after_end(job, JobState::Rejected);
    }

    pub(super) fn reject_alone(&mut self, job: u32, reason: Rejection) {
        if self.state.jobs.state(job) == JobState::Queued {
            self.state.count_submitted(&self.scenario, job, -1);
        }
        self.state.jobs.reject(job, reason);
        self.state.finished += 1;
        self.recorders.changes.notify(Change::Rejected, job);
    }

    /// Begins the course of a job that has just been given its nodes: its launch, or its run where that takes no time.
    pub(super) fn begin_run(&mut self, job: u32) {
        let Some(run) = self.state.jobs.run(job) else { return };
        let sequence = match self.agenda.ties {
            EndTies::ByRow => self.scenario.job(job).row,
            EndTies::ByStart => self.state.starts,
        };
        self.state.starts += 1;
        self.state.running.get_mut(run).sequence = sequence;
        let (now, launch) = (self.state.now, self.view().overhead(job).launch);
        let ready = self.state.ready_time(job);
        if ready > now {
            // Its nodes wake first.
            self.state.work.end_at(now, run, sequence, ready + launch);
        } else if launch > 0.0 {
            self.state.work.start(now, run, sequence, launch, 1.0);
        } else {
            self.begin_work(job, run);
        }
    }

    /// Begins the work of a job, whose launch is over.
    pub(super) fn begin_work(&mut self, job: u32, run: u32) {
        let now = self.state.now;
        self.state.running.get_mut(run).phase = Phase::Running;
        let sequence = self.state.running.get(run).sequence;
        if self.view().has_application(job) {
            // It ends when its application does, or at its limit: no longer when its launch does.
            self.state.work.stop(now, run);
            self.begin_application(job);
        } else {
            let work = self.state.jobs.work_left(job);
            self.state.work.start(now, run, sequence, work, 1.0);
        }
        self.limit_run(job, run);
        // An estimate of no time expires at once, a corrected one later: at most one correction is made at an instant.
        let was_launched = self.view().overhead(job).launch > 0.0
            || self.state.counts_from(job) < self.state.ready_time(job);
        self.schedule_expiry(job, Time(if was_launched { now.next_up() } else { now }));
        if self.scenario.bills_runs_only() {
            self.state.begin_charge(&self.scenario, job);
        }
    }

    /// Sets when the wall time rule kills a job that runs.
    pub(super) fn limit_run(&mut self, job: u32, run: u32) {
        let begun = self.state.ready_time(job) + self.view().overhead(job).launch;
        let elapsed = self.state.now - begun;
        self.schedule_limit(job, run, (self.view().allowed_run(job) - elapsed).max(0.0));
    }

    /// Sets when the wall time rule kills a job, which may run for `allowed` seconds more: not at all where it is done
    /// before at its present rate.
    fn schedule_limit(&mut self, job: u32, run: u32, allowed: f64) {
        let now = self.state.now;
        let is_cut = || {
            self.view().has_application(job) || {
                let (left, rate) = (self.state.work.left(now, run), self.state.work.rate(run));
                if rate > 0.0 { left / rate > allowed } else { true }
            }
        };
        if self.scenario.wall_time == WallTime::Kill && allowed.is_finite() && is_cut() {
            let sequence = self.state.running.get(run).sequence;
            self.state.limits.set(run, (Time(now + allowed), sequence));
        } else {
            self.state.limits.remove(run);
        }
    }

    /// Has the estimate corrected when a running job reaches it, if it does so at `from` or later.
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

    /// The present phase of a run is over: the job goes on to the next, unless this was the last.
    pub(super) fn go_on_to_next_phase(&mut self, run: u32) -> bool {
        let job = self.state.running.get(run).job;
        match self.state.running.get(run).phase {
            Phase::Launching => {
                self.begin_work(job, run);
                true
            }
            Phase::Running => self.begin_completion(job, run, false),
            Phase::Completing(_) => false,
        }
    }

    /// The work of a job is over: its completion begins, if it takes time.
    pub(super) fn begin_completion(&mut self, job: u32, run: u32, killed: bool) -> bool {
        let completion = self.view().overhead(job).completion;
        if completion <= 0.0 {
            return false;
        }
        self.state.running.get_mut(run).phase = Phase::Completing(killed);
        if self.scenario.bills_runs_only() {
            self.state.end_charge(&self.scenario, job);
        }
        self.state.limits.remove(run);
        self.state.expiries.remove(run);
        let sequence = self.state.running.get(run).sequence;
        self.state.work.start(self.state.now, run, sequence, completion, 1.0);
        true
    }

    /// A running job reaches its limit: its run is over. Whether its completion begins.
    pub(super) fn cut_run(&mut self, run: u32) -> bool {
        let job = self.state.running.get(run).job;
        let completes = self.begin_completion(job, run, true);
        if completes {
            self.stop_application(job);
        }
        completes
    }

    /// A running job reaches its end, or its limit.
    pub(super) fn complete(&mut self, job: u32, at_limit: bool) {
        let Some(run) = self.state.jobs.run(job) else { return };
        let was_killed = self.state.running.get(run).phase == Phase::Completing(true);
        self.release_held_nodes(job);
        if at_limit {
            self.stop_application(job);
        }
        self.end(job, if at_limit || was_killed { JobState::Killed } else { JobState::Completed });
    }

    /// Gives back the nodes of a running job, unless it gave them back at the beginning of this instant.
    pub(super) fn release_held_nodes(&mut self, job: u32) {
        if self.state.holds_nodes(job) {
            self.release_nodes(job);
        }
    }

    /// Gives back the nodes of a running job.
    pub(super) fn release_nodes(&mut self, job: u32) {
        self.recorders.nodes_to_be_released(View { scenario: &self.scenario, state: &self.state }, job);
        self.state.give_back(&self.scenario, job);
        self.state.open_after(&self.scenario, &self.priority, job);
        self.recorders.nodes_released(View { scenario: &self.scenario, state: &self.state }, job);
    }

    /// Ends a job, which has given back its nodes.
    pub(super) fn end(&mut self, job: u32, state: JobState) {
        let before = self.state.jobs.state(job);
        if !matches!(before, JobState::Queued | JobState::Running) {
            return self.state.violates(job, Violation::EndedTwice(before));
        }
        self.state.count_submitted(&self.scenario, job, -1);
        self.state.leave_running(job);
        self.state.forget_priority(job);
        self.state.jobs.end(job, self.state.now, state);
        self.state.ended.push(job);
        self.state.finished += 1;
        self.cursor.idle = 0;
        let change = if state == JobState::Killed { Change::Killed } else { Change::Completed };
        self.recorders.changes.notify(change, job);
        self.after_end(job, state);
    }
}
