//! The service rates of nodes (S19): controls react to arrivals and departures, and switch at times of their own.
use crate::control::{ControlRule, KeyEvent};
use crate::record::Happened;
use crate::state::{RateChange, View};
use crate::time::Time;

use super::{Feed, Refusal, Simulation};

impl<F: Feed> Simulation<F> {
    /// Process the arrival or departure of a job.
    pub(super) fn key_event(&mut self, job: u32, event: KeyEvent) {
        let Some(service) = &self.scenario.service else { return };
        if !self.state.service.as_ref().is_some_and(|state| state.follows()) {
            return;
        }
        for (control, described) in service.controls.iter().enumerate() {
            if described.rule == ControlRule::External {
                self.cursor.questions.push_back((control as u32, event));
            }
        }
        self.record_key_event(event, Some(job));
        let changes = self.state.count_present(&self.scenario, job, event);
        self.record_rates(&changes);
    }

    /// Return when the next control switches by itself or looks at the load.
    pub(super) fn next_switch(&self) -> Time {
        match (&self.state.service, &self.scenario.service) {
            (Some(state), Some(service)) => Time(state.next_switch(service, &self.state.work)),
            _ => Time::NEVER,
        }
    }

    /// Switch the controls that are due, or let them look at the load. No pass follows.
    pub(super) fn switch_rates(&mut self) {
        self.record_key_event(KeyEvent::Switch, None);
        let changes = self.state.switch_rates(&self.scenario);
        self.record_rates(&changes);
    }

    /// Set the rate of the nodes of a control from outside.
    pub(super) fn set_service_rate(&mut self, control: u32, rate: f64) -> Result<(), Refusal> {
        let count = self.scenario.service.as_ref().map_or(0, |service| service.controls.len() as u32);
        if control >= count || self.state.service.is_none() {
            return Err(Refusal::NoControl { control, count });
        }
        if !(rate.is_finite() && rate >= 0.0) {
            return Err(Refusal::BadServiceRate(rate));
        }
        if self.recorders.power.as_ref().is_some_and(|power| !power.knows_rate(control, rate)) {
            return Err(Refusal::UnpricedRate(rate));
        }
        if self.state.set_rate(control, rate) {
            self.record_rates(&[(control, rate)]);
        }
        Ok(())
    }

    /// Record a key event; its resulting state is recorded when the next event occurs.
    fn record_key_event(&mut self, event: KeyEvent, job: Option<u32>) {
        let Some(log) = &mut self.recorders.key_events else { return };
        let row = job.map(|job| self.scenario.job(job).row);
        let view = View { scenario: &self.scenario, state: &self.state };
        log.happens(view, Happened { event, time: view.now(), row });
    }

    /// Close the last key event at the end of the instant.
    pub(super) fn close_key_event(&mut self) {
        if let Some(log) = &mut self.recorders.key_events {
            log.close(View { scenario: &self.scenario, state: &self.state });
        }
    }

    fn record_rates(&mut self, changes: &[RateChange]) {
        let until = self.view().integrated_until();
        if let Some(power) = &mut self.recorders.power {
            for &(control, rate) in changes {
                power.rate_changed(control, rate, until);
            }
        }
        if let Some(log) = &mut self.recorders.rates {
            for &(control, rate) in changes {
                log.add(self.state.now, control, rate);
            }
        }
    }
}
