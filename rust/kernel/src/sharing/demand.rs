//! Demands of activities on resources, and the rules by which activities share them.
use serde::{Deserialize, Serialize};

use crate::platform::Sharing;

/// A resource that activities use at the same time: a link, the cores of a host, a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Units per second: bytes, flops.
    pub capacity: f64,
    /// The sharing: the activities share the capacity, or each may use all of it.
    pub sharing: Sharing,
}

/// The demand of one activity.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// The amount of work, in units of its own: bytes for a flow, 1 for a parallel task.
    pub amount: f64,
    /// Distinct resources, and the units of each that one unit of work uses.
    pub uses: &'a [(u32, f64)],
    /// The greatest rate, in units of work per second; infinity if unbounded.
    pub bound: f64,
    /// Seconds before it uses any resource.
    pub latency: f64,
    /// The share is proportional to its inverse: penalty 2 gets half the share of penalty 1.
    pub penalty: f64,
    /// True if the rate itself is shared fairly, whatever a unit of work uses: the activity stands for messages that
    /// share each link one by one. Without effect under [`Rule::FairBottleneck`].
    pub by_rate: bool,
}

impl Default for Demand<'_> {
    fn default() -> Self {
        Self { amount: 0.0, uses: &[], bound: f64::INFINITY, latency: 0.0, penalty: 1.0, by_rate: false }
    }
}

/// How activities share resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Rule {
    /// Max-min fairness of the amounts that activities use of their bottleneck: weighted bounded max-min for flows,
    /// bottleneck max fairness for parallel tasks, which use different amounts of several resources.
    MaxMin,
    /// Max-min fairness of the rates themselves, whatever a unit of work uses of a resource: `SimGrid`'s rule for
    /// flows. It differs if flows use different amounts, e.g. with cross-traffic.
    Rates,
    /// `SimGrid`'s rule for parallel tasks, which `ElastiSim` and Batsim use, including its quirk.
    FairBottleneck,
}
