//! What a change has touched is solved again, and nothing else.
//!
//! A component is whatever shares resources with what started or ended, directly or through others. Where rates come
//! from a rising level, those that are held below a certain level are not touched either: rising to there, nothing
//! happens that did not happen before. That level is the one at which the activities that ended were held, and the one to which
//! the resources of those that start can rise. O(users of the resources of what is touched · log).
use std::cmp::Reverse;

use super::demand::{Resource, Rule};
use super::slots::{Activities, Activity, End, State, Use};
use crate::platform::Sharing;

/// Levels are compared with those of other solves: rounding must leave out no activity.
const MARGIN: f64 = 1e-9;
/// A lower level than can be reached does no harm, so it is not looked for to the end.
const TRIALS: usize = 6;

impl Activities {
    /// Solves what was touched before `now`, since it held from then on.
    pub(super) fn flush_before(&mut self, now: f64) {
        if self.touched_at < now {
            self.flush();
        }
    }

    /// Solves every component that was touched.
    pub(super) fn flush(&mut self) {
        if self.fresh.is_empty() && self.touched.is_empty() {
            return self.note_loads();
        }
        let level = self.untouched_level();
        self.freed = f64::INFINITY;
        self.reached.clear(self.slots.len());
        self.visited.clear(self.resources.len());
        let mut fresh = std::mem::take(&mut self.fresh);
        for activity in fresh.drain(..) {
            if self.slots[activity as usize].state == State::Running && self.reached.mark(activity) {
                self.members.clear();
                self.members.push(activity);
                self.solve_component(level);
            }
        }
        self.fresh = fresh;
        let mut touched = std::mem::take(&mut self.touched);
        for resource in touched.drain(..) {
            if self.couples(resource) && self.visited.mark(resource) {
                self.members.clear();
                self.gather_users(resource, level);
                self.solve_component(level);
            }
        }
        self.touched = touched;
        self.note_loads();
    }

    /// Whether the activities on a resource influence one another: on a fat pipe only by the rule that counts them.
    fn couples(&self, resource: u32) -> bool {
        self.rule == Rule::FairBottleneck || self.resources[resource as usize].sharing == Sharing::Shared
    }

    /// The level below which no activity is touched; 0 where there is none.
    fn untouched_level(&mut self) -> f64 {
        let no_level = self.rule == Rule::FairBottleneck || self.uneven > 0;
        if no_level || 2 * self.fresh.len() > self.consumers {
            return 0.0;
        }
        self.visited.clear(self.resources.len());
        let mut level = self.freed;
        for &activity in &self.fresh {
            let Activity { uses, state, .. } = self.slots[activity as usize];
            for at in uses.first..uses.first + if state == State::Running { uses.count } else { 0 } {
                let resource = self.uses.items[at as usize].resource;
                let alone = self.users[resource as usize].len() == 1;
                if !alone && self.couples(resource) && self.visited.mark(resource) {
                    level = level.min(self.reachable_level(resource));
                }
            }
        }
        level * (1.0 - MARGIN)
    }

    /// A level to which a resource can rise at least, new activities rising with it.
    fn reachable_level(&self, resource: u32) -> f64 {
        let capacity = self.resources[resource as usize].capacity;
        let mut level = 0.0;
        for _ in 0..TRIALS {
            let (mut held, mut pull) = (0.0, 0.0);
            for user in &self.users[resource as usize] {
                let activity = &self.slots[user.activity as usize];
                let part = self.uses.items[user.at as usize].weight / (activity.penalty * activity.unit);
                if activity.level < level {
                    held += part * activity.level;
                } else {
                    pull += part;
                }
            }
            let next = (capacity - held) / pull;
            if next.is_nan() || next <= level {
                break;
            }
            level = next;
        }
        level
    }

    /// Adds the users of a resource that are touched to the members.
    fn gather_users(&mut self, resource: u32, level: f64) {
        for user in &self.users[resource as usize] {
            if self.slots[user.activity as usize].level >= level && self.reached.mark(user.activity) {
                self.members.push(user.activity);
            }
        }
    }

    /// Solves the component of the activities that are its members so far.
    fn solve_component(&mut self, level: f64) {
        let mut next = 0;
        // Once all activities are in, there is none left to find.
        while next < self.members.len() && self.members.len() < self.consumers {
            let range = self.slots[self.members[next] as usize].uses;
            for at in range.first..range.first + range.count {
                let resource = self.uses.items[at as usize].resource;
                let alone = self.users[resource as usize].len() == 1;
                if !alone && self.couples(resource) && self.visited.mark(resource) {
                    self.gather_users(resource, level);
                }
            }
            next += 1;
        }
        if self.members.is_empty() {
            return;
        }
        let slots = &self.slots;
        self.members.sort_unstable_by_key(|&member| Reverse(slots[member as usize].order));
        self.copy_component(level);
        let common = self.solver.solve(self.rule, &mut self.component);
        self.apply(common);
    }

    fn copy_component(&mut self, level: f64) {
        self.component.clear();
        self.local.clear(self.resources.len());
        for at in 0..self.members.len() {
            self.copy_activity(self.members[at], level);
        }
        self.component.transpose();
    }

    fn copy_activity(&mut self, member: u32, level: f64) {
        let activity = &self.slots[member as usize];
        let component = &mut self.component;
        let exact = self.rule == Rule::FairBottleneck;
        let mut bound = activity.bound;
        let mut own = (f64::INFINITY, 1.0);
        for &Use { resource, weight, .. } in self.uses.get(activity.uses) {
            let Resource { capacity, sharing } = self.resources[resource as usize];
            if self.users[resource as usize].len() == 1 || (!exact && sharing == Sharing::FatPipe) {
                // Which of the two quotients is less, without dividing.
                if capacity * own.1 < own.0 * weight {
                    own = (capacity, weight);
                }
                continue;
            }
            if self.local.mark(resource) {
                self.places[resource as usize] = component.capacity.len() as u32;
                let mut left = capacity;
                if level > 0.0 {
                    let others = self.users[resource as usize]
                        .iter()
                        .map(|user| (user, &self.slots[user.activity as usize]));
                    let held = others.filter(|other| other.1.level < level);
                    left -= held
                        .map(|(user, other)| self.uses.items[user.at as usize].weight * other.rate)
                        .sum::<f64>();
                }
                component.capacity.push(left.max(0.0));
                component.sharing.push(sharing);
            }
            component.uses.push((self.places[resource as usize], weight));
        }
        if !exact {
            bound = bound.min(own.0 / own.1);
        }
        component.close(bound, own, (activity.penalty, activity.by_rate));
    }

    /// Takes the rates over; an activity whose rate is as it was is left alone. `common`: whether a level is behind them.
    fn apply(&mut self, common: bool) {
        let now = self.touched_at;
        for (&member, &rate) in self.members.iter().zip(&self.component.rate) {
            let activity = &mut self.slots[member as usize];
            activity.level = if common { rate * activity.penalty * activity.unit } else { 0.0 };
            if activity.rate == rate {
                continue;
            }
            activity.remaining = (activity.remaining - activity.rate * (now - activity.since)).max(0.0);
            activity.since = now;
            activity.rate = rate;
            if let Some(loads) = &mut self.loads {
                self.uses.get(activity.uses).iter().for_each(|item| loads.change(item.resource));
            }
            let end = if activity.remaining > 0.0 { now + activity.remaining / rate } else { now };
            if end.is_finite() {
                self.ends.set(member, End::new(end, activity.sequence));
            } else {
                self.ends.remove(member);
            }
        }
    }
}
