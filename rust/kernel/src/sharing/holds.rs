//! The bottleneck of each activity; and for each resource the number of activities that it limits, their level, and its
//! approximate load. O(1), or O(uses) if a rate changes.
use super::slots::{Activities, Hold};

impl Activities {
    /// Unbinds an activity from its bottleneck; returns the rate with which it counts in the loads of its resources.
    pub(super) fn unbind_bottleneck(&mut self, activity: u32) -> f64 {
        let of = &mut self.slots[activity as usize];
        match std::mem::replace(&mut of.hold, Hold::Unsolved) {
            Hold::Unsolved => 0.0,
            Hold::Bound => of.rate,
            Hold::By(resource) => {
                self.holding[resource as usize] -= 1;
                of.rate
            }
            Hold::Levelless => {
                for item in self.uses.get(of.uses) {
                    self.holding[item.resource as usize] -= 1;
                }
                0.0
            }
        }
    }

    /// Binds an unbound activity to its bottleneck.
    pub(super) fn bind_bottleneck(&mut self, activity: u32, hold: Hold, level: f64) {
        let of = &mut self.slots[activity as usize];
        of.hold = hold;
        of.level = level;
        match hold {
            Hold::Unsolved | Hold::Bound => {}
            Hold::By(resource) => {
                self.holding[resource as usize] += 1;
                self.held_at[resource as usize] = level;
            }
            Hold::Levelless => {
                for item in self.uses.get(of.uses) {
                    self.holding[item.resource as usize] += 1;
                }
            }
        }
    }

    /// Adds this rate to the loads of an activity's resources. Activities without a level are not counted.
    pub(super) fn add_load(&mut self, activity: u32, more: f64) {
        if more != 0.0 {
            for item in self.uses.get(self.slots[activity as usize].uses) {
                self.load[item.resource as usize] += item.weight * more;
            }
        }
    }
}
