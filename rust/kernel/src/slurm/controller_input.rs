//! Input of a call of the controller, and the outcome for each waiting job.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::generic::GenericRequest;
use super::sparse_nodes::SparseNodes;
use crate::index::NodeBits;

/// Total or free amounts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// CPUs.
    pub cpus: i64,
    /// Memory, in the unit of the requests.
    pub memory: i64,
}

/// Allotment of a job on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allotment {
    /// The node.
    pub node: u32,
    /// CPUs.
    pub cpus: i64,
    /// Memory.
    pub memory: i64,
}

/// A job that holds nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The job.
    pub job: u32,
    /// Its row in the workload; ties between equal ends are broken by it.
    pub row: u64,
    /// End by its time limit, seconds.
    pub end: f64,
    /// Its allotments.
    pub allotments: Vec<Allotment>,
    /// Its generic resources, node-major in the order of the allotments; empty if it holds none.
    pub generic: Vec<i64>,
    /// Its nodes.
    pub nodes: SparseNodes,
    /// Its classes.
    pub classes: Classes,
    /// Start, if it may be preempted; otherwise None.
    pub began: Option<f64>,
    /// Seconds that it may exceed its limit (`OverTimeLimit`).
    pub over_time: f64,
    /// True if it was chosen for preemption and runs in its grace time, which ends at `end`.
    pub noticed: bool,
}

impl Held {
    /// Create a job that holds these allotments until `end` and may not be preempted.
    #[must_use]
    pub fn new(job: u32, row: u64, end: f64, allotments: Vec<Allotment>) -> Self {
        let nodes = SparseNodes::of(allotments.iter().map(|each| each.node));
        Self {
            job,
            row,
            end,
            allotments,
            generic: Vec::new(),
            nodes,
            classes: Classes::default(),
            began: None,
            over_time: 0.0,
            noticed: false,
        }
    }

    /// Return the job with these amounts of generic resources, node-major.
    #[must_use]
    pub fn with_generic(self, generic: Vec<i64>) -> Self {
        Self { generic, ..self }
    }

    /// Return the job with these classes, and with its start if it may be preempted.
    #[must_use]
    pub fn of(self, classes: Classes, began: Option<f64>) -> Self {
        Self { classes, began, ..self }
    }

    /// Return the job with this tolerance beyond its limit.
    #[must_use]
    pub fn late_by(self, over_time: f64) -> Self {
        Self { over_time, ..self }
    }

    /// Return the job after it was chosen for preemption, with `end` as the latest end.
    #[must_use]
    pub fn noticed_until(self, end: f64) -> Self {
        Self { end: self.end.min(end), noticed: true, ..self }
    }
}

/// Classes of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Preemption class (quality of service or tier): the same jobs may preempt all jobs of a class.
    pub preemption: u32,
    /// Groups in which a limit counts nodes.
    pub counted: Vec<u32>,
}

/// Owner of a job, by number; None if unknown, so that no depth counts the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The user.
    pub user: Option<u32>,
    /// The association: a user in an account.
    pub association: Option<u32>,
    /// The array that contains the job as a task.
    pub array: Option<u32>,
}

/// Memory request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Memory {
    /// Amount on each node.
    PerNode(i64),
    /// Amount for each allotted CPU.
    PerCpu(i64),
}

impl Memory {
    /// Return the memory on a node for a job with this many CPUs there.
    #[must_use]
    pub fn with(self, cpus: i64) -> i64 {
        match self {
            Self::PerNode(amount) => amount,
            Self::PerCpu(amount) => amount * cpus,
        }
    }
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Its nodes.
    pub nodes: NodeBits,
    /// Maximum number of nodes of a job.
    pub most_nodes: u32,
}

/// State of a waiting job's limits (of accounts or of its partition).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limits {
    /// The job may start and be planned.
    Within,
    /// The job may not start, but is evaluated, so that nodes get its weights.
    Over,
    /// The job may not start, and is not evaluated: too many jobs run.
    Shut,
}

/// A waiting job in one of its partitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The job.
    pub job: u32,
    /// Its row in the workload.
    pub row: u64,
    /// Index of the partition.
    pub partition: usize,
    /// Time limit there, seconds.
    pub limit: f64,
    /// Requested number of nodes; 0 if none is requested.
    pub nodes: u32,
    /// Number of tasks; 0 if it follows from nodes and tasks per node.
    pub tasks: u32,
    /// CPUs of each task.
    pub cpus_per_task: u32,
    /// Tasks on each node; 0 if not requested.
    pub tasks_per_node: u32,
    /// Memory request.
    pub memory: Memory,
    /// Request of generic resources.
    pub generic: GenericRequest,
    /// True if it requires whole idle nodes.
    pub exclusive: bool,
    /// Nodes that satisfy its request when they are idle; None if all nodes of its partition do.
    pub suitable: Option<Arc<NodeBits>>,
    /// State of its limits.
    pub limits: Limits,
    /// Its classes.
    pub classes: Classes,
    /// True if others may be preempted for it now: not while earlier victims are leaving.
    pub may_preempt: bool,
    /// Number of the reservation that it requests.
    pub reservation: Option<usize>,
    /// Its owner.
    pub owner: Owner,
    /// Its priority; 0 if jobs have no priority.
    pub priority: f64,
    /// The second since which it has been eligible.
    pub eligible: f64,
}

impl Entry {
    /// Return the minimum number of nodes.
    #[must_use]
    pub fn least_nodes(&self) -> u32 {
        self.nodes.max(1)
    }

    /// Remove the nodes that do not satisfy its request.
    pub fn keep_suitable(&self, nodes: &mut NodeBits) {
        if let Some(suitable) = &self.suitable {
            nodes.keep(suitable);
        }
    }

    /// Return whether it may start and be planned.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.limits == Limits::Within
    }

    /// Return the number of tasks.
    #[must_use]
    pub fn all_tasks(&self) -> u32 {
        if self.tasks > 0 { self.tasks } else { self.tasks_per_node.max(1) * self.least_nodes() }
    }
}

/// A reservation of nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its nodes.
    pub nodes: NodeBits,
    /// Begin.
    pub begin: f64,
    /// End.
    pub end: f64,
}

/// Add the allotments of a job to the free amounts.
pub(super) fn give_back(left: &mut [Amounts], allotments: &[Allotment]) {
    for each in allotments {
        let node = &mut left[each.node as usize];
        node.cpus += each.cpus;
        node.memory += each.memory;
    }
}

/// Outcome of a queue entry.
#[derive(Clone, Debug, PartialEq)]
pub enum EntryOutcome {
    /// Started now on these nodes.
    Started(Vec<Allotment>),
    /// Planned to start at this time on these nodes.
    Planned(f64, Vec<Allotment>),
    /// These jobs are preempted for it; backfill plans it on these nodes from now on.
    Preempts(Vec<u32>, Vec<Allotment>),
    /// Waits.
    Waits,
    /// Not examined: an earlier entry closed its partition, a bound was reached, or the job has started.
    NotTried,
}
