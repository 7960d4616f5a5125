//! The parts of an application.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::formula::Formula;
use super::message_program::MessageProgram;
use super::payload::Payload;
use super::round_program::RoundProgram;
use super::traffic::Traffic;

/// An application: the work of a job from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// Executed once, at the start of the job, by all ranks.
    pub on_init: Option<Stage>,
    /// Executed by all ranks of the new allocation after each change.
    pub on_reconfiguration: Option<Stage>,
    /// Executed after that by the ranks that are new.
    pub on_expansion: Option<Stage>,
    /// The phases, in order.
    pub phases: Vec<Phase>,
}

/// Tasks that are executed once, outside the phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Number of iterations; truncated to an integer.
    pub iterations: Formula,
    /// The tasks of each iteration, in order.
    pub tasks: Vec<Task>,
}

/// Tasks that are repeated; the job's nodes can change between two iterations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Number of iterations; truncated to an integer when the job starts.
    pub iterations: Formula,
    /// True if malleable and adaptive jobs have a scheduling point before every iteration except the first.
    pub scheduling_point: bool,
    /// The number of nodes that evolving and adaptive jobs request before every iteration except the first.
    pub evolving_request: Option<Formula>,
    /// True if all ranks wait for each other, and for their asynchronous activities, before every iteration.
    pub barrier: bool,
    /// The tasks of each iteration, in order.
    pub tasks: Vec<Task>,
}

/// One step of every rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its name in the outputs; may be empty.
    pub name: String,
    /// Number of iterations; truncated to an integer.
    pub iterations: Formula,
    /// True if all ranks of the job wait for each other before every iteration.
    pub synchronized: bool,
    /// The work of the task.
    pub work: Work,
}

/// The work of a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// Computes on the CPUs and sends messages, at the same time.
    Compute {
        /// Floating-point operations of every rank.
        flops: Option<Payload>,
        /// Bytes between the ranks.
        bytes: Option<Traffic>,
        /// True if both progress in lock-step, so that all amounts end together.
        coupled: bool,
    },
    /// Computes on the GPUs and sends messages between them, at the same time.
    Gpu {
        /// Floating-point operations of every rank, split evenly over its GPUs.
        flops: Option<Payload>,
        /// Bytes between the GPUs.
        bytes: Option<Traffic>,
    },
    /// Reads from or writes to storage.
    Transfer {
        /// The storage.
        storage: Storage,
        /// The direction.
        direction: Direction,
        /// Bytes of every rank.
        bytes: Payload,
        /// True if the ranks continue meanwhile, until the next barrier.
        asynchronous: bool,
    },
    /// Waits without using any resource.
    Idle {
        /// Waiting time of every rank, seconds.
        seconds: Payload,
    },
    /// Computes for the time that it would take alone on its node.
    BusyWait {
        /// Computing time of every rank, seconds on a free CPU.
        seconds: Payload,
    },
    /// Passes messages rank by rank; all ranks begin together.
    Messages(Arc<MessageProgram>),
    /// Passes messages round by round, all ranks together.
    Rounds(Arc<RoundProgram>),
    /// Executes tasks one after the other, all of them in every iteration.
    Sequence {
        /// The tasks.
        tasks: Vec<Task>,
    },
}

/// The location of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Storage {
    /// The storage shared by all nodes.
    ParallelFileSystem,
    /// The storage of the nodes, possibly shared among the nodes of a job.
    BurstBuffer,
    /// The node's own storage as a cache of the shared storage.
    Cache,
}

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the storage to the nodes.
    Read,
    /// From the nodes to the storage.
    Write,
}
