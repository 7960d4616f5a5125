//! `SimGrid`'s fair bottleneck: every resource offers an equal part of what is left to each activity on it, whatever its
//! weight; every activity grows by the least of its offers; and so on, until all are held by a bound or by a resource
//! of which nothing is left.
//!
//! One quirk is part of the rule: an activity that has left goes on taking what it took in its last round from the
//! resources that are still there. O(rounds × uses of resources that are shared). The order of the arithmetic is
//! `SimGrid`'s, so that its roundings are met too.
use serde::{Deserialize, Serialize};

use super::component::Component;
use crate::platform::Sharing;

/// What is left of a resource counts as nothing from here on, in its units per second.
const NOTHING: f64 = 1e-5;
/// Rounds in which nothing but fat pipes is left. A fat pipe loses only what the activity that takes the least of it
/// takes, which can be next to nothing: `SimGrid` would go on for days.
const ROUNDS_OF_FAT_PIPES: u32 = 10_000;

/// The solver with its buffers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FairBottleneck {
    /// Of each resource: what is left, what it offers to each activity, and how many are growing on it.
    left: Vec<f64>,
    offer: Vec<f64>,
    growing: Vec<u32>,
    /// Resources that are still there.
    open: Vec<u32>,
    /// Of each activity: what is left of the tightest resource that it has for itself, what it took in its last round,
    /// and whether it is growing.
    own: Vec<f64>,
    step: Vec<f64>,
    live: Vec<bool>,
    alive: usize,
}

impl FairBottleneck {
    pub(super) fn solve(&mut self, component: &mut Component) {
        self.begin(component);
        let any_fat = component.sharing.contains(&Sharing::FatPipe);
        let mut rounds = 0;
        while self.alive > 0 {
            self.make_offers(component);
            if any_fat && self.open.iter().all(|at| component.sharing[*at as usize] == Sharing::FatPipe) {
                rounds += 1;
                if rounds > ROUNDS_OF_FAT_PIPES {
                    return self.give_up(component);
                }
            }
            for activity in 0..component.activities() {
                self.grow(component, activity);
            }
            if any_fat {
                self.take_of_fat_pipes(component);
            }
            self.close(component);
        }
    }

    fn begin(&mut self, component: &Component) {
        let (activities, resources) = (component.activities(), component.resources());
        self.left.clone_from(&component.capacity);
        self.offer.clear();
        self.offer.resize(resources, 0.0);
        self.growing.clear();
        self.growing.extend((0..resources).map(|resource| component.users_of(resource).len() as u32));
        self.open.clear();
        self.open.extend(0..resources as u32);
        self.own.clear();
        self.own.extend(component.own.iter().map(|own| own.0));
        self.step.clear();
        self.step.resize(activities, 0.0);
        self.live.clear();
        self.live.resize(activities, true);
        self.alive = activities;
    }

    fn make_offers(&mut self, component: &Component) {
        let Self { open, growing, offer, left, .. } = self;
        open.retain(|&resource| {
            let at = resource as usize;
            match (growing[at], component.sharing[at]) {
                (0, _) => {
                    offer[at] = 0.0;
                    return false;
                }
                (_, Sharing::FatPipe) => offer[at] = left[at],
                (count, Sharing::Shared) => offer[at] = left[at] / f64::from(count),
            }
            true
        });
    }

    /// Lets an activity grow by the least of its offers, and take its part; one that has left goes on taking.
    fn grow(&mut self, component: &mut Component, activity: usize) {
        let range = component.first_use[activity] as usize..component.first_use[activity + 1] as usize;
        let uses = &component.uses[range];
        if self.live[activity] {
            let (bound, rate) = (component.bound[activity], component.rate[activity]);
            let weight = component.own[activity].1;
            let mut step = (bound - rate).min(self.own[activity] / weight);
            for &(resource, weight) in uses {
                step = step.min(self.offer[resource as usize] / weight);
            }
            self.step[activity] = step;
            component.rate[activity] = rate + step;
            lessen(&mut self.own[activity], weight * step);
        }
        let step = self.step[activity];
        for &(resource, weight) in uses {
            lessen(&mut self.left[resource as usize], weight * step);
        }
    }

    /// Puts fat pipes right, from which all activities have just taken as if they were shared.
    fn take_of_fat_pipes(&mut self, component: &Component) {
        for &resource in &self.open {
            let at = resource as usize;
            if component.sharing[at] == Sharing::FatPipe {
                let users = component.users_of(at).iter();
                let least =
                    users.map(|user| user.1 * self.step[user.0 as usize]).fold(self.offer[at], f64::min);
                self.left[at] = self.offer[at];
                lessen(&mut self.left[at], least);
            }
        }
    }

    /// Closes what is used up, and lets go the activities that are held by it or by their bounds.
    fn close(&mut self, component: &Component) {
        for activity in 0..component.activities() {
            let at_bound = component.rate[activity] == component.bound[activity];
            if self.live[activity] && (at_bound || self.own[activity] <= 0.0) {
                self.leave(component, activity);
            }
        }
        let mut open = std::mem::take(&mut self.open);
        open.retain(|&resource| {
            if self.left[resource as usize] > 0.0 {
                return true;
            }
            for &(activity, _) in component.users_of(resource as usize) {
                if self.live[activity as usize] {
                    self.leave(component, activity as usize);
                }
            }
            false
        });
        self.open = open;
    }

    /// Lets those that are still growing have what their fat pipes let one activity have.
    fn give_up(&self, component: &mut Component) {
        for activity in (0..component.activities()).filter(|at| self.live[*at]) {
            let (capacity, weight) = component.own[activity];
            let uses = component.uses_of(activity).iter();
            let limits = uses.map(|&(resource, weight)| component.capacity[resource as usize] / weight);
            let most = limits.fold(component.bound[activity].min(capacity / weight), f64::min);
            component.rate[activity] = component.rate[activity].min(most);
        }
    }

    fn leave(&mut self, component: &Component, activity: usize) {
        self.live[activity] = false;
        self.alive -= 1;
        for &(resource, _) in component.uses_of(activity) {
            self.growing[resource as usize] -= 1;
        }
    }
}

fn lessen(left: &mut f64, amount: f64) {
    *left -= amount;
    if *left < NOTHING {
        *left = 0.0;
    }
}
