//! Weighted bounded max-min fairness by progressive filling: the level of all activities rises until a resource is full
//! or a bound is reached; whoever is held stays, the others go on. O(rounds × uses).
use super::component::Component;
use crate::platform::Sharing;

/// The solver with its buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct MaxMin {
    left: Vec<f64>,
    pull: Vec<f64>,
    scale: Vec<f64>,
    fixed: Vec<bool>,
}

impl MaxMin {
    /// Solves; `by_weight`: what is made equal is not the rate, but what activities take of a resource.
    pub(super) fn solve(&mut self, component: &mut Component, by_weight: bool) {
        self.begin(component, by_weight);
        let mut open = component.activities();
        while open > 0 {
            let level = self.level(component);
            open -= self.fix(component, level);
        }
    }

    fn begin(&mut self, component: &Component, by_weight: bool) {
        let count = component.activities();
        self.scale.clear();
        self.scale.extend((0..count).map(|activity| {
            let heaviest = component.uses_of(activity).iter().map(|use_| use_.1).fold(0.0, f64::max);
            1.0 / (component.penalty[activity] * if by_weight { heaviest } else { 1.0 })
        }));
        self.fixed.clear();
        self.fixed.resize(count, false);
        self.left.clone_from(&component.capacity);
        self.pull.clear();
        self.pull.resize(component.resources(), 0.0);
    }

    /// The level at which the next activity is held.
    fn level(&mut self, component: &Component) -> f64 {
        let mut level = f64::INFINITY;
        for resource in 0..component.resources() {
            if component.sharing[resource] == Sharing::Shared {
                let users = component.users_of(resource).iter().filter(|user| !self.fixed[user.0 as usize]);
                self.pull[resource] = users.map(|user| user.1 * self.scale[user.0 as usize]).sum();
                if self.pull[resource] > 0.0 {
                    level = level.min(self.left[resource] / self.pull[resource]);
                }
            }
        }
        for activity in 0..component.activities() {
            if !self.fixed[activity] {
                level = level.min(bound(component, activity) / self.scale[activity]);
            }
        }
        level
    }

    /// Fixes those that are held at this level; how many.
    fn fix(&mut self, component: &mut Component, level: f64) -> usize {
        let mut count = 0;
        for activity in 0..component.activities() {
            let held = |&(resource, _): &(u32, f64)| {
                let at = resource as usize;
                component.sharing[at] == Sharing::Shared && self.left[at] <= level * self.pull[at]
            };
            let greatest = bound(component, activity);
            let at_bound = greatest <= level * self.scale[activity] || level.is_infinite();
            if self.fixed[activity] || !(at_bound || component.uses_of(activity).iter().any(held)) {
                continue;
            }
            self.fixed[activity] = true;
            component.rate[activity] = greatest.min(level * self.scale[activity]);
            count += 1;
        }
        self.take(component);
        count
    }

    fn take(&mut self, component: &Component) {
        for resource in 0..component.resources() {
            let users = component.users_of(resource).iter().filter(|user| self.fixed[user.0 as usize]);
            let taken: f64 = users.map(|user| user.1 * component.rate[user.0 as usize]).sum();
            self.left[resource] = (component.capacity[resource] - taken).max(0.0);
        }
    }
}

/// The greatest rate of an activity, fat pipes included.
fn bound(component: &Component, activity: usize) -> f64 {
    let fat = component
        .uses_of(activity)
        .iter()
        .filter(|use_| component.sharing[use_.0 as usize] == Sharing::FatPipe);
    fat.fold(component.bound[activity], |bound, use_| bound.min(component.capacity[use_.0 as usize] / use_.1))
}
