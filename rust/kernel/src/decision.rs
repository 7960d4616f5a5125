//! Decisions: the only way to change jobs and nodes, for built-in rules and external schedulers.
//!
//! A decision is data. The simulation checks it, and either applies it entirely or refuses it and changes nothing.
use std::collections::BTreeMap;

use crate::application::Value;
use crate::cluster::NodeTasks;

/// The placement of a job.
#[derive(Clone, Debug, PartialEq)]
pub enum Where {
    /// The placement that the allocator has just chosen (`Allocator::chosen`).
    Proposed,
    /// The placement that the allocator chooses now.
    AskAllocator,
    /// These nodes.
    Nodes(Vec<NodeTasks>),
    /// These nodes, one entry per rank.
    Ranks(Vec<u32>),
}

/// The work that a preempted job keeps of its interrupted run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preemption {
    /// No work: the job is requeued and runs again from its start.
    Requeue,
    /// All work: the job is requeued, and later continues where it was.
    Suspend,
    /// The work up to its latest checkpoint; a checkpoint is taken every given number of seconds of its run.
    FromCheckpoint(f64),
}

/// The new size of a resized job.
#[derive(Clone, Debug, PartialEq)]
pub enum Size {
    /// Number of tasks: the job loses its last ranks, or gains nodes chosen by the allocator.
    Tasks(u32),
    /// The nodes, one entry per rank; and the number of GPUs that it uses on each, if that changes.
    Ranks(Vec<u32>, Option<u32>),
}

/// A decision. Jobs are given by their slots, times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Starts a queued job.
    Start {
        /// The job.
        job: u32,
        /// The placement.
        place: Where,
        /// Number of tasks, for a job with a size that may be chosen; its requested number by default.
        tasks: Option<u32>,
    },
    /// Makes a reservation for a queued job, at a given or the earliest time, until the end of the pass.
    Reserve {
        /// The job.
        job: u32,
        /// Time of the reservation; None for the earliest.
        at: Option<f64>,
    },
    /// Holds a queued job out of the order until it is released.
    Hold(u32),
    /// Returns a held job to the order.
    Release(u32),
    /// Kills a running or waiting job.
    Kill(u32),
    /// Preempts a running job: it returns to the queue.
    Preempt {
        /// The job.
        job: u32,
        /// The work that it keeps.
        keep: Preemption,
    },
    /// Resizes a running job.
    Resize {
        /// The job.
        job: u32,
        /// The new size.
        size: Size,
    },
    /// Changes the service rate of a running job from now on. At rate 0 it keeps its nodes and does not progress.
    SetRate {
        /// The job.
        job: u32,
        /// Work per second, finite and >= 0.
        rate: f64,
    },
    /// Changes the service rate of all jobs on the nodes of a control from now on.
    SetServiceRate {
        /// The number of the control.
        control: u32,
        /// Work per second, finite and >= 0.
        rate: f64,
    },
    /// Sets the estimate of a job's run_time that schedulers use.
    SetEstimate {
        /// The job.
        job: u32,
        /// Seconds from its start.
        seconds: f64,
    },
    /// Sets arguments that the formulas of a job's application use from its next start or resize on.
    SetRuntimeArguments {
        /// The job.
        job: u32,
        /// The arguments by name.
        arguments: BTreeMap<String, Value>,
    },
    /// Drains a node: no further job starts on it; its jobs continue.
    Drain(u32),
    /// Resumes a node: jobs may start on it again.
    Resume(u32),
    /// Withholds amounts of a node's resources from jobs, in place of those withheld before.
    ReserveCapacity {
        /// The node.
        node: u32,
        /// Amounts by resource.
        amounts: Vec<i64>,
    },
    /// Requests a call at a given time.
    Wake {
        /// Time of the call.
        time: f64,
        /// The number of the caller.
        caller: u32,
        /// Purpose of the call.
        purpose: TimerPurpose,
    },
}

/// The purpose of a timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimerPurpose {
    /// Any action.
    #[default]
    Act,
    /// The return of nodes: it keeps a run going only while a waiting job fits on the machine with all its nodes.
    Repair,
    /// Observation only: it does not keep a run going, and makes no pass due.
    Watch,
}

/// The effect of a decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// Applied.
    Done,
    /// The job does not fit now, or would delay a reservation; nothing was changed.
    NotNow,
    /// The time of the reservation; infinity if the job does not fit on the available capacity.
    Reserved(f64),
}
