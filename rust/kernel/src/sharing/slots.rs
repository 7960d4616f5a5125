//! The engine's state: activities in slots, the resources they use, and when each ends.
use serde::{Deserialize, Serialize};

use super::blocks::{Blocks, Range};
use super::component::Component;
use super::demand::{Resource, Rule};
use super::loads::Loads;
use super::rising::Rising;
use super::solver::Solver;
use crate::index::{IndexedHeap, Marks};
use crate::time::FineTime;

/// What an activity is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// Its slot is free.
    Gone,
    /// It waits for its latency.
    Waiting,
    /// It uses its resources, even if rounding has left it nothing to do.
    Running,
    /// It uses nothing, and only has to end.
    Ending,
}

/// What holds an activity at its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hold {
    /// It is new, and has no rate yet.
    Unsolved,
    /// Its bound, or a resource that it has for itself.
    Bound,
    /// A resource that is full, on which no other activity is at a higher level.
    By(u32),
    /// There is no common level.
    Levelless,
}

/// One slot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Activity {
    pub(super) tag: u64,
    pub(super) sequence: u64,
    /// How many activities had begun to use resources before it.
    pub(super) order: u64,
    /// Work that was left at `since`.
    pub(super) remaining: f64,
    pub(super) since: FineTime,
    pub(super) rate: f64,
    pub(super) bound: f64,
    pub(super) penalty: f64,
    pub(super) by_rate: bool,
    /// What a unit of work takes of each resource, if it is the same of all; 1 where rates themselves are shared; else 0.
    pub(super) unit: f64,
    /// The level at which it is held: 0 before it is solved, and where there is no common level.
    pub(super) level: f64,
    pub(super) hold: Hold,
    pub(super) uses: Range,
    pub(super) state: State,
}

/// When an activity ends, or its latency does: by time, then by start. Bits compare faster than floats, and millions may
/// end at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct End {
    time: (i64, i64),
    sequence: u64,
}

impl End {
    pub(super) fn new(time: FineTime, sequence: u64) -> Self {
        Self { time: time.ordered_bits(), sequence }
    }

    pub(super) fn time(self) -> FineTime {
        FineTime::from_ordered_bits(self.time)
    }
}

/// One use of a resource, and where it stands in the list of the resource's users.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Use {
    pub(super) resource: u32,
    pub(super) place: u32,
    pub(super) weight: f64,
}

/// One running user of a resource: the activity, and which of all uses it is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct User {
    pub(super) activity: u32,
    pub(super) at: u32,
}

/// Running activities. A clone is a fork: neither knows of the other.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Activities {
    pub(super) rule: Rule,
    pub(super) resources: Vec<Resource>,
    pub(super) users: Vec<Vec<User>>,
    pub(super) slots: Vec<Activity>,
    pub(super) free: Vec<u32>,
    pub(super) uses: Blocks<Use>,
    /// When each ends, or its latency does. What never ends is not in it.
    pub(super) ends: IndexedHeap<End>,
    pub(super) started: u64,
    pub(super) running: u64,
    /// How many activities use resources now.
    pub(super) consumers: usize,
    /// For each resource how many activities it holds, the levelless ones counted at all of theirs; and about how much those
    /// with a level take of it.
    pub(super) holding: Vec<u32>,
    pub(super) load: Vec<f64>,
    /// The level at which each resource holds activities, if it does.
    pub(super) held_at: Vec<f64>,
    /// Resources of activities that went since the last solve, and running activities that are new.
    pub(super) touched: Vec<u32>,
    pub(super) fresh: Vec<u32>,
    /// When that was.
    pub(super) touched_at: FineTime,
    /// Activities whose component has been solved at this instant.
    pub(super) solved: Marks,
    /// The activities that are solved together, and the resources that were looked at for them.
    pub(super) members: Vec<u32>,
    pub(super) reached: Marks,
    pub(super) visited: Marks,
    pub(super) local: Marks,
    /// Where each resource of the component stands in it.
    pub(super) places: Vec<u32>,
    /// The resources of the component.
    pub(super) shared: Vec<u32>,
    pub(super) rising: Rising,
    pub(super) component: Component,
    pub(super) solver: Solver,
    /// What is taken of resources over time, where that is recorded.
    pub(super) loads: Option<Box<Loads>>,
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
            ends: IndexedHeap::default(),
            started: 0,
            running: 0,
            consumers: 0,
            holding: vec![0; count],
            load: vec![0.0; count],
            held_at: vec![0.0; count],
            touched: Vec::new(),
            fresh: Vec::new(),
            touched_at: FineTime::default(),
            solved: Marks::default(),
            members: Vec::new(),
            reached: Marks::default(),
            visited: Marks::default(),
            local: Marks::default(),
            places: vec![0; count],
            shared: Vec::new(),
            rising: Rising::new(count),
            component: Component::default(),
            solver: Solver::default(),
            loads: None,
        }
    }
}
