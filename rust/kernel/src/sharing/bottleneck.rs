//! Bottleneck max fairness, for activities that use different amounts of several resources at once.
//!
//! Every activity has a bottleneck: a full resource that no other activity uses more (weighted by penalties), or its
//! own bound. (Bonald and Roberts, "Multi-resource fairness: objectives, algorithms and performance", SIGMETRICS
//! 2015.) So every resource has a limit, the most that an activity may use of it, and the rate of an activity is set by
//! the tightest of its limits.
//!
//! The solver sets the limits one resource after the other, by filling it with the rates that the other limits allow,
//! until the bottleneck of each activity is known. Then the limits are the solution of linear equations, one per
//! bottleneck. If the bottlenecks do not converge, the solver iterates on the equations themselves. It checks the
//! conditions before it accepts a solution. O(sweeps × uses × log users + bottlenecks³).
use serde::{Deserialize, Serialize};

use super::component::Component;
use super::linear;

/// Marks an activity that is limited by its bound, or not yet limited.
const BOUND: u32 = u32::MAX;
/// Step size of the limits, and the number of sweeps with it: full steps first, then smaller steps if the limits
/// oscillate.
const STRIDES: [(f64, u32); 5] = [(1.0, 60), (0.5, 120), (0.2, 300), (0.05, 1200), (0.01, 5000)];
/// Relative tolerance of limits and loads for rounding.
const ROUNDING: f64 = 1e-11;

/// Maximum number of iterations on the equations.
const FOLLOWED: u32 = 30;

/// The solver and its buffers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Bottleneck {
    /// The most that one activity with penalty 1 may use of each resource.
    limit: Vec<f64>,
    /// The bottleneck of each activity, and its rate there.
    holder: Vec<u32>,
    held: Vec<f64>,
    /// The bottlenecks when the equations were last tried.
    tried: Vec<u32>,
    /// For the users of one resource: the level that the other limits allow, and the part of a level that uses 1 of the
    /// resource; then the rate that the other limits allow.
    claims: Vec<(f64, f64)>,
    elsewhere: Vec<(f64, u32)>,
    /// Resources that are bottlenecks, and the index of each in that list.
    holders: Vec<u32>,
    place: Vec<u32>,
    matrix: Vec<f64>,
    right: Vec<f64>,
}

impl Bottleneck {
    pub(super) fn solve(&mut self, component: &mut Component) {
        self.begin(component);
        for (stride, sweeps) in STRIDES {
            for _ in 0..sweeps {
                for resource in 0..component.resources() {
                    self.set_right(component, resource, stride);
                }
                if self.tried != self.holder {
                    self.tried.clone_from(&self.holder);
                    if self.equations(component) && self.is_fair(component) {
                        return;
                    }
                }
            }
            if self.follow_equations(component) {
                return;
            }
        }
        self.settle_for_feasible(component);
    }

    /// Iterates on the equations instead: setting limits one after the other may lead away from their solution. Returns
    /// whether a fair solution was found.
    fn follow_equations(&mut self, component: &mut Component) -> bool {
        let (limit, held, holder) = (self.limit.clone(), self.held.clone(), self.holder.clone());
        for _ in 0..FOLLOWED {
            if !self.equations(component) || self.right.iter().any(|&limit| limit < 0.0) {
                break;
            }
            if self.is_fair(component) {
                return true;
            }
            for resource in 0..component.resources() {
                let place = self.place[resource];
                self.limit[resource] =
                    if place == BOUND { f64::INFINITY } else { self.right[place as usize] };
            }
            for activity in 0..component.activities() {
                (self.held[activity], self.holder[activity]) = self.without(component, activity, BOUND);
            }
            for resource in 0..component.resources() {
                if self.place[resource] == BOUND {
                    self.set_right(component, resource, 1.0);
                }
            }
        }
        (self.limit, self.held, self.holder) = (limit, held, holder);
        false
    }

    fn begin(&mut self, component: &Component) {
        self.limit.clear();
        self.limit.resize(component.resources(), f64::INFINITY);
        self.holder.clear();
        self.holder.resize(component.activities(), BOUND);
        self.held.clone_from(&component.bound);
        self.tried.clear();
    }

    /// Sets the limit of one resource such that it is exactly full if all other limits stay.
    fn set_right(&mut self, component: &Component, resource: usize, stride: f64) {
        self.claims.clear();
        self.elsewhere.clear();
        let mut sum = 0.0;
        for &(activity, weight) in component.users_of(resource) {
            let other = self.without(component, activity as usize, resource as u32);
            self.elsewhere.push(other);
            let level = component.level(activity as usize, weight);
            self.claims.push((other.0 * level, level / weight));
            sum += other.0 * weight;
        }
        let capacity = component.capacity[resource];
        let mut limit = if sum <= capacity { f64::INFINITY } else { self.water_level(capacity) };
        let before = self.limit[resource];
        if stride < 1.0 && limit.is_finite() && before.is_finite() {
            limit = before * (limit / before).powf(stride);
        }
        self.limit[resource] = limit;
        for (&(activity, weight), &other) in component.users_of(resource).iter().zip(&self.elsewhere) {
            let at = activity as usize;
            let offer = limit / component.level(at, weight);
            (self.held[at], self.holder[at]) = if offer < other.0 { (offer, resource as u32) } else { other };
        }
    }

    /// The rate and bottleneck of an activity without a given resource.
    fn without(&self, component: &Component, activity: usize, resource: u32) -> (f64, u32) {
        if resource != BOUND && self.holder[activity] != resource {
            return (self.held[activity], self.holder[activity]);
        }
        let offers = component.uses_of(activity).iter().filter(|item| item.0 != resource);
        offers.fold((component.bound[activity], BOUND), |least, &(at, weight)| {
            let offer = self.limit[at as usize] / component.level(activity, weight);
            if offer < least.0 { (offer, at) } else { least }
        })
    }

    /// The limit at which the claims fill a capacity that they exceed.
    fn water_level(&mut self, capacity: f64) -> f64 {
        self.claims.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        let mut shares: f64 = self.claims.iter().map(|claim| 1.0 / claim.1).sum();
        let mut left = capacity;
        for &(claim, penalty) in &self.claims {
            if claim * shares >= left {
                break;
            }
            left -= claim / penalty;
            shares -= 1.0 / penalty;
        }
        left.max(0.0) / shares
    }

    /// Computes the rates at which every bottleneck is exactly full; returns whether they exist.
    fn equations(&mut self, component: &mut Component) -> bool {
        self.holders.clear();
        self.place.clear();
        self.place.resize(component.resources(), BOUND);
        for &holder in &self.holder {
            if holder != BOUND && self.place[holder as usize] == BOUND {
                self.place[holder as usize] = self.holders.len() as u32;
                self.holders.push(holder);
            }
        }
        let count = self.holders.len();
        self.matrix.clear();
        self.matrix.resize(count * count, 0.0);
        self.right.clear();
        self.right.extend(self.holders.iter().map(|&resource| component.capacity[resource as usize]));
        for activity in 0..component.activities() {
            self.add_to_equations(component, activity);
        }
        if !linear::solve(&mut self.matrix, &mut self.right) {
            return false;
        }
        for activity in 0..component.activities() {
            component.rate[activity] = match self.holder[activity] {
                BOUND => component.bound[activity],
                holder => {
                    self.right[self.place[holder as usize] as usize] * rate_by(component, activity, holder)
                }
            };
        }
        true
    }

    fn add_to_equations(&mut self, component: &Component, activity: usize) {
        let holder = self.holder[activity];
        let rate = if holder == BOUND { 0.0 } else { rate_by(component, activity, holder) };
        for &(resource, weight) in component.uses_of(activity) {
            let row = self.place[resource as usize];
            if row == BOUND {
                continue;
            }
            if holder == BOUND {
                self.right[row as usize] -= weight * component.bound[activity];
            } else {
                let column = self.place[holder as usize] as usize;
                self.matrix[row as usize * self.holders.len() + column] += weight * rate;
            }
        }
    }

    /// Returns whether the rates satisfy all capacities and bounds, and every limited activity is among the largest
    /// users of its bottleneck.
    fn is_fair(&self, component: &Component) -> bool {
        let more = 1.0 + ROUNDING;
        let in_bounds = component
            .rate
            .iter()
            .zip(&component.bound)
            .all(|(&rate, &bound)| rate >= 0.0 && rate <= bound * more);
        in_bounds
            && (0..component.resources()).all(|resource| {
                let limit = match self.place[resource] {
                    BOUND => f64::INFINITY,
                    place => self.right[place as usize] * more,
                };
                let mut taken = 0.0;
                let modest = component.users_of(resource).iter().all(|&(activity, weight)| {
                    let rate = component.rate[activity as usize];
                    taken += weight * rate;
                    rate * component.level(activity as usize, weight) <= limit
                });
                modest && taken <= component.capacity[resource] * more
            })
    }

    /// Without a fair solution: uses the rates of the last limits, scaled to fit the capacities.
    fn settle_for_feasible(&mut self, component: &mut Component) {
        self.right.clear();
        for resource in 0..component.resources() {
            let users = component.users_of(resource).iter();
            let taken: f64 = users.map(|&(activity, weight)| weight * self.held[activity as usize]).sum();
            self.right.push((component.capacity[resource] / taken).min(1.0));
        }
        for activity in 0..component.activities() {
            let fits = component.uses_of(activity).iter().map(|item| self.right[item.0 as usize]);
            component.rate[activity] = self.held[activity] * fits.fold(1.0, f64::min);
        }
    }
}

/// The rate of an activity with this bottleneck at a limit of 1.
fn rate_by(component: &Component, activity: usize, resource: u32) -> f64 {
    let weight =
        component.uses_of(activity).iter().find(|item| item.0 == resource).map_or(1.0, |item| item.1);
    1.0 / component.level(activity, weight)
}
