//! Service-rate control: the rate at which the machine serves jobs, by the number of present jobs, their remaining
//! work, or the load of the machine (S19).
//!
//! A control consists of a ladder of rates and a rule. The rule returns the level of the ladder after an event; it has
//! no state, so that forks share it. O(rates) per event.
mod count;
mod governor;
mod randomised;
mod registry;
mod service;
mod workload;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use count::Count;
pub use governor::{Governor, GovernorKind};
pub use randomised::Randomised;
pub use registry::{CONTROLS, rule};
pub use service::Service;
pub use workload::Workload;

/// An event that is examined by a control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyEvent {
    /// A job was submitted, and not rejected.
    Arrival,
    /// A job ended.
    Departure,
    /// The workload decreased to a threshold.
    Switch,
    /// A governor samples the load.
    Look,
}

impl KeyEvent {
    /// All events with their names.
    pub const NAMES: [(&str, Self); 4] = [
        ("arrival", Self::Arrival),
        ("departure", Self::Departure),
        ("switch", Self::Switch),
        ("look", Self::Look),
    ];
}

/// The observations used by a rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The event.
    pub event: KeyEvent,
    /// Number of waiting and running jobs after the event.
    pub present: u64,
    /// The sum of their remaining work; each multiplied by its processors if the rule is weighted.
    pub workload: f64,
    /// The share of the processors that was busy since the last look.
    pub busy: f64,
    /// The same share relative to full speed, as a decaying average.
    pub utilisation: f64,
}

/// A rule of control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ControlRule {
    /// A constant rate.
    Constant,
    /// Up at arrivals and down at departures, by coins.
    Randomised(Randomised),
    /// Hysteresis of the number of jobs.
    Count(Count),
    /// Hysteresis of the workload.
    Workload(Workload),
    /// By the load of the machine, like Linux's governors.
    Governor(Governor),
    /// Decided by a control outside the kernel.
    External,
}

impl ControlRule {
    /// Returns whether the work of a job is multiplied by its processors.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        matches!(self, Self::Workload(rule) if rule.weighted)
    }

    /// Returns whether it fits a ladder with a number of steps.
    #[must_use]
    pub fn fits(&self, steps: usize) -> bool {
        match self {
            Self::Count(Count { low, high }) | Self::Workload(Workload { low, high, .. }) => {
                low.len() == steps && high.len() == steps
            }
            Self::Governor(Governor { kind, interval }) => {
                *interval > 0.0 && !matches!(kind, GovernorKind::Schedutil { window } if *window <= 0.0)
            }
            Self::Constant | Self::Randomised(_) | Self::External => true,
        }
    }

    /// The coin of an arrival or departure, by number.
    #[must_use]
    pub fn coin(&self, number: u64) -> f64 {
        if let Self::Randomised(rule) = self { rule.coin(number) } else { 0.0 }
    }
}

/// The control of the rate of some nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateControl {
    /// The rates, ascending: work per second. A control outside may set others.
    pub rates: Vec<f64>,
    /// The level before the first event.
    pub first: usize,
    /// The rule.
    pub rule: ControlRule,
}

impl RateControl {
    /// The level after an event; `coin` is in [0, 1).
    #[must_use]
    pub fn level_after(&self, level: usize, seen: &Seen, coin: f64) -> usize {
        let top = self.rates.len() - 1;
        match &self.rule {
            ControlRule::Constant | ControlRule::External => level,
            ControlRule::Randomised(rule) => rule.level_after(level, top, seen.event, coin),
            ControlRule::Count(rule) => rule.level_after(level, top, seen),
            ControlRule::Workload(rule) => rule.level_after(level, top, seen),
            ControlRule::Governor(rule) => rule.level_after(level, &self.rates, seen),
        }
    }

    /// The workload at which a workload rule goes down from a level; None for other rules.
    #[must_use]
    pub fn descent(&self, level: usize) -> Option<(&Workload, f64)> {
        let ControlRule::Workload(rule) = &self.rule else { return None };
        let threshold = *rule.low.get(level.checked_sub(1)?)?;
        // With the last job the workload vanishes too: this is a departure.
        (threshold > 0.0).then_some((rule, threshold))
    }

    /// Its governor, if it has one.
    #[must_use]
    pub fn governor(&self) -> Option<&Governor> {
        if let ControlRule::Governor(governor) = &self.rule { Some(governor) } else { None }
    }

    /// Returns whether the rate may change.
    #[must_use]
    pub fn may_change(&self) -> bool {
        self.rule != ControlRule::Constant
    }
}

/// The level of a hysteresis: up above the upper threshold of a level, down at or below the lower threshold of the
/// level below.
fn hysteresis(level: usize, top: usize, up: impl Fn(usize) -> bool, down: impl Fn(usize) -> bool) -> usize {
    let mut level = level;
    while level < top && up(level) {
        level += 1;
    }
    while level > 0 && down(level - 1) {
        level -= 1;
    }
    level
}
