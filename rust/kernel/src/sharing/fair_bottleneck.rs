//! `SimGrid`'s fair bottleneck: every resource offers an equal part of its free capacity to each activity on it,
//! whatever its weight; every activity grows by the least of its offers. This repeats until every activity is limited
//! by a bound or by a resource without free capacity.
//!
//! One quirk is part of the rule: an activity that has left continues to use the amount of its last round of the
//! resources that remain open. O(rounds × uses of shared resources). The order of the arithmetic is `SimGrid`'s, which
//! reproduces its rounding too.
use serde::{Deserialize, Serialize};

use super::component::Component;
use crate::platform::Sharing;

/// Free capacity below this value counts as 0, in units of the resource per second.
const NOTHING: f64 = 1e-5;
/// Maximum number of rounds with fat pipes only. A fat pipe loses only the amount of the activity that uses least of
/// it, which can be almost nothing: `SimGrid` would run for days.
const ROUNDS_OF_FAT_PIPES: u32 = 10_000;

/// The solver and its buffers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FairBottleneck {
    /// For each resource: the free capacity, the offer to each activity, and the number of growing activities.
    left: Vec<f64>,
    offer: Vec<f64>,
    growing: Vec<u32>,
    /// Resources that are still open.
    open: Vec<u32>,
    /// For each activity: the free capacity of the tightest resource that it uses alone, the step of its last round,
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

    /// Raises the rate of an activity by the least of its offers, and subtracts its use; an activity that has left
    /// repeats its last use.
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

    /// Corrects fat pipes, from which all activities have just been subtracted as if they were shared.
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

    /// Closes exhausted resources, and stops the activities that are limited by them or by their bounds.
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

    /// Sets the rate of the growing activities to what their fat pipes allow one activity.
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
