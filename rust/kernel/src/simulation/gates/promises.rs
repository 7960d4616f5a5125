//! Promised starts after passes (S15), if requested.
use crate::scheduler::{Delays, Scheduler};

use super::{Feed, Simulation, View};

impl<F: Feed> Simulation<F> {
    /// Note the promised starts that the latest pass has changed. While the scheduler is stopped, promises stand.
    /// `has_one_total` is true if a free amount decides which jobs fit.
    pub(super) fn note_promises(&mut self, has_one_total: bool) {
        let Some(mut log) = self.recorders.promises.take() else { return };
        if has_one_total && self.note_total_head(&mut log) {
            self.recorders.promises = Some(log);
            return;
        }
        let has_heads = matches!(self.scheduler, Scheduler::Easy(_) | Scheduler::EasyReservations(_));
        if has_heads {
            self.state.complete_expected_ends(&self.scenario);
        }
        let view = View { scenario: &self.scenario, state: &self.state };
        let is_first = log.look(view.now(), |job| view.is_in_queue(job));
        if view.state.is_stopped || has_heads {
            let stand = |job: &u32| view.state.is_stopped && view.is_in_queue(*job);
            for job in log.jobs().into_iter().filter(|job| !stand(job)) {
                log.note(job, f64::NAN);
            }
        }
        match &self.scheduler {
            _ if view.state.is_stopped => {}
            Scheduler::Slurm(rule) => {
                log.move_by_time();
                // Nothing else tells of jobs that are put on hold.
                let held = view.state.queue.on_hold.iter().map(|&job| (job, f64::NAN));
                for (job, start) in rule.promised().into_iter().chain(held) {
                    log.note(job, if view.is_in_queue(job) { start } else { f64::NAN });
                }
            }
            Scheduler::Conservative(rule) => {
                let plan = rule.plan();
                let known = self.recorders.gates.iter().filter(|_| is_first);
                let known = known.flat_map(|gates| gates.waiting.iter().map(|each| each.job));
                for job in plan.changed().iter().copied().chain(known) {
                    let promised = plan.planned_start(job).filter(|_| view.is_in_queue(job));
                    log.note(job, promised.unwrap_or(f64::NAN));
                }
            }
            scheduler if has_heads && self.allocator.as_external().is_none() => {
                let delays = Delays::of(scheduler, view);
                let promised = delays.map_or_else(Vec::new, |each| each.promised(view, &self.allocator));
                for (job, start) in promised.into_iter().filter(|&(job, _)| view.is_in_queue(job)) {
                    log.note(job, if start < f64::INFINITY { start } else { f64::NAN });
                }
            }
            _ => {}
        }
        self.recorders.promises = Some(log);
    }
}
