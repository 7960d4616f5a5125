//! `SimGrid`'s fair bottleneck: every resource offers an equal part of what is left to each activity on it, whatever its
//! weight; every activity grows by the least of its offers; and so on, until all are held by a bound or by a resource
//! of which nothing is left.
//!
//! One quirk is part of the rule: an activity that has left goes on taking what it took in its last round from the
//! resources that are still there. O(rounds × uses).
use super::component::Component;
use crate::platform::Sharing;

/// What is left of a resource counts as nothing from here on, in its units per second.
const NOTHING: f64 = 1e-5;

/// The solver with its buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct FairBottleneck {
    left: Vec<f64>,
    offer: Vec<f64>,
    step: Vec<f64>,
    live: Vec<bool>,
    active: Vec<u32>,
    growing: Vec<u32>,
}

impl FairBottleneck {
    pub(super) fn solve(&mut self, component: &mut Component) {
        self.begin(component);
        while !self.growing.is_empty() {
            self.make_offers(component);
            self.grow(component);
            self.take(component);
        }
    }

    fn begin(&mut self, component: &Component) {
        self.left.clone_from(&component.capacity);
        self.offer.clear();
        self.offer.resize(component.resources(), 0.0);
        self.step.clear();
        self.step.resize(component.activities(), 0.0);
        self.live.clear();
        self.live.resize(component.activities(), true);
        self.active.clear();
        self.active.extend(0..component.resources() as u32);
        self.growing.clear();
        self.growing.extend(0..component.activities() as u32);
    }

    fn make_offers(&mut self, component: &Component) {
        let Self { active, live, offer, left, .. } = self;
        active.retain(|&resource| {
            let at = resource as usize;
            let mut count = component.users_of(at).iter().filter(|user| live[user.0 as usize]).count();
            if component.sharing[at] == Sharing::FatPipe {
                count = count.min(1);
            }
            offer[at] = if count == 0 { 0.0 } else { left[at] / count as f64 };
            count > 0
        });
    }

    fn grow(&mut self, component: &mut Component) {
        let Self { growing, live, offer, step, .. } = self;
        growing.retain(|&activity| {
            let at = activity as usize;
            let bound = component.bound[at];
            let offers =
                component.uses_of(at).iter().map(|&(resource, weight)| offer[resource as usize] / weight);
            let least = offers.fold(bound - component.rate[at], f64::min);
            step[at] = least;
            component.rate[at] += least;
            live[at] = component.rate[at] != bound;
            live[at]
        });
    }

    fn take(&mut self, component: &Component) {
        let Self { active, growing, live, step, left, .. } = self;
        active.retain(|&resource| {
            let at = resource as usize;
            let taken =
                component.users_of(at).iter().map(|&(activity, weight)| weight * step[activity as usize]);
            match component.sharing[at] {
                Sharing::Shared => taken.for_each(|amount| lessen(&mut left[at], amount)),
                Sharing::FatPipe => lessen(&mut left[at], taken.fold(f64::INFINITY, f64::min)),
            }
            if left[at] > 0.0 {
                return true;
            }
            for &(activity, _) in component.users_of(at) {
                live[activity as usize] = false;
            }
            false
        });
        growing.retain(|&activity| live[activity as usize]);
    }
}

fn lessen(left: &mut f64, amount: f64) {
    *left -= amount;
    if *left < NOTHING {
        *left = 0.0;
    }
}
