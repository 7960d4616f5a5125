//! Preemption by kernel rules (S16): victims release their nodes in a pass, and wait again or end.
//!
//! After the job has started for which they were preempted, the pass restarts at the head of the queue, where the
//! victims have their positions. The pass terminates: a job that it has started is no victim in it, so each restart
//! leaves fewer jobs that ran before the pass. Under `slurm`, victims wait again or end when the pass is over.
use crate::decision::{Decision, Effect, Preemption};
use crate::scheduler::{SchedulingRule, Step};
use crate::state::{Phase, State};
use crate::time::Time;
use crate::workload::{JobState, PreemptionMode};

use super::cursor::LoopState;
use super::{Feed, Refusal, Simulation};

impl<F: Feed> Simulation<F> {
    /// Apply the decisions that make room for a job. Return whether the pass continues from here.
    #[inline(never)]
    pub(super) fn make_room(&mut self, job: u32, decisions: Vec<Decision>) -> bool {
        let leaving = if self.view().victims_run_on() { self.give_notice(job, decisions) } else { decisions };
        if leaving.is_empty() {
            return true;
        }
        for decision in leaving {
            let applied = self.take_from_nodes(decision);
            debug_assert!(applied.is_ok(), "those that a rule preempts are running: {applied:?}");
            if applied.is_err() {
                return false;
            }
        }
        // Slurm's controller places the job in a later call.
        if !self.scheduler.preempts() {
            return true;
        }
        self.requeue_or_end_victims();
        if let Some(preemption) = &mut self.state.preemption {
            preemption.started_for.push(job);
        }
        self.cursor.at = LoopState::Prioritising;
        false
    }

    /// Begin the grace times of a job's victims. Return the decisions for victims that leave at once.
    fn give_notice(&mut self, job: u32, decisions: Vec<Decision>) -> Vec<Decision> {
        let grace_time = self.scenario.preemption.as_ref().map_or(0.0, |rules| rules.grace_time);
        let (now, mut leaving) = (self.state.now, Vec::new());
        for decision in decisions {
            if let Decision::Preempt { job: victim, .. } | Decision::Kill(victim) = decision {
                let end = self.scheduler.victim_release_time(victim, now).unwrap_or(now + grace_time);
                if end > now {
                    self.state.begin_grace(&self.scenario, victim, end, job);
                } else {
                    leaving.push(decision);
                }
            }
        }
        leaving
    }

    /// Return when the next victim releases its nodes.
    pub(super) fn next_grace_end(&self) -> Time {
        self.state.preemption.as_ref().map_or(Time::NEVER, |preemption| preemption.next_grace_end())
    }

    /// Requeue or kill victims at the end of their grace time, unless they end by themselves at this instant.
    pub(super) fn end_graces(&mut self) {
        let cancels =
            self.scenario.preemption.as_ref().is_some_and(|rules| rules.mode == PreemptionMode::Cancel);
        let now = self.state.now;
        let next = |state: &mut State| state.preemption.as_mut()?.pop_grace_end(now);
        while let Some((run, preemptor)) = next(&mut self.state) {
            let victim = self.state.running.get(run).job;
            if self.has_been_faster(victim, run) {
                continue;
            }
            let decision = if cancels {
                Decision::Kill(victim)
            } else {
                Decision::Preempt { job: victim, keep: Preemption::Requeue }
            };
            let applied = self.apply(decision);
            debug_assert!(applied.is_ok(), "a victim runs: {applied:?}");
            if let Some(preemption) = self.state.preemption.as_mut().filter(|_| self.scheduler.preempts()) {
                preemption.started_for.push(preemptor);
                preemption.waiting_victims.insert(victim, preemptor);
            }
        }
    }

    /// Return whether the run of a victim has ended, or ends at this instant, before its grace time.
    fn has_been_faster(&self, victim: u32, run: u32) -> bool {
        if self.scheduler.preempts() {
            return self.view().ends_now(victim);
        }
        // Slurm's controller checks jobs with a running phase only.
        match self.state.running.get(run).phase {
            Phase::Launching => false,
            Phase::Running => self.view().phase_ends_now(run),
            Phase::Suspending | Phase::Completing(_) => true,
        }
    }

    /// Begin or restart a pass: jobs with victims that have just released their nodes are examined first, in queue
    /// order.
    #[inline(never)]
    pub(super) fn begin_preemption(&mut self) {
        let Some(preemption) = &mut self.state.preemption else { return };
        preemption.pass_exemptions(self.state.now);
        let mut jobs = std::mem::take(&mut preemption.started_for);
        if jobs.len() > 1 {
            self.view().sort_by_rank(&mut jobs);
            jobs.dedup();
        }
        if let Some(preemption) = &mut self.state.preemption {
            preemption.started_for = jobs;
        }
    }

    /// End the precedence of jobs with victims after the rule's next step, unless the step started one of them.
    #[inline(never)]
    pub(super) fn forget_preempting_jobs(&mut self, step: &Step) {
        let Some(preemption) = &mut self.state.preemption else { return };
        match step {
            Step::Propose(Decision::Start { job, .. }) if preemption.started_for.contains(job) => {}
            _ => preemption.started_for.clear(),
        }
    }

    fn take_from_nodes(&mut self, decision: Decision) -> Result<Effect, Refusal> {
        let (Decision::Preempt { job: victim, .. } | Decision::Kill(victim)) = decision else {
            return self.apply(decision);
        };
        self.check_state(victim, JobState::Running, "running")?;
        self.check_interruptible(victim)?;
        let may_wait_again = self.scenario.attributes.may_be_requeued(victim);
        let keep = match decision {
            Decision::Preempt { keep, .. } if keep != Preemption::Requeue || may_wait_again => Some(keep),
            _ => None,
        };
        if let Some(keep) = keep {
            self.cut_short(victim, keep)?;
        } else {
            self.note_short_run(victim);
            self.release_nodes(victim);
            self.stop_application(victim);
            self.disturb();
        }
        if let Some(preemption) = &mut self.state.preemption {
            preemption.victims.push(victim);
        }
        Ok(Effect::Done)
    }

    /// Return victims of this pass to the queue, or end them.
    #[inline(never)]
    pub(super) fn requeue_or_end_victims(&mut self) {
        let Some(preemption) = &mut self.state.preemption else { return };
        for job in std::mem::take(&mut preemption.victims) {
            match self.state.jobs.state(job) {
                JobState::Queued => self.wait_again(job),
                JobState::Running => self.end(job, JobState::Killed),
                _ => {}
            }
        }
    }
}
