//! The reservations of the machine that schedulers know (S14, S18).
use std::sync::Arc;

use crate::cluster::{JobCalendar, Occurrences};
use crate::scenario::Scenario;

use super::State;

impl State {
    /// Return the known reservations of nodes; None if the machine has no reservations.
    #[must_use]
    pub fn occurrences<'a>(&'a self, scenario: &'a Scenario) -> Option<&'a Occurrences> {
        let calendar = scenario.calendar.as_deref()?;
        Some(self.known_reservations.as_deref().unwrap_or_else(|| calendar.occurrences()))
    }

    /// Return the reservations of the machine as they apply to a job; None if the machine has none.
    #[must_use]
    pub fn calendar_of<'a>(&'a self, scenario: &'a Scenario, job: u32) -> Option<JobCalendar<'a>> {
        let own = scenario.calendar.as_deref()?.used_by(job);
        Some(self.occurrences(scenario)?.of(own, self.jobs.time_limit(job)))
    }

    /// Make a reservation known or unknown. Return whether that is a change. O(k log k) for k occurrences in total.
    pub fn set_known(&mut self, scenario: &Scenario, reservation: u32, is_known: bool) -> bool {
        let Some((calendar, before)) = scenario.calendar.as_deref().zip(self.occurrences(scenario)) else {
            return false;
        };
        let Some(changed) = calendar.with(before, reservation, is_known) else { return false };
        self.known_reservations = Some(Arc::new(changed));
        true
    }
}
