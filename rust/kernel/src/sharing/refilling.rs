//! Progressive filling of changed parts only.
//!
//! The level at which a resource is full, and limits the users that no other resource limited before, follows from
//! lower levels. So changes are followed from low levels to high ones, and unaffected parts stay unchanged. An
//! activity is *open* if it is new, or if its resource is no longer full: its rate rises until a resource or its bound
//! limits it. If open activities need more than the free capacity, the resource limits all its users at their common
//! level, including those that were higher before. The capacity that these leave on other resources makes those release
//! the activities that they limit, at the level at which they limited them.
//!
//! In the end no resource is overloaded, and every activity is at its bound or is limited by a full resource on which
//! no activity has a higher level. The solution is unique.
//!
//! Each resource that may be next waits in a heap at a lower bound of the level at which it is full; the level is
//! corrected when the resource is examined. O(changes × uses × log + users of the full resources).
use std::cmp::Reverse;

use super::rising::{Part, SAME};
use super::slots::{Activities, Hold, State, Use};
use crate::time::{from_ordered_bits, ordered_bits};

/// Relative tolerances of the load of a resource: since nearly equal levels count as equal, and for each of its users,
/// since sums are rounded.
const ROUNDING: (f64, f64) = (2e-13, 1e-15);
/// Loads are updated by additions and subtractions; this fraction of the capacity bounds their error.
const UNCERTAIN: f64 = 1e-6;
/// Maximum number of steps per activity; beyond it, solving the components costs less.
const STEPS: usize = 64;

impl Activities {
    /// Solves for new activities, and for resources that others released; activities without a level are left out. If
    /// the changes reach such activities, or are too many, solves the components instead.
    pub(super) fn refill(&mut self, fresh: &[u32], touched: &[u32]) {
        self.reached.clear(self.slots.len());
        self.rising.level = 0.0;
        for &activity in fresh {
            let of = &self.slots[activity as usize];
            if of.state == State::Running && of.hold == Hold::Unsolved && !self.reached.has(activity) {
                self.open(activity);
            }
        }
        for &resource in touched {
            let first = self.users[resource as usize].first();
            if first.is_some_and(|first| self.slots[first.activity as usize].hold != Hold::Levelless) {
                self.look_again(resource);
            }
        }
        let done = self.raise();
        let changed = std::mem::take(&mut self.rising.changed);
        for &(activity, before) in &changed {
            let rate = std::mem::replace(&mut self.slots[activity as usize].rate, before);
            if done {
                self.set_rate(activity, rate);
            } else {
                self.give_up(activity, rate);
            }
        }
        if !done {
            self.rising.forget();
            for &(activity, _) in &changed {
                if self.slots[activity as usize].hold == Hold::Unsolved {
                    self.solve_component(activity);
                }
            }
        }
        self.rising.changed = changed;
        self.rising.changed.clear();
    }

    /// Processes the levels in ascending order; returns whether all activities are limited in the end.
    fn raise(&mut self) -> bool {
        for _ in 0..STEPS * (self.consumers + 1) {
            let bound = self.rising.bounds.peek().map_or(i64::MAX, |next| next.0.0);
            match self.rising.resources.peek() {
                Some((level, resource)) if level <= bound => {
                    self.rising.resources.pop();
                    if !self.look(resource, from_ordered_bits(level)) {
                        return false;
                    }
                }
                _ => match self.rising.bounds.pop() {
                    Some(Reverse((level, activity))) => self.reach_bound(activity, from_ordered_bits(level)),
                    None => return true,
                },
            }
        }
        false
    }

    /// Examines the next resource; returns false if it has users without a level.
    fn look(&mut self, resource: u32, from: f64) -> bool {
        let at = resource as usize;
        let capacity = self.resources[at].capacity;
        let (open, holds) = (self.rising.open[at] > 0, self.holding[at] > 0);
        if !open && !holds && self.load[at] <= capacity * (1.0 - UNCERTAIN) {
            return true;
        }
        if !self.list_parts(resource) {
            return false;
        }
        let rounding = capacity * (ROUNDING.0 + ROUNDING.1 * self.users[at].len() as f64);
        if !open && !holds && self.load[at] <= capacity + rounding {
            return true;
        }
        let held_at = if holds { self.held_at[at] } else { f64::INFINITY };
        let level = self.rising.level_of_parts(capacity, rounding, from, held_at);
        if !open && level == held_at {
            return true;
        }
        let due = ordered_bits(level.min(held_at));
        if self.rising.next_level().is_some_and(|next| next < due) {
            self.rising.resources.set(resource, due);
        } else if level > held_at {
            self.release(resource);
        } else {
            self.fill(resource, level);
        }
        true
    }

    /// Lists the users of a resource, and recomputes its load; returns false if some users have no level.
    fn list_parts(&mut self, resource: u32) -> bool {
        let parts = &mut self.rising.parts;
        parts.clear();
        let (mut load, mut levels) = (0.0, true);
        for user in &self.users[resource as usize] {
            let of = &self.slots[user.activity as usize];
            let weight = self.uses.items[user.at as usize].weight;
            let rises = of.hold == Hold::Unsolved || of.hold == Hold::By(resource);
            levels &= of.hold != Hold::Levelless;
            let taken = if of.hold == Hold::Unsolved { 0.0 } else { weight * of.rate };
            load += taken;
            let level = if rises { f64::INFINITY } else { of.level };
            parts.push(Part { level, taken, pull: weight / (of.penalty * of.unit) });
        }
        self.load[resource as usize] = load;
        levels
    }

    /// Fills a resource: limits all of its users that are open or higher at this level.
    fn fill(&mut self, resource: u32, level: f64) {
        self.rising.level = level;
        for at in 0..self.users[resource as usize].len() {
            let activity = self.users[resource as usize][at].activity;
            let of = &self.slots[activity as usize];
            let comes = match of.hold {
                Hold::Unsolved => true,
                Hold::By(holder) if holder == resource => of.level != level,
                _ => of.level > level * (1.0 + SAME),
            };
            if comes {
                let rate = (level * (1.0 / (of.penalty * of.unit))).min(of.bound);
                self.withdraw(activity);
                self.settle(activity, Hold::By(resource), level, rate);
            }
        }
    }

    /// Opens the activities that a resource limits.
    fn release(&mut self, resource: u32) {
        for at in 0..self.users[resource as usize].len() {
            let activity = self.users[resource as usize][at].activity;
            if self.slots[activity as usize].hold == Hold::By(resource) {
                self.open(activity);
            }
        }
    }

    /// Opens an activity.
    fn open(&mut self, activity: u32) {
        self.withdraw(activity);
        let of = &self.slots[activity as usize];
        let scale = of.penalty * of.unit;
        for &Use { resource, weight, .. } in self.uses.get(of.uses) {
            if self.is_shared(resource) {
                let at = resource as usize;
                self.rising.open[at] += 1;
                self.rising.pull[at] += weight / scale;
                let left = self.resources[at].capacity * (1.0 - UNCERTAIN) - self.load[at];
                let mut level = left.max(0.0) / self.rising.pull[at];
                if self.holding[at] > 0 {
                    level = level.min(self.held_at[at]);
                }
                self.rising.look_before(resource, level);
            }
        }
        let bound = self.bound_of(activity);
        if bound.is_finite() {
            self.rising.bounds.push(Reverse((ordered_bits(bound * scale), activity)));
        }
    }

    /// The greatest rate of an activity, by its bound and the resources that it uses alone.
    fn bound_of(&self, activity: u32) -> f64 {
        let of = &self.slots[activity as usize];
        let alone = self.uses.get(of.uses).iter().filter(|item| !self.is_shared(item.resource));
        alone.fold(of.bound, |bound, item| {
            bound.min(self.resources[item.resource as usize].capacity / item.weight)
        })
    }

    fn reach_bound(&mut self, activity: u32, level: f64) {
        if self.slots[activity as usize].hold == Hold::Unsolved {
            let rate = self.bound_of(activity);
            self.withdraw(activity);
            self.settle(activity, Hold::Bound, level, rate);
        }
    }

    /// Removes an activity from the loads of its resources; resources that limit others there are examined again.
    fn withdraw(&mut self, activity: u32) {
        let of = &self.slots[activity as usize];
        if self.reached.mark(activity) {
            self.rising.changed.push((activity, of.rate));
        } else if of.hold == Hold::Unsolved {
            self.close(activity);
            return;
        }
        let rate = self.unbind_bottleneck(activity);
        self.add_load(activity, -rate);
        let uses = self.slots[activity as usize].uses;
        for at in uses.first..uses.first + uses.count {
            self.look_again(self.uses.items[at as usize].resource);
        }
    }

    /// Ends the open state of an activity.
    fn close(&mut self, activity: u32) {
        let of = &self.slots[activity as usize];
        for &Use { resource, weight, .. } in self.uses.get(of.uses) {
            if self.is_shared(resource) {
                let at = resource as usize;
                self.rising.open[at] -= 1;
                self.rising.pull[at] -= weight / (of.penalty * of.unit);
                if self.rising.open[at] == 0 {
                    self.rising.pull[at] = 0.0;
                }
            }
        }
    }

    /// Binds an activity that was withdrawn.
    fn settle(&mut self, activity: u32, hold: Hold, level: f64, rate: f64) {
        self.bind_bottleneck(activity, hold, level);
        self.slots[activity as usize].rate = rate;
        self.add_load(activity, rate);
    }

    /// Schedules a resource for examination at the level at which it limits activities.
    fn look_again(&mut self, resource: u32) {
        if self.holding[resource as usize] > 0 && self.couples(resource) {
            self.rising.look_before(resource, self.held_at[resource as usize]);
        }
    }

    /// Reverts the changes of an activity, which is then unsolved.
    fn give_up(&mut self, activity: u32, rate: f64) {
        if self.slots[activity as usize].hold == Hold::Unsolved {
            self.close(activity);
        } else {
            self.unbind_bottleneck(activity);
            self.add_load(activity, -rate);
        }
    }
}
