//! Reservations that cancel running jobs on their nodes when they begin (S14). O(nodes of the running jobs).
use crate::decision::Decision;

use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// Kill the jobs on nodes of reservations that begin now, by row, unless they use the reservation or end at this
    /// instant.
    pub(super) fn cancel_jobs_in_the_way(&mut self) {
        self.cursor.cut = None;
        let view = self.view();
        let Some(calendar) = view.scenario.calendar.as_deref() else { return };
        let Some(occurrences) = view.state.occurrences(view.scenario) else { return };
        let is_in_the_way = |&job: &u32| {
            let placement = view.state.jobs.placement(job);
            let is_in_the_way = || occurrences.cuts_at(view.now(), calendar.used_by(job), placement);
            view.state.holds_nodes(job) && !view.ends_now(job) && is_in_the_way()
        };
        let mut jobs: Vec<u32> = view.state.running.jobs().into_iter().filter(is_in_the_way).collect();
        jobs.sort_unstable_by_key(|&job| view.scenario.job(job).row);
        for job in jobs {
            let killed = self.apply(Decision::Kill(job));
            debug_assert!(killed.is_ok(), "it runs: {killed:?}");
        }
    }
}
