//! Solves only the parts that a change has touched.
//!
//! If rates follow from a common level, changes are found level by level (`refilling.rs`). Otherwise, or if most
//! activities are new, the component is solved: all activities that share resources with those that started or ended,
//! directly or through others. O(users of the touched resources · log).
use std::cmp::Reverse;

use super::demand::{Resource, Rule};
use super::filling::BOUND;
use super::slots::{Activities, Activity, End, Hold, State, Use};
use crate::platform::Sharing;
use crate::time::FineTime;

impl Activities {
    /// Solves the changes made before `now`, since they took effect then.
    pub(super) fn flush_before(&mut self, now: FineTime) {
        if self.touched_at < now {
            self.flush();
        }
    }

    /// Solves all pending changes.
    pub(super) fn flush(&mut self) {
        if self.fresh.is_empty() && self.touched.is_empty() {
            return self.note_loads();
        }
        self.solved.clear(self.slots.len());
        let (mut fresh, mut touched) = (std::mem::take(&mut self.fresh), std::mem::take(&mut self.touched));
        // If most activities are new, nearly all others change.
        let mostly_new = 2 * fresh.len() > self.consumers;
        if self.rule == Rule::FairBottleneck || mostly_new {
            self.solve_components(&fresh, &touched, |_| true);
        } else {
            self.solve_components(&fresh, &touched, |of| of.unit == 0.0 || of.hold == Hold::Levelless);
            self.refill(&fresh, &touched);
        }
        fresh.clear();
        touched.clear();
        (self.fresh, self.touched) = (fresh, touched);
        self.note_loads();
    }

    /// Solves the components of new activities, and of activities that may speed up because others released resources,
    /// if `which` is true for them.
    fn solve_components(&mut self, fresh: &[u32], touched: &[u32], which: impl Fn(&Activity) -> bool) {
        for &activity in fresh {
            let of = &self.slots[activity as usize];
            if of.state == State::Running && of.hold == Hold::Unsolved && which(of) {
                self.solve_component(activity);
            }
        }
        for &resource in touched {
            let count = if self.couples(resource) { self.users[resource as usize].len() } else { 0 };
            for at in 0..count {
                let activity = self.users[resource as usize][at].activity;
                let of = &self.slots[activity as usize];
                let held = matches!(of.hold, Hold::Levelless) || of.hold == Hold::By(resource);
                if held && which(of) && !self.solved.has(activity) {
                    self.solve_component(activity);
                }
            }
        }
    }

    /// Returns whether the activities on a resource influence each other: on a fat pipe only with the rule that counts
    /// users.
    pub(super) fn couples(&self, resource: u32) -> bool {
        self.rule == Rule::FairBottleneck || self.resources[resource as usize].sharing == Sharing::Shared
    }

    /// Returns whether a resource belongs to components: it has several users, and they influence each other.
    pub(super) fn is_shared(&self, resource: u32) -> bool {
        self.users[resource as usize].len() > 1 && self.couples(resource)
    }

    /// Solves the component of an activity.
    pub(super) fn solve_component(&mut self, activity: u32) {
        self.members.clear();
        self.visited.clear(self.resources.len());
        self.reached.clear(self.slots.len());
        self.reached.mark(activity);
        self.members.push(activity);
        let mut next = 0;
        // The search ends early when all activities are members.
        while next < self.members.len() && self.members.len() < self.consumers {
            let range = self.slots[self.members[next] as usize].uses;
            for at in range.first..range.first + range.count {
                let resource = self.uses.items[at as usize].resource;
                if self.is_shared(resource) && self.visited.mark(resource) {
                    for user in &self.users[resource as usize] {
                        if self.reached.mark(user.activity) {
                            self.members.push(user.activity);
                        }
                    }
                }
            }
            next += 1;
        }
        let slots = &self.slots;
        self.members.sort_unstable_by_key(|&member| Reverse(slots[member as usize].order));
        let uneven = self.members.iter().any(|&member| slots[member as usize].unit == 0.0);
        self.copy_component();
        let level = self.solver.solve(self.rule, &mut self.component) && !uneven;
        self.apply(level);
    }

    fn copy_component(&mut self) {
        self.component.clear();
        self.shared.clear();
        self.local.clear(self.resources.len());
        for at in 0..self.members.len() {
            self.copy_activity(self.members[at]);
        }
        self.component.transpose();
    }

    fn copy_activity(&mut self, member: u32) {
        let activity = &self.slots[member as usize];
        let component = &mut self.component;
        let exact = self.rule == Rule::FairBottleneck;
        let mut own = (f64::INFINITY, 1.0);
        for &Use { resource, weight, .. } in self.uses.get(activity.uses) {
            let Resource { capacity, sharing } = self.resources[resource as usize];
            if self.users[resource as usize].len() == 1 || (!exact && sharing == Sharing::FatPipe) {
                // Compares the two quotients without dividing.
                if capacity * own.1 < own.0 * weight {
                    own = (capacity, weight);
                }
                continue;
            }
            if self.local.mark(resource) {
                self.places[resource as usize] = self.shared.len() as u32;
                self.shared.push(resource);
                component.capacity.push(capacity);
                component.sharing.push(sharing);
            }
            component.uses.push((self.places[resource as usize], weight));
        }
        let bound = if exact { activity.bound } else { activity.bound.min(own.0 / own.1) };
        component.close(bound, own, (activity.penalty, activity.by_rate));
    }

    /// Stores the rates of the component. `level` is true if they follow from a common level.
    fn apply(&mut self, level: bool) {
        for at in 0..self.members.len() {
            let (member, rate) = (self.members[at], self.component.rate[at]);
            self.solved.mark(member);
            if !level && self.slots[member as usize].hold == Hold::Levelless {
                self.set_rate(member, rate);
                continue;
            }
            let before = self.unbind_bottleneck(member);
            let holder = self.solver.filling.holder.get(at).copied();
            let hold = match holder.filter(|_| level) {
                None => Hold::Levelless,
                Some(BOUND) => Hold::Bound,
                Some(place) => Hold::By(self.shared[place as usize]),
            };
            let Activity { penalty, unit, .. } = self.slots[member as usize];
            self.bind_bottleneck(member, hold, if level { rate * penalty * unit } else { 0.0 });
            self.add_load(member, if level { rate } else { 0.0 } - before);
            self.set_rate(member, rate);
        }
    }

    /// Sets the rate of an activity; does nothing if the rate is unchanged.
    pub(super) fn set_rate(&mut self, member: u32, rate: f64) {
        let now = self.touched_at;
        let activity = &mut self.slots[member as usize];
        if activity.rate == rate {
            return;
        }
        activity.remaining = (activity.remaining - activity.rate * now.since(activity.since)).max(0.0);
        activity.since = now;
        activity.rate = rate;
        if let Some(loads) = &mut self.loads {
            self.uses.get(activity.uses).iter().for_each(|item| loads.change(item.resource));
        }
        let end = if activity.remaining > 0.0 { now.after(activity.remaining / rate) } else { now };
        if end == FineTime::NEVER {
            self.ends.remove(member);
        } else {
            self.ends.set(member, End::new(end, activity.sequence));
        }
    }
}
