//! The parts of an application.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::formula::Formula;
use super::message_program::MessageProgram;
use super::payload::Payload;
use super::round_program::RoundProgram;
use super::traffic::Traffic;

/// An application: what a job does from its start to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Application {
    /// Done once, at the start of the job, by all ranks.
    pub on_init: Option<Stage>,
    /// Done by all ranks of the new allocation, whenever it has changed.
    pub on_reconfiguration: Option<Stage>,
    /// Done after that by the ranks that were not there before.
    pub on_expansion: Option<Stage>,
    /// What the job does, in this order.
    pub phases: Vec<Phase>,
}

/// Tasks that are done once, outside the phases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// How many times; truncated to a whole number.
    pub iterations: Formula,
    /// What each iteration does, in this order.
    pub tasks: Vec<Task>,
}

/// Tasks that are repeated; between two iterations the job's nodes can change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// How many times; truncated to a whole number when the job starts.
    pub iterations: Formula,
    /// Whether malleable and adaptive jobs meet a scheduling point before every iteration but the first.
    pub scheduling_point: bool,
    /// The number of nodes that evolving and adaptive jobs ask for before every iteration but the first.
    pub evolving_request: Option<Formula>,
    /// Whether all ranks wait for each other, and for what they do asynchronously, before every iteration.
    pub barrier: bool,
    /// What each iteration does, in this order.
    pub tasks: Vec<Task>,
}

/// One step of every rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its name in the outputs; may be empty.
    pub name: String,
    /// How many times; truncated to a whole number.
    pub iterations: Formula,
    /// Whether all ranks of the job wait for each other before every iteration.
    pub synchronized: bool,
    /// What is done.
    pub work: Work,
}

/// What a task does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// Computes on the CPUs and sends messages, both at once.
    Compute {
        /// Floating-point operations of every rank.
        flops: Option<Payload>,
        /// Bytes between the ranks.
        bytes: Option<Traffic>,
        /// Whether both progress in lock-step, so that all amounts end together.
        coupled: bool,
    },
    /// Computes on the GPUs and sends messages between them, both at once.
    Gpu {
        /// Floating-point operations of every rank, split evenly over its GPUs.
        flops: Option<Payload>,
        /// Bytes between the GPUs.
        bytes: Option<Traffic>,
    },
    /// Reads from or writes to storage.
    Transfer {
        /// Which storage.
        storage: Storage,
        /// Which way.
        direction: Direction,
        /// Bytes of every rank.
        bytes: Payload,
        /// Whether the ranks go on meanwhile, until the next barrier.
        asynchronous: bool,
    },
    /// Waits without using anything.
    Idle {
        /// How long every rank waits, in seconds.
        seconds: Payload,
    },
    /// Computes for as long as it would take alone on its node.
    BusyWait {
        /// How long every rank computes, in seconds on a free CPU.
        seconds: Payload,
    },
    /// Passes messages rank by rank; all ranks begin together.
    Messages(Arc<MessageProgram>),
    /// Passes messages round by round, all ranks together.
    Rounds(Arc<RoundProgram>),
    /// Does tasks one after the other, all of them at every iteration.
    Sequence {
        /// The tasks.
        tasks: Vec<Task>,
    },
}

/// Where data lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Storage {
    /// The storage that all nodes share.
    ParallelFileSystem,
    /// The storage of the nodes themselves, or shared among those of a job.
    BurstBuffer,
    /// The node's own storage as a cache of what all nodes share.
    Cache,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From the storage to the nodes.
    Read,
    /// From the nodes to the storage.
    Write,
}
