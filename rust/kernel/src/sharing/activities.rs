//! The engine: activities that run, the resources they use, and when each ends.
use std::cmp::Reverse;

use super::blocks::{Blocks, Range};
use super::component::Component;
use super::demand::{Demand, Resource, Rule};
use super::ends::Ends;
use super::solver::Solver;
use crate::platform::Sharing;

/// What an activity is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its slot is free.
    Gone,
    /// It waits for its latency.
    Waiting,
    /// It uses its resources, even if rounding has left it nothing to do.
    Running,
    /// It uses nothing, and only has to end.
    Ending,
}

/// One slot.
#[derive(Clone, Copy, Debug)]
struct Activity {
    tag: u64,
    sequence: u64,
    /// How many activities had begun to use resources before it.
    order: u64,
    /// Work that was left at `since`.
    remaining: f64,
    since: f64,
    rate: f64,
    bound: f64,
    penalty: f64,
    uses: Range,
    state: State,
}

/// One use of a resource, and where it stands in the list of the resource's users.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Use {
    resource: u32,
    place: u32,
    weight: f64,
}

/// One running user of a resource: the activity, and which of all uses it is.
#[derive(Clone, Copy, Debug)]
struct User {
    activity: u32,
    at: u32,
}

/// Marks that are all taken off at once, by starting a new generation.
#[derive(Clone, Debug, Default)]
struct Marks {
    generation: u32,
    of: Vec<u32>,
}

impl Marks {
    fn clear(&mut self, count: usize) {
        self.of.resize(count.max(self.of.len()), 0);
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.of.fill(0);
            self.generation = 1;
        }
    }

    /// Marks; whether it was not marked yet.
    fn mark(&mut self, at: u32) -> bool {
        let fresh = self.of[at as usize] != self.generation;
        self.of[at as usize] = self.generation;
        fresh
    }
}

/// Running activities. A clone is a fork: neither knows of the other.
#[derive(Clone, Debug)]
pub struct Activities {
    rule: Rule,
    resources: Vec<Resource>,
    users: Vec<Vec<User>>,
    slots: Vec<Activity>,
    free: Vec<u32>,
    uses: Blocks<Use>,
    ends: Ends,
    started: u64,
    running: u64,
    /// How many activities use resources now.
    consumers: usize,
    /// Resources whose users changed since the last solve, and running activities that are new.
    touched: Vec<u32>,
    fresh: Vec<u32>,
    /// When that was.
    touched_at: f64,
    reached: Marks,
    visited: Marks,
    local: Marks,
    /// Where each resource of the component stands in it.
    places: Vec<u32>,
    members: Vec<u32>,
    component: Component,
    solver: Solver,
}

impl Activities {
    /// Nothing runs yet.
    #[must_use]
    pub fn new(rule: Rule, resources: Vec<Resource>) -> Self {
        let count = resources.len();
        Self {
            rule,
            resources,
            users: vec![Vec::new(); count],
            slots: Vec::new(),
            free: Vec::new(),
            uses: Blocks::default(),
            ends: Ends::default(),
            started: 0,
            running: 0,
            consumers: 0,
            touched: Vec::new(),
            fresh: Vec::new(),
            touched_at: 0.0,
            reached: Marks::default(),
            visited: Marks::default(),
            local: Marks::default(),
            places: vec![0; count],
            members: Vec::new(),
            component: Component::default(),
            solver: Solver::default(),
        }
    }

    /// Starts an activity; gives its handle, which is good until it has ended or was cancelled.
    ///
    /// Whatever ends before `now` must have been taken out by then.
    pub fn start(&mut self, now: f64, demand: &Demand, tag: u64) -> u32 {
        self.flush_before(now);
        let wanted = demand.uses.iter().filter(|item| item.1 > 0.0);
        let uses = self.uses.allocate(wanted.clone().count());
        for (slot, &(resource, weight)) in self.uses.get_mut(uses).iter_mut().zip(wanted) {
            *slot = Use { resource, place: 0, weight };
        }
        let sequence = self.started;
        self.started += 1;
        let activity = Activity {
            tag,
            sequence,
            order: 0,
            remaining: demand.amount,
            since: now,
            rate: 0.0,
            bound: demand.bound,
            penalty: demand.penalty,
            uses,
            state: State::Waiting,
        };
        let handle = self.free.pop().unwrap_or(self.slots.len() as u32);
        if handle as usize == self.slots.len() {
            self.slots.push(activity);
        } else {
            self.slots[handle as usize] = activity;
        }
        if demand.latency > 0.0 {
            self.ends.set(handle, sequence, now + demand.latency);
        } else {
            self.run(now, handle);
        }
        handle
    }

    /// Ends an activity before its time.
    pub fn cancel(&mut self, now: f64, activity: u32) {
        self.flush_before(now);
        self.end(now, activity);
    }

    /// The next time at which something happens, an end or the end of a latency; infinite where nothing will.
    pub fn next_time(&mut self) -> f64 {
        self.flush();
        self.ends.first().map_or(f64::INFINITY, |first| first.0)
    }

    /// Takes out one activity that has ended by `now`: the tag it was started with. They come by end, then by start.
    pub fn pop_finished(&mut self, now: f64) -> Option<u64> {
        self.flush_before(now);
        while let Some((time, activity)) = self.ends.first() {
            if time > now {
                return None;
            }
            if self.slots[activity as usize].state == State::Waiting {
                self.flush_before(time);
                self.ends.remove(activity);
                self.run(time, activity);
                self.flush_before(now);
                continue;
            }
            let tag = self.slots[activity as usize].tag;
            self.end(time, activity);
            return Some(tag);
        }
        None
    }

    /// Units per second taken of a resource now; of a fat pipe, by the one that takes most.
    pub fn load(&mut self, resource: u32) -> f64 {
        self.flush();
        let (items, slots) = (&self.uses.items, &self.slots);
        let users = self.users[resource as usize].iter();
        let taken = users.map(|user| items[user.at as usize].weight * slots[user.activity as usize].rate);
        match self.resources[resource as usize].sharing {
            // An empty sum would be -0.
            Sharing::Shared => taken.fold(0.0, |sum, rate| sum + rate),
            Sharing::FatPipe => taken.fold(0.0, f64::max),
        }
    }

    /// Units of work per second that an activity does now.
    pub fn rate(&mut self, activity: u32) -> f64 {
        self.flush();
        self.slots[activity as usize].rate
    }

    /// Work that is left of an activity.
    pub fn remaining(&mut self, now: f64, activity: u32) -> f64 {
        self.flush_before(now);
        let of = &self.slots[activity as usize];
        if of.rate > 0.0 { (of.remaining - of.rate * (now - of.since)).max(0.0) } else { of.remaining }
    }

    /// How many had begun to use resources before an activity; none where it uses none.
    #[cfg(test)]
    pub(super) fn order(&self, activity: u32) -> Option<u64> {
        let of = &self.slots[activity as usize];
        (of.state == State::Running).then_some(of.order)
    }

    /// The latency is over.
    fn run(&mut self, now: f64, handle: u32) {
        let activity = &mut self.slots[handle as usize];
        activity.state = State::Running;
        activity.since = now;
        activity.order = self.running;
        self.running += 1;
        if activity.remaining <= 0.0 || (activity.uses.count == 0 && activity.bound.is_infinite()) {
            activity.remaining = 0.0;
            activity.state = State::Ending;
            self.ends.set(handle, activity.sequence, now);
            return;
        }
        let range = activity.uses;
        for at in range.first..range.first + range.count {
            let item = &mut self.uses.items[at as usize];
            let users = &mut self.users[item.resource as usize];
            item.place = users.len() as u32;
            users.push(User { activity: handle, at });
        }
        self.consumers += 1;
        self.fresh.push(handle);
        self.touched_at = now;
    }

    fn end(&mut self, now: f64, handle: u32) {
        let activity = &mut self.slots[handle as usize];
        let consumes = activity.state == State::Running;
        activity.state = State::Gone;
        let range = activity.uses;
        self.ends.remove(handle);
        if consumes {
            self.consumers -= 1;
            for at in range.first..range.first + range.count {
                let Use { resource, place, .. } = self.uses.items[at as usize];
                let users = &mut self.users[resource as usize];
                users.swap_remove(place as usize);
                if let Some(moved) = users.get(place as usize) {
                    self.uses.items[moved.at as usize].place = place;
                }
                if !users.is_empty() {
                    self.touched.push(resource);
                }
            }
            self.touched_at = now;
        }
        self.uses.give_back(range);
        self.free.push(handle);
    }

    /// Solves what was touched before `now`, since it held from then on.
    fn flush_before(&mut self, now: f64) {
        if self.touched_at < now {
            self.flush();
        }
    }

    /// Solves every component that was touched.
    fn flush(&mut self) {
        if self.fresh.is_empty() && self.touched.is_empty() {
            return;
        }
        self.reached.clear(self.slots.len());
        self.visited.clear(self.resources.len());
        let mut fresh = std::mem::take(&mut self.fresh);
        for activity in fresh.drain(..) {
            if self.slots[activity as usize].state == State::Running && self.reached.mark(activity) {
                self.members.clear();
                self.members.push(activity);
                self.solve_component();
            }
        }
        self.fresh = fresh;
        let mut touched = std::mem::take(&mut self.touched);
        for resource in touched.drain(..) {
            if self.couples(resource) && self.visited.mark(resource) {
                self.members.clear();
                self.gather_users(resource);
                self.solve_component();
            }
        }
        self.touched = touched;
    }

    /// Whether the activities on a resource influence one another: on a fat pipe only by the rule that counts them.
    fn couples(&self, resource: u32) -> bool {
        self.rule == Rule::FairBottleneck || self.resources[resource as usize].sharing == Sharing::Shared
    }

    fn gather_users(&mut self, resource: u32) {
        for user in &self.users[resource as usize] {
            if self.reached.mark(user.activity) {
                self.members.push(user.activity);
            }
        }
    }

    /// Solves the component of the activities that are its members so far.
    fn solve_component(&mut self) {
        let mut next = 0;
        // Once everybody is in, there is nobody left to find.
        while next < self.members.len() && self.members.len() < self.consumers {
            let range = self.slots[self.members[next] as usize].uses;
            for at in range.first..range.first + range.count {
                let resource = self.uses.items[at as usize].resource;
                let alone = self.users[resource as usize].len() == 1;
                if !alone && self.couples(resource) && self.visited.mark(resource) {
                    self.gather_users(resource);
                }
            }
            next += 1;
        }
        if self.members.is_empty() {
            return;
        }
        let slots = &self.slots;
        self.members.sort_unstable_by_key(|&member| Reverse(slots[member as usize].order));
        self.copy_component();
        self.solver.solve(self.rule, &mut self.component);
        self.apply();
    }

    fn copy_component(&mut self) {
        self.component.clear();
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
                component.capacity.push(capacity);
                component.sharing.push(sharing);
            }
            component.uses.push((self.places[resource as usize], weight));
        }
        if !exact {
            bound = bound.min(own.0 / own.1);
        }
        component.close(bound, own, activity.penalty);
    }

    /// Takes the rates over; an activity whose rate is as it was is left alone.
    fn apply(&mut self) {
        let now = self.touched_at;
        for (&member, &rate) in self.members.iter().zip(&self.component.rate) {
            let activity = &mut self.slots[member as usize];
            if activity.rate == rate {
                continue;
            }
            activity.remaining = (activity.remaining - activity.rate * (now - activity.since)).max(0.0);
            activity.since = now;
            activity.rate = rate;
            self.ends.set(member, activity.sequence, now + activity.remaining / rate);
        }
    }
}
