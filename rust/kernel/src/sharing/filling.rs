//! Weighted bounded max-min fairness by progressive filling: the level of all activities rises until a resource is full
//! or a bound is reached; activities limited by it are fixed, the others continue to rise.
//!
//! The rate of an activity is the level times its scale. The level at which a resource is full never falls while
//! activities are fixed below it, so the heap of these levels is corrected only for the resource on top. O(uses +
//! resources × log resources) and, with bounded rates, O(activities × log activities). A resource is corrected each
//! time it comes up too early, rarely more than a few times.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::component::Component;
use crate::time::{from_ordered_bits, ordered_bits};

/// Relative tolerance for equal levels: flows in equal situations then end at the same instant.
const SAME: f64 = 1e-13;

/// Marks an activity that is limited by its bound.
pub(super) const BOUND: u32 = u32::MAX;

/// The solver and its buffers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Filling {
    /// For each activity: its rate at level 1.
    pub(super) scale: Vec<f64>,
    /// The resource that limits each activity, by its index in the component.
    pub(super) holder: Vec<u32>,
    /// For each resource: the free capacity, the use of the activities that are not fixed per level, and their number.
    left: Vec<f64>,
    pull: Vec<f64>,
    open: Vec<u32>,
    /// The level at which each resource is full, as ordered bits, which compare faster than floats.
    full: BinaryHeap<Reverse<(i64, u32)>>,
    /// Activities by the level at which they reach their bounds, in descending order.
    bounds: Vec<(f64, u32)>,
    fixed: Vec<bool>,
    level: f64,
}

impl Filling {
    /// Computes the rates; `scale` must be set.
    pub(super) fn solve(&mut self, component: &mut Component) {
        self.begin(component);
        loop {
            let bound = self.bounds.last().map_or(f64::INFINITY, |next| next.0);
            match self.full.peek() {
                Some(&Reverse((level, resource))) if from_ordered_bits(level) <= bound => {
                    self.fill(component, resource as usize);
                }
                _ if bound.is_finite() => self.reach_bound(component),
                _ => break,
            }
        }
    }

    fn begin(&mut self, component: &mut Component) {
        self.level = 0.0;
        self.fixed.clear();
        self.fixed.resize(component.activities(), false);
        self.holder.clear();
        self.holder.resize(component.activities(), BOUND);
        self.left.clone_from(&component.capacity);
        self.pull.clear();
        self.open.clear();
        let mut full = std::mem::take(&mut self.full).into_vec();
        full.clear();
        for resource in 0..component.resources() {
            let users = component.users_of(resource);
            let pull = users.iter().map(|user| user.1 * self.scale[user.0 as usize]).sum();
            self.pull.push(pull);
            self.open.push(users.len() as u32);
            full.push(Reverse((ordered_bits(component.capacity[resource] / pull), resource as u32)));
        }
        self.full = BinaryHeap::from(full);
        self.bounds.clear();
        let levels = component.bound.iter().zip(&self.scale).map(|(bound, scale)| bound / scale);
        self.bounds.extend(levels.zip(0..).filter(|bound| bound.0.is_finite()));
        self.bounds
            .sort_unstable_by(|one, other| other.partial_cmp(one).unwrap_or(std::cmp::Ordering::Equal));
    }

    /// Examines the resource that is full first: fixes its activities, unless another turns out to be full first.
    fn fill(&mut self, component: &mut Component, resource: usize) {
        self.full.pop();
        if self.open[resource] == 0 {
            return;
        }
        let level = self.left[resource].max(0.0) / self.pull[resource];
        let next = self.full.peek().map_or(f64::INFINITY, |next| from_ordered_bits(next.0.0));
        let next = self.bounds.last().map_or(next, |bound| next.min(bound.0));
        if level > next {
            self.full.push(Reverse((ordered_bits(level), resource as u32)));
            return;
        }
        let level = self.exact_level(component, resource);
        if level > self.level * (1.0 + SAME) {
            self.level = level;
        }
        for at in component.first_user[resource]..component.first_user[resource + 1] {
            let activity = component.users[at as usize].0 as usize;
            if !self.fixed[activity] {
                let (rate, bound) = (self.level * self.scale[activity], component.bound[activity]);
                self.holder[activity] = if rate <= bound { resource as u32 } else { BOUND };
                self.fix(component, activity, rate.min(bound));
            }
        }
    }

    /// The level at which a resource is full, without the rounding errors of the subtractions so far.
    fn exact_level(&self, component: &Component, resource: usize) -> f64 {
        let (mut taken, mut pull) = (0.0, 0.0);
        for &(activity, weight) in component.users_of(resource) {
            if self.fixed[activity as usize] {
                taken += weight * component.rate[activity as usize];
            } else {
                pull += weight * self.scale[activity as usize];
            }
        }
        (component.capacity[resource] - taken).max(0.0) / pull
    }

    fn reach_bound(&mut self, component: &mut Component) {
        if let Some((_, activity)) = self.bounds.pop()
            && !self.fixed[activity as usize]
        {
            self.fix(component, activity as usize, component.bound[activity as usize]);
        }
    }

    fn fix(&mut self, component: &mut Component, activity: usize, rate: f64) {
        self.fixed[activity] = true;
        component.rate[activity] = rate;
        for &(resource, weight) in component.uses_of(activity) {
            let at = resource as usize;
            self.left[at] -= weight * rate;
            self.pull[at] -= weight * self.scale[activity];
            self.open[at] -= 1;
        }
    }
}
