//! What one call of the controller sees, and what becomes of the jobs that wait.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::generic::GenericRequest;
use super::node_bits::NodeBits;
use super::sparse_nodes::SparseNodes;

/// What a node has, or has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// CPUs.
    pub cpus: i64,
    /// Memory, in the unit of the requests.
    pub memory: i64,
}

/// What a job has on one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allotment {
    /// The node.
    pub node: u32,
    /// Its CPUs there.
    pub cpus: i64,
    /// Its memory there.
    pub memory: i64,
}

/// A job that holds nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// Its number, by which equal ends are ordered.
    pub job: u32,
    /// When it ends by its time limit, seconds.
    pub end: f64,
    /// What it holds.
    pub allotments: Vec<Allotment>,
    /// What it holds of each generic resource, node after node in the order of its allotments; empty where it holds none.
    pub generic: Vec<i64>,
    /// Its nodes.
    pub nodes: SparseNodes,
    /// Its classes.
    pub classes: Classes,
    /// When it began, where it may be preempted; None where it may not.
    pub began: Option<f64>,
    /// Seconds that it may run beyond its limit (`OverTimeLimit`).
    pub over_time: f64,
    /// Whether it was chosen for preemption and runs on for its grace time, which is over at `end`.
    pub noticed: bool,
}

impl Held {
    /// A job that holds these until an end, and that may not be preempted.
    #[must_use]
    pub fn new(job: u32, end: f64, allotments: Vec<Allotment>) -> Self {
        let nodes = SparseNodes::of(allotments.iter().map(|each| each.node));
        Self {
            job,
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

    /// The same that holds these amounts of generic resources, node after node.
    #[must_use]
    pub fn with_generic(self, generic: Vec<i64>) -> Self {
        Self { generic, ..self }
    }

    /// The same of these classes; since when, where it may be preempted.
    #[must_use]
    pub fn of(self, classes: Classes, began: Option<f64>) -> Self {
        Self { classes, began, ..self }
    }

    /// The same, which may run so many seconds beyond its limit.
    #[must_use]
    pub fn late_by(self, over_time: f64) -> Self {
        Self { over_time, ..self }
    }

    /// The same, chosen for preemption, which runs on until then at the latest.
    #[must_use]
    pub fn noticed_until(self, end: f64) -> Self {
        Self { end: self.end.min(end), noticed: true, ..self }
    }
}

/// Which jobs a job is one of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Those that the same jobs may preempt: its quality of service or its tier.
    pub preemption: u32,
    /// Those whose nodes a limit counts together.
    pub counted: Vec<u32>,
}

/// Whose job it is, by number; None where it is not known, and nothing counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// The user.
    pub user: Option<u32>,
    /// The association: a user in an account.
    pub association: Option<u32>,
    /// The array that the job is a task of.
    pub array: Option<u32>,
}

/// How a job asks for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Memory {
    /// So much on each node.
    PerNode(i64),
    /// So much for each CPU that it gets.
    PerCpu(i64),
}

impl Memory {
    /// What a job with so many CPUs on a node takes there.
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
    /// The most nodes that a job may have there.
    pub most_nodes: u32,
}

/// How the limits of accounts, or of its partition, stand to a job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limits {
    /// It may start, and be planned.
    Within,
    /// It may not, and is evaluated all the same: nodes have its weights then.
    Over,
    /// It may not, and is not evaluated: too many jobs run.
    Shut,
}

/// A job that waits, in one of its partitions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The number of the job.
    pub job: u32,
    /// The number of the partition.
    pub partition: usize,
    /// Its time limit there, seconds.
    pub limit: f64,
    /// The nodes that it asks for; 0 where it asks for none in particular.
    pub nodes: u32,
    /// Its tasks; 0 where they follow from nodes and tasks per node.
    pub tasks: u32,
    /// CPUs of each task.
    pub cpus_per_task: u32,
    /// Tasks on each node; 0 where it does not say.
    pub tasks_per_node: u32,
    /// Its memory.
    pub memory: Memory,
    /// Its generic resources.
    pub generic: GenericRequest,
    /// Whether it takes whole idle nodes.
    pub exclusive: bool,
    /// The nodes that have what it asks for when they are idle; None where all of its partition have.
    pub suitable: Option<Arc<NodeBits>>,
    /// How its limits stand.
    pub limits: Limits,
    /// Its classes.
    pub classes: Classes,
    /// Whether others may be preempted for it now: not while those make room that were.
    pub may_preempt: bool,
    /// The number of the reservation that it asks for.
    pub reservation: Option<usize>,
    /// Whose it is.
    pub owner: Owner,
    /// Its priority, where jobs have some; else 0.
    pub priority: f64,
    /// The second since which it has been eligible.
    pub eligible: f64,
}

impl Entry {
    /// The fewest nodes that it can run on.
    #[must_use]
    pub fn least_nodes(&self) -> u32 {
        self.nodes.max(1)
    }

    /// Leaves those of these nodes that have what it asks for.
    pub fn keep_suitable(&self, nodes: &mut NodeBits) {
        if let Some(suitable) = &self.suitable {
            nodes.keep(suitable);
        }
    }

    /// Whether it may start, and be planned.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.limits == Limits::Within
    }

    /// Its tasks.
    #[must_use]
    pub fn all_tasks(&self) -> u32 {
        if self.tasks > 0 { self.tasks } else { self.tasks_per_node.max(1) * self.least_nodes() }
    }
}

/// A reservation of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reservation {
    /// Its nodes.
    pub nodes: NodeBits,
    /// When it begins.
    pub begin: f64,
    /// When it ends.
    pub end: f64,
}

/// What a call sees besides the jobs that wait.
#[derive(Clone, Debug, Default)]
pub struct Situation {
    /// The second at which the call began.
    pub now: f64,
    /// The nodes that are up and take jobs.
    pub available: NodeBits,
    /// The jobs that run.
    pub running: Vec<Held>,
    /// The jobs that are over, and whose nodes have not all answered.
    pub completing: Vec<Held>,
    /// The reservations that are known.
    pub reservations: Vec<Reservation>,
    /// The weights that nodes have since the last evaluation.
    pub weights: Vec<u32>,
}

/// Gives back what a job held.
pub(super) fn give_back(left: &mut [Amounts], allotments: &[Allotment]) {
    for each in allotments {
        let node = &mut left[each.node as usize];
        node.cpus += each.cpus;
        node.memory += each.memory;
    }
}

/// What becomes of an entry of the queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It starts now, on these nodes.
    Started(Vec<Allotment>),
    /// It is planned to start then, on these nodes.
    Planned(f64, Vec<Allotment>),
    /// These jobs are preempted for it; backfill plans it on these nodes from now on.
    Preempts(Vec<u32>, Vec<Allotment>),
    /// It waits.
    Waits,
    /// It was not looked at: an entry of its partition before it did not fit, or the job has started.
    NotTried,
}
