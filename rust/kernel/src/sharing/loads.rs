//! Record of the use of resources over time: total units, greatest load, and the time for which a resource was in use
//! and full.
//!
//! A load holds from one change to the next. At each change it is summed again, O(users of the resource), so that
//! rounding errors do not accumulate; a load that held for no time does not count.
use serde::{Deserialize, Serialize};

use crate::index::Marks;
use crate::time::FineTime;

/// Relative tolerance, of the time since the first activity, by which ends that should coincide may differ: a load that
/// holds no longer is not a peak.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Totals of the load of a resource since the begin of the record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadTotals {
    /// Units used: the integral of the load.
    pub units: f64,
    /// Greatest load, units per second.
    pub peak: f64,
    /// Seconds with any load.
    pub busy: f64,
    /// Seconds in which several activities shared the full capacity.
    pub congested: f64,
}

/// The load of a resource since its last change.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Current {
    load: f64,
    since: FineTime,
    congested: bool,
}

impl Current {
    fn add_to(self, totals: &mut LoadTotals, now: FineTime, begin: FineTime) {
        let lasted = now.since(self.since);
        if lasted <= 0.0 || self.load <= 0.0 {
            return;
        }
        totals.units += self.load * lasted;
        if lasted > ROUNDING * now.since(begin) {
            totals.peak = totals.peak.max(self.load);
        }
        totals.busy += lasted;
        totals.congested += if self.congested { lasted } else { 0.0 };
    }
}

/// The loads of the first resources.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Loads {
    /// The time at which one of them was first used.
    begin: Option<FineTime>,
    totals: Vec<LoadTotals>,
    current: Vec<Current>,
    /// Resources with changed users or rates at the last change, each once.
    pub(super) changed: Vec<u32>,
    is_changed: Marks,
}

impl Loads {
    /// Creates an empty record.
    pub(super) fn new(count: usize) -> Self {
        let mut is_changed = Marks::default();
        is_changed.clear(count);
        let (totals, current) = (vec![LoadTotals::default(); count], vec![Current::default(); count]);
        Self { begin: None, totals, current, changed: Vec::new(), is_changed }
    }

    /// Marks the load of a resource as changed from now on.
    pub(super) fn change(&mut self, resource: u32) {
        if (resource as usize) < self.totals.len() && self.is_changed.mark(resource) {
            self.changed.push(resource);
        }
    }

    /// The totals up to a time not before the last change.
    pub(super) fn until(&self, now: FineTime) -> Vec<LoadTotals> {
        let begin = self.begin.unwrap_or(now);
        let until = |(totals, current): (&LoadTotals, &Current)| {
            let mut totals = *totals;
            current.add_to(&mut totals, now, begin);
            totals
        };
        self.totals.iter().zip(&self.current).map(until).collect()
    }

    /// Unmarks all resources.
    pub(super) fn settle(&mut self) {
        self.is_changed.clear(0);
    }

    /// Sets the load of a resource from now on.
    pub(super) fn set(&mut self, resource: u32, now: FineTime, load: f64, congested: bool) {
        let begin = *self.begin.get_or_insert(now);
        let current = &mut self.current[resource as usize];
        current.add_to(&mut self.totals[resource as usize], now, begin);
        *current = Current { load, since: now, congested };
    }
}
