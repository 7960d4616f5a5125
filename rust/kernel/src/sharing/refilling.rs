//! Progressive filling of what changes only.
//!
//! The level at which a resource is full, and holds those of its users that no other has held before, follows from what
//! happens at lower levels. So changes are followed from low levels to high ones, and everything that they do not reach
//! stays as it is. An activity that is new, or whose resource is not full any more, is *open*: it rises until a resource or
//! its bound holds it. Where open ones need more than is left, the resource holds all its users at the level that it has
//! for all of them, also those that were higher before. What they leave elsewhere makes other resources let go of what they
//! hold, at the level at which they held it.
//!
//! In the end every resource gives no more than it has, and every activity is at its bound or is held by a resource: one that
//! is full, on which nothing is at a higher level. There is one solution only that fulfils this.
//!
//! Each resource that may be next waits in a heap at a level that it is not full before; it is put right where it is
//! looked at. O(changes × uses × log + users of the resources that are full).
use std::cmp::Reverse;

use super::rising::{Part, SAME};
use super::slots::{Activities, Hold, State, Use};
use crate::time::{from_ordered_bits, ordered_bits};

/// Parts of its capacity by which the load of a resource may be off: since levels are the same that are not quite, and
/// for each of its users, since sums are rounded.
const ROUNDING: (f64, f64) = (2e-13, 1e-15);
/// Loads are kept as sums of what was added and taken off; they are relied on as far as this part of the capacity.
const UNCERTAIN: f64 = 1e-6;
/// So many steps for each activity are more than it takes to solve the components.
const STEPS: usize = 64;

impl Activities {
    /// Solves for new activities, and for resources that were freed of others; those without a level are left out. Where
    /// the changes reach any of these, or are too many, the components are solved.
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

    /// Goes through the levels; whether all activities are held in the end.
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

    /// Looks at a resource that comes next; false if it has users without a level.
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

    /// Lists the users of a resource, and puts its load right; false if some have no level.
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

    /// Fills a resource: all of its users that are open or higher are held at a level.
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

    /// Opens the activities that a resource holds.
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

    /// The greatest rate of an activity, by its bound and the resources that it has for itself.
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

    /// Takes an activity off its resources; those that hold others there are looked at again.
    fn withdraw(&mut self, activity: u32) {
        let of = &self.slots[activity as usize];
        if self.reached.mark(activity) {
            self.rising.changed.push((activity, of.rate));
        } else if of.hold == Hold::Unsolved {
            self.close(activity);
            return;
        }
        let rate = self.let_go(activity);
        self.add_load(activity, -rate);
        let uses = self.slots[activity as usize].uses;
        for at in uses.first..uses.first + uses.count {
            self.look_again(self.uses.items[at as usize].resource);
        }
    }

    /// An open activity is not open any more.
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

    /// Holds an activity that was withdrawn.
    fn settle(&mut self, activity: u32, hold: Hold, level: f64, rate: f64) {
        self.hold(activity, hold, level);
        self.slots[activity as usize].rate = rate;
        self.add_load(activity, rate);
    }

    /// Looks at a resource again, at the level at which it holds activities.
    fn look_again(&mut self, resource: u32) {
        if self.holding[resource as usize] > 0 && self.couples(resource) {
            self.rising.look_before(resource, self.held_at[resource as usize]);
        }
    }

    /// Takes back what was done to an activity, which then is unsolved.
    fn give_up(&mut self, activity: u32, rate: f64) {
        if self.slots[activity as usize].hold == Hold::Unsolved {
            self.close(activity);
        } else {
            self.let_go(activity);
            self.add_load(activity, -rate);
        }
    }
}
