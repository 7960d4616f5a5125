//! Service-rate control: at which of its rates the machine serves jobs, by how many are there, how much work they have, or
//! how busy it is (S19).
//!
//! A control is a ladder of rates and a rule. The rule gives the level of the ladder after an event; it keeps nothing, so
//! that forks share it. O(rates) per event.
mod count;
mod governor;
mod randomised;
mod workload;

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use count::Count;
pub use governor::{Governor, GovernorKind};
pub use randomised::Randomised;
pub use workload::Workload;

/// An event that a control looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyEvent {
    /// A job was submitted, and not rejected.
    Arrival,
    /// A job ended.
    Departure,
    /// The workload came down to a threshold.
    Switch,
    /// A governor looks at the load.
    Look,
}

impl KeyEvent {
    /// All events, by their names.
    pub const NAMES: [(&str, Self); 4] = [
        ("arrival", Self::Arrival),
        ("departure", Self::Departure),
        ("switch", Self::Switch),
        ("look", Self::Look),
    ];
}

/// What a rule goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// What happened.
    pub event: KeyEvent,
    /// How many jobs wait or run, after it.
    pub present: u64,
    /// The work that they have left; that of each times its processors where the rule asks for it.
    pub workload: f64,
    /// The share of the processors that were busy since the last look.
    pub busy: f64,
    /// The same at full speed, as an average that fades.
    pub utilisation: f64,
}

/// A rule of control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ControlRule {
    /// One rate.
    Constant,
    /// Up at arrivals and down at departures, by coins.
    Randomised(Randomised),
    /// Hysteresis of the number of jobs.
    Count(Count),
    /// Hysteresis of the workload.
    Workload(Workload),
    /// By how busy the machine was, as Linux's governors do.
    Governor(Governor),
    /// A control outside the kernel decides.
    External,
}

impl ControlRule {
    /// Whether the work of a job counts once for each of its processors.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        matches!(self, Self::Workload(rule) if rule.weighted)
    }

    /// The coin of an arrival or departure, by its number.
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
    /// What it does.
    pub rule: ControlRule,
}

impl RateControl {
    /// The level after an event; `coin` is a number in [0, 1).
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

    /// The workload at which its rule comes down from a level, where it is one of workload.
    #[must_use]
    pub fn descent(&self, level: usize) -> Option<(&Workload, f64)> {
        let ControlRule::Workload(rule) = &self.rule else { return None };
        let threshold = *rule.low.get(level.checked_sub(1)?)?;
        // With the last job the workload goes too: that is a departure.
        (threshold > 0.0).then_some((rule, threshold))
    }

    /// Its governor, where it is one.
    #[must_use]
    pub fn governor(&self) -> Option<&Governor> {
        if let ControlRule::Governor(governor) = &self.rule { Some(governor) } else { None }
    }

    /// Whether the rate may change.
    #[must_use]
    pub fn may_change(&self) -> bool {
        self.rule != ControlRule::Constant
    }
}

/// The level of a hysteresis: up above the upper threshold of a level, down at the lower one of that below or under it.
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
