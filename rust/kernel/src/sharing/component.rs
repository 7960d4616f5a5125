//! Activities that influence each other, copied into contiguous arrays for the solver.
//!
//! Resources with only one user are omitted, except the tightest of each activity, which keeps the problem small. Both
//! directions are stored: the uses of each activity and the users of each resource, each as a range of one flat array.
//! The buffers are reused, so that a solve does not allocate after they have grown.
use serde::{Deserialize, Serialize};

use crate::platform::Sharing;

/// One connected component. The activity that began to run last comes first; resources are in the order in which these
/// use them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Component {
    /// Start of the uses of each activity, then the end of the last.
    pub(super) first_use: Vec<u32>,
    /// The local index of the resource, and the weight, of each use.
    pub(super) uses: Vec<(u32, f64)>,
    /// The greatest rate of each activity.
    pub(super) bound: Vec<f64>,
    /// The penalty of each activity.
    pub(super) penalty: Vec<f64>,
    /// True if the rate of the activity is shared, and not the amount that it uses of its bottleneck.
    pub(super) by_rate: Vec<bool>,
    /// The tightest resource that the activity uses alone: its capacity, and the weight of the use; (infinity, 1) if
    /// there is no such resource.
    pub(super) own: Vec<(f64, f64)>,
    /// The result of the solver: units of work per second.
    pub(super) rate: Vec<f64>,
    /// Capacity of each resource.
    pub(super) capacity: Vec<f64>,
    /// How each resource is shared.
    pub(super) sharing: Vec<Sharing>,
    /// Start of the users of each resource, then the end of the last.
    pub(super) first_user: Vec<u32>,
    /// The local index of the activity, and the weight, of each user.
    pub(super) users: Vec<(u32, f64)>,
}

impl Component {
    pub(super) fn clear(&mut self) {
        self.first_use.clear();
        self.first_use.push(0);
        self.uses.clear();
        self.bound.clear();
        self.own.clear();
        self.penalty.clear();
        self.by_rate.clear();
        self.rate.clear();
        self.capacity.clear();
        self.sharing.clear();
    }

    pub(super) fn activities(&self) -> usize {
        self.bound.len()
    }

    pub(super) fn resources(&self) -> usize {
        self.capacity.len()
    }

    pub(super) fn uses_of(&self, activity: usize) -> &[(u32, f64)] {
        &self.uses[self.first_use[activity] as usize..self.first_use[activity + 1] as usize]
    }

    pub(super) fn users_of(&self, resource: usize) -> &[(u32, f64)] {
        &self.users[self.first_user[resource] as usize..self.first_user[resource + 1] as usize]
    }

    /// Returns whether every activity uses the same amount of each of its resources, or is shared by its rate.
    pub(super) fn is_even(&self) -> bool {
        let even = |uses: &[(u32, f64)]| uses.iter().all(|item| item.1 == uses[0].1);
        (0..self.activities()).all(|activity| self.by_rate[activity] || even(self.uses_of(activity)))
    }

    /// The level per rate of an activity that uses this weight of a resource; activities are compared by level.
    pub(super) fn level(&self, activity: usize, weight: f64) -> f64 {
        self.penalty[activity] * if self.by_rate[activity] { 1.0 } else { weight }
    }

    /// Ends the uses of one activity, which are already in `uses`.
    pub(super) fn close(&mut self, bound: f64, own: (f64, f64), (penalty, by_rate): (f64, bool)) {
        self.first_use.push(self.uses.len() as u32);
        self.bound.push(bound);
        self.own.push(own);
        self.penalty.push(penalty);
        self.by_rate.push(by_rate);
        self.rate.push(0.0);
    }

    /// Computes the users of the resources from the uses of the activities, by a counting sort.
    pub(super) fn transpose(&mut self) {
        self.first_user.clear();
        self.first_user.resize(self.resources() + 2, 0);
        for &(resource, _) in &self.uses {
            self.first_user[resource as usize + 2] += 1;
        }
        for at in 2..self.first_user.len() {
            self.first_user[at] += self.first_user[at - 1];
        }
        self.users.clear();
        self.users.resize(self.uses.len(), (0, 0.0));
        for activity in 0..self.activities() {
            for at in self.first_use[activity]..self.first_use[activity + 1] {
                let (resource, weight) = self.uses[at as usize];
                let place = &mut self.first_user[resource as usize + 1];
                self.users[*place as usize] = (activity as u32, weight);
                *place += 1;
            }
        }
        self.first_user.pop();
    }
}
