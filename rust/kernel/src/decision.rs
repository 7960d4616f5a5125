//! Decisions: the one way in which anything is decided about jobs and nodes, by built-in rules and from outside alike.
//!
//! A decision is data. The simulation checks it, and either applies it whole or refuses it with nothing changed.
use std::collections::BTreeMap;

use crate::application::Value;
use crate::cluster::NodeTasks;

/// Where a job goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Where {
    /// Where the allocator has just chosen (`Allocator::chosen`).
    Chosen,
    /// Where the allocator chooses now.
    Allocator,
    /// On these nodes.
    Nodes(Vec<NodeTasks>),
    /// On these nodes, one entry per rank.
    Ranks(Vec<u32>),
}

/// What a preempted job keeps of the run that was cut short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preemption {
    /// Nothing: it goes back to the queue and runs again from its start.
    Requeue,
    /// Everything: it goes back to the queue, and later on from where it was.
    Suspend,
    /// What it had done at its latest checkpoint; one is taken every so many seconds of its run.
    FromCheckpoint(f64),
}

/// How many nodes a resized job gets, or which.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// So many tasks: it loses its last ranks, and gains such nodes as the allocator chooses.
    Tasks(u32),
    /// These nodes, one entry per rank; and how many GPUs it uses on each, where that changes.
    Ranks(Vec<u32>, Option<u32>),
}

/// A decision. Jobs are named by their slots, times are seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Starts a queued job.
    Start {
        /// The job.
        job: u32,
        /// Where it goes.
        place: Where,
        /// On how many tasks, of a job whose size may be chosen; as many as it asks for unless given.
        tasks: Option<u32>,
    },
    /// Reserves for a queued job, at this instant or at the earliest one, until the end of the pass.
    Reserve {
        /// The job.
        job: u32,
        /// When.
        at: Option<f64>,
    },
    /// Takes a queued job out of the order until it is released.
    Hold(u32),
    /// Puts a job that is on hold back into the order.
    Release(u32),
    /// Ends a running or waiting job.
    Kill(u32),
    /// Puts a running job back into the queue.
    Preempt {
        /// The job.
        job: u32,
        /// What it keeps.
        keep: Preemption,
    },
    /// Gives a running job other nodes.
    Resize {
        /// The job.
        job: u32,
        /// How many, or which.
        size: Size,
    },
    /// Serves a running job at another rate from now on: work per second. At rate 0 it keeps its nodes and waits.
    SetRate {
        /// The job.
        job: u32,
        /// The rate, finite and >= 0.
        rate: f64,
    },
    /// Serves jobs at another rate from now on on all nodes of a control.
    SetServiceRate {
        /// The control, by its number.
        control: u32,
        /// The rate, finite and >= 0: work per second.
        rate: f64,
    },
    /// Sets what schedulers take a job's run_time to be.
    SetEstimate {
        /// The job.
        job: u32,
        /// Seconds from its start.
        seconds: f64,
    },
    /// Sets arguments that formulas of a job's application see from its next start or resizing on.
    SetRuntimeArguments {
        /// The job.
        job: u32,
        /// The arguments by name.
        arguments: BTreeMap<String, Value>,
    },
    /// Lets no further job start on a node; the jobs there stay.
    Drain(u32),
    /// Lets jobs start on a node again.
    Resume(u32),
    /// Keeps amounts of a node's resources from jobs, in place of what was kept before.
    ReserveCapacity {
        /// The node.
        node: u32,
        /// Amounts by resource.
        amounts: Vec<i64>,
    },
    /// Asks to be called at a time.
    Wake {
        /// When.
        time: f64,
        /// The caller's number.
        caller: u32,
        /// What for.
        purpose: TimerPurpose,
    },
}

/// What a timer is set for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerPurpose {
    /// For anything.
    #[default]
    Act,
    /// To give nodes back, which keeps a run going only while a waiting job fits on the machine with all its nodes.
    Repair,
    /// Only to watch, which keeps no run going and makes no pass due.
    Watch,
}

/// What a decision brought about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// It is done.
    Done,
    /// The job does not fit now, or would delay a reservation; nothing was changed.
    NotNow,
    /// The reservation is for this time; infinite where the job does not fit on what the machine offers.
    Reserved(f64),
}
