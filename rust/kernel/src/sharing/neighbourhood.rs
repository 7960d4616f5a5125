//! Solves a neighbourhood of a change, with all others held as they are, and makes sure that they stay so.
//!
//! Rates with a common level are right if and only if no resource gives more than it has, and every activity is at its
//! bound or is held by a resource: one that is full, on which no activity is at a higher level. So a set of activities is
//! solved in what the others leave; then those others are added that no longer fulfil this, or that are in the way of those
//! in the set; and so on until there is none. The conditions are about each resource by itself, so that only resources of
//! the set have to be looked at. O(rounds × users of the resources of the set).
use serde::{Deserialize, Serialize};

use super::demand::{Resource, Rule};
use super::slots::{Activities, Activity, Hold, Use};

/// Loads and levels that differ by this part of themselves are the same, but for rounding.
const ROUNDING: f64 = 1e-12;
/// Sums of what is taken of a resource are kept without much care; nearer to its capacity than this part they are not relied on.
const UNCERTAIN: f64 = 1e-6;
/// After so many sets the component is solved, or once they have as many members as there are activities.
const ROUNDS: usize = 100;
/// How often the level to which a resource can rise is put right; one that is too low does no harm.
const TRIALS: usize = 6;

/// The users of one resource that are not in the set.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Outside {
    /// What they take of it.
    taken: f64,
    /// Their highest level.
    top: f64,
    /// The lowest level of those that it holds; infinite where it holds none.
    held: f64,
    /// Whether any has no level.
    levelless: bool,
    /// Whether any of this may have changed.
    stale: bool,
}

impl Default for Outside {
    fn default() -> Self {
        Self { taken: 0.0, top: 0.0, held: f64::INFINITY, levelless: false, stale: true }
    }
}

impl Activities {
    /// Solves what must change around the activities that are members so far; false where that is not found this way,
    /// and nothing is changed.
    pub(super) fn solve_neighbourhood(&mut self) -> bool {
        self.begin_copy();
        let (mut next, mut work) = (0, 0);
        for _ in 0..ROUNDS {
            work += self.members.len();
            if work > self.consumers || !self.gather(&mut next) {
                return false;
            }
            self.copy_members(false);
            if self.outside.iter().any(|outside| outside.levelless) {
                return false;
            }
            self.solver.fill(self.rule, &mut self.component);
            let before = (self.members.len(), self.shared.len());
            for place in 0..self.shared.len() {
                self.add_violated(place);
            }
            self.add_exhausted();
            if (self.members.len(), self.shared.len()) == before {
                self.apply(true);
                return true;
            }
        }
        false
    }

    /// Adds activities that are certainly touched: new ones, and those that were held by what was freed. Adds the resources
    /// of members that hold any. False if one of the members has no level.
    fn gather(&mut self, next: &mut usize) -> bool {
        while let Some(&member) = self.members.get(*next) {
            *next += 1;
            let of = &self.slots[member as usize];
            if of.unit == 0.0 || of.hold == Hold::Levelless {
                return false;
            }
            for at in of.uses.first..of.uses.first + of.uses.count {
                let resource = self.uses.items[at as usize].resource;
                if !self.is_shared(resource) {
                    continue;
                }
                if self.local.has(resource) {
                    self.outside[self.places[resource as usize] as usize].stale = true;
                }
                if self.visited.mark(resource) {
                    let freed = self.freed.has(resource);
                    if freed || self.unsolved > 1 {
                        self.add_users(resource, |hold, _| {
                            hold == Hold::Unsolved || (freed && hold == Hold::By(resource))
                        });
                    }
                    if self.holding[resource as usize] > 0 {
                        self.add_resource(resource);
                    }
                }
            }
        }
        true
    }

    /// Adds the users of a resource for which `which` holds, given what holds them and their level.
    fn add_users(&mut self, resource: u32, which: impl Fn(Hold, f64) -> bool) {
        for at in 0..self.users[resource as usize].len() {
            let activity = self.users[resource as usize][at].activity;
            let of = &self.slots[activity as usize];
            if which(of.hold, of.level) {
                self.add_member(activity);
            }
        }
    }

    /// Adds a resource that limits members, unless it is there.
    fn add_resource(&mut self, resource: u32) {
        if self.local.mark(resource) {
            self.places[resource as usize] = self.shared.len() as u32;
            self.shared.push(resource);
            self.outside.push(Outside::default());
        }
    }

    /// Leaves out all resources.
    pub(super) fn begin_copy(&mut self) {
        self.shared.clear();
        self.outside.clear();
        self.local.clear(self.resources.len());
    }

    /// Copies the members for the solver. `whole`: with all of their resources, which have no other users; else with those
    /// that have been added.
    pub(super) fn copy_members(&mut self, whole: bool) {
        self.component.clear();
        for at in 0..self.members.len() {
            self.copy_activity(self.members[at], whole);
        }
        for place in 0..self.shared.len() {
            let resource = self.shared[place];
            if !whole && self.outside[place].stale {
                self.outside[place] = self.outside_of(resource);
            }
            let Resource { capacity, sharing } = self.resources[resource as usize];
            self.component.capacity.push((capacity - self.outside[place].taken).max(0.0));
            self.component.sharing.push(sharing);
        }
        self.component.transpose();
    }

    fn copy_activity(&mut self, member: u32, whole: bool) {
        let Activity { uses, bound, penalty, .. } = self.slots[member as usize];
        let exact = self.rule == Rule::FairBottleneck;
        let mut own = (f64::INFINITY, 1.0);
        for at in uses.first..uses.first + uses.count {
            let Use { resource, weight, .. } = self.uses.items[at as usize];
            let shared = self.is_shared(resource);
            if whole && shared {
                self.add_resource(resource);
            }
            if shared && self.local.has(resource) {
                self.component.uses.push((self.places[resource as usize], weight));
            } else {
                // Which of the two quotients is less, without dividing. Nothing gets more than all of a resource.
                let capacity = self.resources[resource as usize].capacity;
                if capacity * own.1 < own.0 * weight {
                    own = (capacity, weight);
                }
            }
        }
        let bound = if exact { bound } else { bound.min(own.0 / own.1) };
        self.component.close(bound, own, penalty);
    }

    fn outside_of(&self, resource: u32) -> Outside {
        let mut outside = Outside { stale: false, ..Outside::default() };
        for user in &self.users[resource as usize] {
            if !self.reached.has(user.activity) {
                let activity = &self.slots[user.activity as usize];
                outside.taken += self.uses.items[user.at as usize].weight * activity.rate;
                outside.top = outside.top.max(activity.level);
                outside.levelless |= activity.hold == Hold::Levelless;
                if activity.hold == Hold::By(resource) {
                    outside.held = outside.held.min(activity.level);
                }
            }
        }
        outside
    }

    /// Adds the resources of which more would be taken than there is, or nearly.
    fn add_exhausted(&mut self) {
        self.expects.clear(self.resources.len());
        self.others.clear();
        for (&member, &rate) in self.members.iter().zip(&self.component.rate) {
            let of = &self.slots[member as usize];
            let more = rate - if of.hold == Hold::Unsolved { 0.0 } else { of.rate };
            for &Use { resource, weight, .. } in self.uses.get(of.uses) {
                if self.local.has(resource) || !self.is_shared(resource) {
                    continue;
                }
                if self.expects.mark(resource) {
                    self.others.push(resource);
                    self.expected[resource as usize] = self.load[resource as usize];
                }
                self.expected[resource as usize] += weight * more;
            }
        }
        for at in 0..self.others.len() {
            let resource = self.others[at];
            let capacity = self.resources[resource as usize].capacity;
            if self.expected[resource as usize] > capacity * (1.0 - UNCERTAIN) {
                self.add_resource(resource);
            }
        }
    }

    /// Adds the users of a resource that cannot stay as they are.
    fn add_violated(&mut self, place: usize) {
        let resource = self.shared[place];
        let Outside { top, held, taken, .. } = self.outside[place];
        if top == 0.0 && held.is_infinite() {
            return;
        }
        let filling = &self.solver.filling;
        // Of the set: what it takes, its highest level, and the level at which the resource holds some of it.
        let (mut load, mut highest, mut level) = (taken, 0.0_f64, f64::INFINITY);
        for &(member, weight) in self.component.users_of(place) {
            let rate = self.component.rate[member as usize];
            load += weight * rate;
            let own = rate / filling.scale[member as usize];
            highest = highest.max(own);
            if filling.holder[member as usize] as usize == place {
                level = level.min(own);
            }
        }
        let capacity = self.resources[resource as usize].capacity;
        if held.is_finite() && (load < capacity * (1.0 - ROUNDING) || highest > held * (1.0 + ROUNDING)) {
            self.add_users(resource, |hold, _| hold == Hold::By(resource));
        }
        if top > level * (1.0 + ROUNDING) {
            let before = self.members.len();
            let most = self.reachable_level(place, level).max(level) * (1.0 + ROUNDING);
            self.add_users(resource, |_, level| level > most);
            if self.members.len() == before {
                self.add_users(resource, |_, other| other > level * (1.0 + ROUNDING));
            }
        }
    }

    /// The level to which a resource can rise that holds members at a level, if no others go beyond it.
    fn reachable_level(&self, place: usize, mut level: f64) -> f64 {
        let resource = self.shared[place] as usize;
        let filling = &self.solver.filling;
        for _ in 0..TRIALS {
            let (mut held, mut pull) = (0.0, 0.0);
            for &(member, weight) in self.component.users_of(place) {
                if filling.holder[member as usize] as usize == place {
                    pull += weight * filling.scale[member as usize];
                } else {
                    held += weight * self.component.rate[member as usize];
                }
            }
            for user in self.users[resource].iter().filter(|user| !self.reached.has(user.activity)) {
                let activity = &self.slots[user.activity as usize];
                let weight = self.uses.items[user.at as usize].weight;
                if activity.level > level {
                    pull += weight / (activity.penalty * activity.unit);
                } else {
                    held += weight * activity.rate;
                }
            }
            let next = (self.resources[resource].capacity - held) / pull;
            if next.is_nan() || next <= level {
                break;
            }
            level = next;
        }
        level
    }
}
