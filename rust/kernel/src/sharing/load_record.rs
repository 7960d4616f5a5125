//! Loads of resources, recorded while activities run.
use super::loads::{LoadTotals, Loads};
use super::slots::{Activities, User};
use crate::platform::Sharing;
use crate::time::FineTime;

/// A load within this fraction of the capacity counts as full.
const FULL: f64 = 1.0 - 1e-9;

impl Activities {
    /// Records the loads of the first `count` resources from now on.
    pub fn record_loads(&mut self, count: usize) {
        self.loads = Some(Box::new(Loads::new(count)));
    }

    /// The loads of the recorded resources up to a time not before the last event; empty if no loads are recorded.
    #[must_use]
    pub fn recorded_loads(&self, now: FineTime) -> Vec<LoadTotals> {
        let Some(loads) = &self.loads else { return Vec::new() };
        let is_solved = loads.changed.is_empty() && self.fresh.is_empty() && self.touched.is_empty();
        if self.touched_at < now && !is_solved {
            // The next query at a later time solves the touched activities; solve a copy here.
            let mut solved = self.clone();
            solved.flush();
            return solved.recorded_loads(now);
        }
        loads.until(now)
    }

    /// Records the new loads of the changed resources, after all rates are known.
    pub(super) fn note_loads(&mut self) {
        let Some(loads) = &mut self.loads else { return };
        let mut changed = std::mem::take(&mut loads.changed);
        for resource in changed.drain(..) {
            let users = &self.users[resource as usize];
            let taken = |user: &User| {
                self.uses.items[user.at as usize].weight * self.slots[user.activity as usize].rate
            };
            let load = users.iter().map(taken).fold(0.0, |sum, rate| sum + rate);
            let given = self.resources[resource as usize];
            let full = given.sharing == Sharing::Shared && load >= FULL * given.capacity;
            loads.set(resource, self.touched_at, load, full && users.len() > 1);
        }
        loads.changed = changed;
        loads.settle();
    }
}
