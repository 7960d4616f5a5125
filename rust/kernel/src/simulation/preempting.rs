//! Preemption by the rules of the kernel (S16): the victims give up their nodes in a pass, and wait again, or end, after it.
use crate::decision::{Decision, Effect};
use crate::workload::JobState;

use super::{Feed, Refusal, Simulation};

impl<F: Feed> Simulation<F> {
    /// Applies what a rule proposes, so that a job fits; whether the pass goes on.
    pub(super) fn make_room(&mut self, job: u32, decisions: Vec<Decision>) -> bool {
        for decision in decisions {
            let applied = self.take_from_nodes(decision);
            debug_assert!(applied.is_ok(), "those that a rule preempts are running: {applied:?}");
            if applied.is_err() {
                return false;
            }
        }
        if let Some(preemption) = &mut self.state.preemption {
            preemption.started_for = Some(job);
        }
        true
    }

    fn take_from_nodes(&mut self, decision: Decision) -> Result<Effect, Refusal> {
        let (Decision::Preempt { job: victim, .. } | Decision::Kill(victim)) = decision else {
            return self.apply(decision);
        };
        self.check_state(victim, JobState::Running, "running")?;
        self.check_interruptible(victim)?;
        if let Decision::Preempt { job, keep } = decision {
            self.cut_short(job, keep)?;
        } else {
            self.release_nodes(victim);
            self.stop_application(victim);
            self.disturb();
        }
        if let Some(preemption) = &mut self.state.preemption {
            preemption.victims.push(victim);
        }
        Ok(Effect::Done)
    }

    /// Those that were preempted in the pass wait again, or end. Jobs that the pass let in have come before.
    pub(super) fn dismiss_victims(&mut self) {
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
