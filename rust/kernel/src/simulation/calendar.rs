//! The calendar of reservations (S14): their begins and ends, and the running jobs on their nodes that are cancelled
//! when they begin. O(nodes of the running jobs).
use crate::decision::Decision;
use crate::time::Time;

use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// Return when the next reservation begins or ends; never if no waiting or running job can be affected.
    pub(super) fn next_in_calendar(&self) -> Time {
        match self.state.occurrences(&self.scenario) {
            Some(calendar) if !self.state.queue.is_empty() && !self.state.is_stopped => {
                Time(calendar.next_after(self.state.now))
            }
            Some(calendar) if !self.state.running.is_empty() => Time(calendar.next_cut_after(self.state.now)),
            _ => Time::NEVER,
        }
    }

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

    /// Begin and end the reservations that are due at this instant, the first since `before`.
    pub(super) fn turn_calendar(&mut self, before: f64) {
        if let Some(calendar) = self.state.occurrences(&self.scenario)
            && calendar.next_after(before) <= self.state.now
        {
            let turns = calendar.next_from(self.state.now) <= self.state.now;
            let cuts = calendar.next_cut_after(before) <= self.state.now;
            self.cursor.cut = (turns && cuts).then_some(Time(self.state.now));
            self.cursor.calendar_turn = turns.then_some(Time(self.state.now));
            self.state.changed();
            self.state.turn_calendar(&self.scenario, &self.priority);
        }
    }
}
