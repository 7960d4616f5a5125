//! What a change has touched is solved again, and nothing else.
//!
//! Where rates come from a common level, that is a neighbourhood of what started or ended (`neighbourhood.rs`). Where they do
//! not, or where the neighbourhood grows too large, it is the component: whatever shares resources with it, directly or
//! through others. O(users of the resources of what is touched · log).
use std::cmp::Reverse;

use super::demand::Rule;
use super::filling::BOUND;
use super::slots::{Activities, End, Hold, State};
use crate::platform::Sharing;

impl Activities {
    /// Solves what was touched before `now`, since it held from then on.
    pub(super) fn flush_before(&mut self, now: f64) {
        if self.touched_at < now {
            self.flush();
        }
    }

    /// Solves everything that was touched.
    pub(super) fn flush(&mut self) {
        if self.fresh.is_empty() && self.touched.is_empty() {
            return;
        }
        // Where most activities are new, nearly all others change.
        let local = self.rule != Rule::FairBottleneck && 2 * self.fresh.len() <= self.consumers;
        self.solved.clear(self.slots.len());
        self.freed.clear(self.resources.len());
        for &resource in &self.touched {
            self.freed.mark(resource);
        }
        let mut fresh = std::mem::take(&mut self.fresh);
        self.unsolved = fresh.len();
        for activity in fresh.drain(..) {
            let of = &self.slots[activity as usize];
            if of.state == State::Running && of.hold == Hold::Unsolved {
                self.begin_members();
                self.add_member(activity);
                self.solve_members(local);
            }
        }
        self.fresh = fresh;
        let mut touched = std::mem::take(&mut self.touched);
        for resource in touched.drain(..) {
            self.begin_members();
            self.add_freed(resource);
            if !self.members.is_empty() {
                self.solve_members(local);
            }
        }
        self.touched = touched;
    }

    fn solve_members(&mut self, local: bool) {
        if !(local && self.solve_neighbourhood()) {
            self.solve_component();
        }
    }

    /// Whether the activities on a resource influence one another: on a fat pipe only by the rule that counts them.
    pub(super) fn couples(&self, resource: u32) -> bool {
        self.rule == Rule::FairBottleneck || self.resources[resource as usize].sharing == Sharing::Shared
    }

    /// Whether a resource belongs to components: activities influence one another on it, and there are several.
    pub(super) fn is_shared(&self, resource: u32) -> bool {
        self.users[resource as usize].len() > 1 && self.couples(resource)
    }

    /// No activity is a member, and no resource is visited.
    pub(super) fn begin_members(&mut self) {
        self.members.clear();
        self.reached.clear(self.slots.len());
        self.visited.clear(self.resources.len());
    }

    pub(super) fn add_member(&mut self, activity: u32) {
        if self.reached.mark(activity) {
            self.members.push(activity);
        }
    }

    /// Adds the users of a resource that may go faster since it was freed of others, unless that has been looked at.
    fn add_freed(&mut self, resource: u32) {
        if !self.freed.has(resource) || !self.couples(resource) {
            return;
        }
        for at in 0..self.users[resource as usize].len() {
            let activity = self.users[resource as usize][at].activity;
            let freed = match self.slots[activity as usize].hold {
                Hold::By(holder) => holder == resource,
                Hold::Levelless => !self.solved.has(activity),
                Hold::Unsolved | Hold::Bound => false,
            };
            if freed {
                self.add_member(activity);
            }
        }
    }

    /// Solves the component of the activities that are members so far.
    fn solve_component(&mut self) {
        self.visited.clear(self.resources.len());
        let mut next = 0;
        // Once all activities are in, there is none left to find.
        while next < self.members.len() && self.members.len() < self.consumers {
            let range = self.slots[self.members[next] as usize].uses;
            for at in range.first..range.first + range.count {
                let resource = self.uses.items[at as usize].resource;
                if self.is_shared(resource) && self.visited.mark(resource) {
                    for at in 0..self.users[resource as usize].len() {
                        self.add_member(self.users[resource as usize][at].activity);
                    }
                }
            }
            next += 1;
        }
        let slots = &self.slots;
        self.members.sort_unstable_by_key(|&member| Reverse(slots[member as usize].order));
        self.begin_copy();
        self.copy_members(true);
        let uneven = self.members.iter().any(|&member| self.slots[member as usize].unit == 0.0);
        let level = self.solver.solve(self.rule, &mut self.component) && !uneven;
        self.apply(level);
    }

    /// Takes the rates over. `level`: whether a level is behind them.
    pub(super) fn apply(&mut self, level: bool) {
        for at in 0..self.members.len() {
            let (member, rate) = (self.members[at], self.component.rate[at]);
            self.solved.mark(member);
            self.unsolved -= usize::from(self.slots[member as usize].hold == Hold::Unsolved);
            let before = self.take_of_holders(member);
            let activity = &mut self.slots[member as usize];
            activity.hold = match level.then(|| self.solver.filling.holder[at]) {
                None => Hold::Levelless,
                Some(BOUND) => Hold::Bound,
                Some(place) => Hold::By(self.shared[place as usize]),
            };
            activity.level = if level { rate * activity.penalty * activity.unit } else { 0.0 };
            self.give_to_holders(member, if level { rate } else { 0.0 } - before);
            self.set_rate(member, rate);
        }
        for &resource in &self.shared {
            self.freed.unmark(resource);
        }
    }

    /// No resource holds an activity any more; the rate at which it counts for their loads.
    pub(super) fn take_of_holders(&mut self, activity: u32) -> f64 {
        let of = &mut self.slots[activity as usize];
        match of.hold {
            Hold::By(resource) => self.holding[resource as usize] -= 1,
            Hold::Bound => {}
            Hold::Unsolved => return 0.0,
            Hold::Levelless => {
                for item in self.uses.get(of.uses) {
                    self.holding[item.resource as usize] -= 1;
                }
                return 0.0;
            }
        }
        of.rate
    }

    /// Has resources hold an activity, whose rate counts so much more for their loads.
    fn give_to_holders(&mut self, activity: u32, more: f64) {
        let of = &self.slots[activity as usize];
        if let Hold::By(resource) = of.hold {
            self.holding[resource as usize] += 1;
        }
        let levelless = of.hold == Hold::Levelless;
        if levelless || more != 0.0 {
            for item in self.uses.get(of.uses) {
                self.holding[item.resource as usize] += u32::from(levelless);
                self.load[item.resource as usize] += item.weight * more;
            }
        }
    }

    /// Sets the rate of an activity; one whose rate is as it was is left alone.
    fn set_rate(&mut self, member: u32, rate: f64) {
        let now = self.touched_at;
        let activity = &mut self.slots[member as usize];
        if activity.rate == rate {
            return;
        }
        activity.remaining = (activity.remaining - activity.rate * (now - activity.since)).max(0.0);
        activity.since = now;
        activity.rate = rate;
        let end = if activity.remaining > 0.0 { now + activity.remaining / rate } else { now };
        if end.is_finite() {
            self.ends.set(member, End::new(end, activity.sequence));
        } else {
            self.ends.remove(member);
        }
    }
}
