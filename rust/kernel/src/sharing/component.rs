//! Activities that influence one another, copied side by side for the solver.
//!
//! Resources with one user only are left out but for the tightest of each activity, which makes small what is solved.
//! Both ways are kept: the uses of each activity and the users of each resource, each a range of one flat array. The
//! buffers are kept from solve to solve, so that none allocates once they have grown.
use serde::{Deserialize, Serialize};

use crate::platform::Sharing;

/// One connected component; activities, the one that began to run last first; resources in the order in which these
/// name them.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Component {
    /// Where the uses of each activity begin, and the end of the last.
    pub(super) first_use: Vec<u32>,
    /// The resource, by its place here, and the weight of each use.
    pub(super) uses: Vec<(u32, f64)>,
    /// The greatest rate of each activity.
    pub(super) bound: Vec<f64>,
    /// The penalty of each activity.
    pub(super) penalty: Vec<f64>,
    /// Whether the rate of each activity is what is shared, and not what it takes of its bottleneck.
    pub(super) by_rate: Vec<bool>,
    /// Of the resources that an activity has for itself, the tightest: its capacity, and the weight of the use;
    /// (infinite, 1) where there is none.
    pub(super) own: Vec<(f64, f64)>,
    /// What the solver finds: units of work per second.
    pub(super) rate: Vec<f64>,
    /// Capacity of each resource.
    pub(super) capacity: Vec<f64>,
    /// How each resource is shared.
    pub(super) sharing: Vec<Sharing>,
    /// Where the users of each resource begin, and the end of the last.
    pub(super) first_user: Vec<u32>,
    /// The activity, by its place here, and the weight of each user.
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

    /// Whether every activity takes the same of each of its resources, or is shared by its rate.
    pub(super) fn is_even(&self) -> bool {
        let even = |uses: &[(u32, f64)]| uses.iter().all(|item| item.1 == uses[0].1);
        (0..self.activities()).all(|activity| self.by_rate[activity] || even(self.uses_of(activity)))
    }

    /// The level of an activity that uses so much of a resource, per rate: what activities are compared by.
    pub(super) fn level(&self, activity: usize, weight: f64) -> f64 {
        self.penalty[activity] * if self.by_rate[activity] { 1.0 } else { weight }
    }

    /// Ends the uses of one activity, which are in `uses` by now.
    pub(super) fn close(&mut self, bound: f64, own: (f64, f64), (penalty, by_rate): (f64, bool)) {
        self.first_use.push(self.uses.len() as u32);
        self.bound.push(bound);
        self.own.push(own);
        self.penalty.push(penalty);
        self.by_rate.push(by_rate);
        self.rate.push(0.0);
    }

    /// Fills in the users of the resources from the uses of the activities: a counting sort.
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
