//! What activities ask of resources, and by which rule they share them.
use serde::{Deserialize, Serialize};

use crate::platform::Sharing;

/// Something that activities use at the same time: a link, the cores of a host, a disk.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resource {
    /// Units per second: bytes, flops.
    pub capacity: f64,
    /// Whether the activities share the capacity, or each has it to itself.
    pub sharing: Sharing,
}

/// What one activity asks for.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// The work to be done, in units of its own: bytes of a flow, 1 for a parallel task.
    pub amount: f64,
    /// Resources, each once, and the units of each that one unit of the work takes.
    pub uses: &'a [(u32, f64)],
    /// The greatest rate, in units of work per second; infinite where there is none.
    pub bound: f64,
    /// Seconds before it uses anything.
    pub latency: f64,
    /// Its share is proportional to the inverse: 2 gets half of what 1 gets.
    pub penalty: f64,
    /// Whether its rate itself is what is shared fairly, whatever a unit of its work takes: it stands for messages that
    /// share each link one by one. Of no effect under [`Rule::FairBottleneck`].
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
    /// Max-min fairness of what activities take of their bottleneck: weighted bounded max-min for flows, bottleneck max
    /// fairness for parallel tasks, which take different amounts of several resources.
    MaxMin,
    /// Max-min fairness of the rates themselves, whatever a unit of work takes of a resource: `SimGrid`'s rule for flows,
    /// which matters where flows take different amounts, as with cross-traffic.
    Rates,
    /// `SimGrid`'s rule for parallel tasks, as `ElastiSim` and Batsim use it, its quirk included.
    FairBottleneck,
}
