//! Look-ahead: a fork that continues with the knowledge of schedulers.
use crate::priority::Priority;
use crate::scheduler::SchedulingRule;
use crate::state::Phase;

use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// Return an independent copy. It shares inputs and records of finished jobs: O(live jobs + nodes), and one counter
    /// for every 1024 rows.
    #[must_use]
    pub fn fork(&mut self) -> Self
    where
        F: Clone,
    {
        self.state.share();
        self.recorders.share();
        self.scheduler.share();
        self.clone()
    }

    /// Turn the simulation into a look-ahead: every job runs for its estimate, and no further job arrives.
    pub fn assume_estimates(&mut self) {
        self.feed.close();
        self.state.assumes_estimates = true;
        self.state.own_events.clear();
        self.state.changed();
        self.complete_queue();
        let held: Vec<u32> = self.state.queue.on_hold.iter().copied().collect();
        for job in self.state.queue.jobs().into_iter().chain(held) {
            self.state.jobs.assume_estimate(job);
        }
        for job in self.state.running.jobs() {
            self.assume_end(job);
        }
        // Estimates are seconds at any rate: no control is called, not even about events of this instant.
        self.state.service = None;
        self.cursor.questions.clear();
        self.choose_kinds();
        if matches!(self.priority, Priority::Service(_)) {
            // Disciplines may use the work, which has changed.
            self.state.refresh_priorities(&self.scenario, &self.priority);
        }
        // Applications are treated as run times.
        self.state.applications = None;
        self.cursor.notice = None;
    }

    /// Set the end of a running job to its expected end, or to now if that has passed. A job started in this pass
    /// begins its run with its estimate.
    fn assume_end(&mut self, job: u32) {
        self.state.jobs.assume_estimate(job);
        let Some(run) = self.state.jobs.run(job) else { return };
        if !self.state.holds_nodes(job) || self.state.started.contains(&job) || self.view().is_suspending(job)
        {
            return;
        }
        let end = self.state.estimated_end(job).0.max(self.state.now);
        if self.state.running.get(run).phase == Phase::Launching {
            self.state.running.set_phase(run, Phase::Running);
        }
        self.state.limits.remove(run);
        self.state.expiries.remove(run);
        if end.is_finite() {
            let sequence = self.state.running.get(run).sequence;
            self.state.work.end_at(self.state.now, run, sequence, end);
        } else {
            self.state.work.stop(run);
        }
    }
}
