//! The state of the engine: activities in slots, the resources they use, and when each ends.
use serde::{Deserialize, Serialize};

use super::blocks::{Blocks, Range};
use super::component::Component;
use super::demand::{Resource, Rule};
use super::loads::Loads;
use super::rising::Rising;
use super::solver::Solver;
use crate::index::{IndexedHeap, Marks};
use crate::time::FineTime;

/// The state of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum State {
    /// Its slot is free.
    Gone,
    /// It waits for its latency.
    Waiting,
    /// It uses its resources, even if rounding leaves no work.
    Running,
    /// It uses no resource, and ends at the next opportunity.
    Ending,
}

/// The bottleneck of an activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Hold {
    /// New, without a rate.
    Unsolved,
    /// Its bound, or a resource that it uses alone.
    Bound,
    /// A full resource, on which no other activity has a higher level.
    By(u32),
    /// Its rate does not follow from a common level.
    Levelless,
}

/// One slot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Activity {
    pub(super) tag: u64,
    pub(super) sequence: u64,
    /// Number of activities that began to use resources before it.
    pub(super) order: u64,
    /// Remaining work at `since`.
    pub(super) remaining: f64,
    pub(super) since: FineTime,
    pub(super) rate: f64,
    pub(super) bound: f64,
    pub(super) penalty: f64,
    pub(super) by_rate: bool,
    /// Units of each resource per unit of work, if equal for all of its resources; 1 if rates themselves are shared;
    /// otherwise 0.
    pub(super) unit: f64,
    /// The level at which it is limited; 0 before it is solved, and without a common level.
    pub(super) level: f64,
    pub(super) hold: Hold,
    pub(super) uses: Range,
    pub(super) state: State,
}

/// The end of an activity or of its latency: by time, then by start. Bits compare faster than floats, and millions may
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

/// One use of a resource, and its index in the list of the resource's users.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Use {
    pub(super) resource: u32,
    pub(super) place: u32,
    pub(super) weight: f64,
}

/// One running user of a resource: the activity, and the index of the use among all uses.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct User {
    pub(super) activity: u32,
    pub(super) at: u32,
}

/// Running activities. A clone is a fork: the two are independent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Activities {
    pub(super) rule: Rule,
    pub(super) resources: Vec<Resource>,
    pub(super) users: Vec<Vec<User>>,
    pub(super) slots: Vec<Activity>,
    pub(super) free: Vec<u32>,
    pub(super) uses: Blocks<Use>,
    /// The end of each activity or of its latency. Activities that never end are absent.
    pub(super) ends: IndexedHeap<End>,
    pub(super) started: u64,
    pub(super) running: u64,
    /// Number of activities that use resources now.
    pub(super) consumers: usize,
    /// For each resource the number of activities that it limits, where activities without a level count at all of
    /// their resources; and the approximate amount that activities with a level use of it.
    pub(super) holding: Vec<u32>,
    pub(super) load: Vec<f64>,
    /// The level at which each resource limits activities, if it limits any.
    pub(super) held_at: Vec<f64>,
    /// Resources of activities that ended since the last solve, and new running activities.
    pub(super) touched: Vec<u32>,
    pub(super) fresh: Vec<u32>,
    /// Time of these changes.
    pub(super) touched_at: FineTime,
    /// Activities of components solved at this instant.
    pub(super) solved: Marks,
    /// The activities that are solved together, and the resources examined for them.
    pub(super) members: Vec<u32>,
    pub(super) reached: Marks,
    pub(super) visited: Marks,
    pub(super) local: Marks,
    /// The local index of each resource of the component.
    pub(super) places: Vec<u32>,
    /// The resources of the component.
    pub(super) shared: Vec<u32>,
    pub(super) rising: Rising,
    pub(super) component: Component,
    pub(super) solver: Solver,
    /// The record of loads, if enabled.
    pub(super) loads: Option<Box<Loads>>,
}

impl Activities {
    /// Creates an engine without activities.
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
