//! The events of optional features and their hooks in the event loop, in one list. A feature with events of its own adds
//! a kind to [`EventKind`] and one row to each match below; the compiler names the rows that are missing. A run that
//! uses no optional feature calls none of these functions.
use crate::time::Time;

use super::agenda::EventKind;
use super::triggers::Trigger;
use super::{Feed, Simulation, YieldPoint};

impl<F: Feed> Simulation<F> {
    /// Determine the kinds of events that can occur in this run, so that other kinds are never checked.
    pub(super) fn choose_kinds(&mut self) {
        use EventKind::{Completion, EarlyRelease, Submission, Timer};
        self.kinds = self.agenda.order.iter().copied().filter(|&kind| self.can_occur(kind)).collect();
        self.rare_kinds.clone_from(&self.kinds);
        self.rare_kinds.retain(|kind| !matches!(kind, Timer | Completion | Submission | EarlyRelease));
        self.varies_with_time = self.priority.changes_with_time()
            || self.scenario.limits.as_ref().is_some_and(|limits| limits.counts_minutes());
        self.has_optional_features = self.state.sleep.is_some()
            || self.state.applications.is_some()
            || self.state.calculation.is_some()
            || self.scenario.calendar.is_some();
    }

    /// Return whether events of a kind can occur in this run.
    fn can_occur(&self, kind: EventKind) -> bool {
        match kind {
            EventKind::Application => self.state.applications.is_some(),
            EventKind::Expiry => self.listeners.estimates,
            EventKind::Periodic => self.agenda.triggers.is_some(),
            EventKind::Begin => self.state.conditions.is_some(),
            EventKind::External => {
                self.feed.next_event_time() != Time::NEVER
                    || !self.scenario.attributes.cancelled_at.is_empty()
                    || !self.scenario.attributes.run_events.is_empty()
            }
            EventKind::GraceEnd => self.view().victims_run_on(),
            EventKind::Cut => self.scenario.calendar.is_some(),
            EventKind::Switch => self.state.service.as_ref().is_some_and(|state| state.follows()),
            EventKind::Timer | EventKind::Completion | EventKind::Submission | EventKind::EarlyRelease => {
                true
            }
        }
    }

    /// Return the next instant at which the event loop has to look at a kind of an optional feature.
    pub(super) fn next_time_of(&self, kind: EventKind) -> Time {
        match kind {
            EventKind::Application => self.next_notice(),
            EventKind::Expiry => self.state.expiries.peek().map_or(Time::NEVER, |((time, _), _)| time),
            EventKind::Periodic => self.next_question(),
            EventKind::Begin => self.next_gate(),
            EventKind::External => self.next_external_event(),
            EventKind::GraceEnd => self.next_grace_end(),
            EventKind::Cut => self.next_in_calendar(),
            EventKind::Switch => self.next_switch(),
            EventKind::Timer | EventKind::Completion | EventKind::Submission | EventKind::EarlyRelease => {
                Time::NEVER
            }
        }
    }

    /// Return whether an event of an optional feature is due.
    #[inline(never)]
    pub(super) fn is_rare_event_due(&mut self, kind: EventKind) -> bool {
        let now = Time(self.state.now);
        match kind {
            EventKind::Application => self.find_notice(),
            EventKind::Expiry => self.next_expiry().is_some(),
            EventKind::Periodic => self.cursor.clock.is_due(now),
            EventKind::External => self.external_event_is_due(now),
            EventKind::Cut => self.cursor.cut.is_some(),
            EventKind::Begin | EventKind::GraceEnd | EventKind::Switch => self.next_time_of(kind) <= now,
            EventKind::Timer | EventKind::Completion | EventKind::Submission | EventKind::EarlyRelease => {
                false
            }
        }
    }

    /// Process an event of an optional feature, or a timer.
    #[inline(never)]
    pub(super) fn take_rare_event(&mut self, kind: EventKind) -> Result<Option<YieldPoint>, F::Error> {
        match kind {
            EventKind::Timer => return Ok(self.wake()),
            EventKind::GraceEnd => self.end_graces(),
            EventKind::Cut => self.cancel_jobs_in_the_way(),
            EventKind::Switch => self.switch_rates(),
            EventKind::Application => self.take_notice(),
            EventKind::Expiry => return Ok(self.expire()),
            EventKind::Periodic => {
                self.cursor.idle += 1;
                self.happened(Trigger::Periodic);
            }
            EventKind::Begin => self.open_gates(),
            EventKind::External => self.take_external_event()?,
            EventKind::EarlyRelease => self.release_early(),
            EventKind::Completion | EventKind::Submission => {}
        }
        Ok(None)
    }

    /// Update the state of optional features that changes with time, at the begin of an instant.
    #[inline(never)]
    pub(super) fn update_optional_features(&mut self, before: f64) {
        self.end_transitions();
        self.sample_platform();
        self.calculate_due();
        self.turn_calendar(before);
    }

    /// Return the time of the next event of an optional feature.
    #[inline(never)]
    pub(super) fn next_rare_event(&self) -> Time {
        self.next_among(|_| true)
    }

    /// Return the same without events of applications.
    pub(super) fn next_rare_event_besides_applications(&self) -> Time {
        self.next_among(|kind| kind != EventKind::Application)
    }

    /// Return the time of the next end that belongs to an optional feature, without events of applications.
    #[inline(never)]
    pub(super) fn next_rare_end(&self) -> Time {
        use EventKind::{Expiry, GraceEnd, Switch};
        self.next_among(|kind| matches!(kind, Expiry | GraceEnd | Switch))
    }

    fn next_among(&self, is_meant: impl Fn(EventKind) -> bool) -> Time {
        let kinds = self.rare_kinds.iter().copied().filter(|&kind| is_meant(kind));
        kinds.map(|kind| self.next_time_of(kind)).min().unwrap_or(Time::NEVER)
    }
}
