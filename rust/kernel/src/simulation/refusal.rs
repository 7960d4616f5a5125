//! Reasons why a decision from outside is refused.
use std::fmt;

use crate::state::BEYOND_RESERVATION;

use crate::workload::JobState;

/// A decision that breaks a rule; nothing was changed. Jobs are identified by their slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The job does not exist.
    NoSuchJob(u32),
    /// The node does not exist.
    NoSuchNode {
        /// The given number.
        node: u32,
        /// Number of nodes.
        nodes: u32,
    },
    /// The state of the job does not allow the decision.
    WrongState {
        /// The job.
        job: u32,
        /// Its current state.
        state: JobState,
        /// The required states.
        needed: &'static str,
    },
    /// The job is on hold.
    OnHold(u32),
    /// The job ends at this instant.
    EndsNow(u32),
    /// The job was started in this pass.
    StartsNow(u32),
    /// The placed tasks differ from the job's tasks.
    WrongTasks {
        /// The job.
        job: u32,
        /// Number of placed tasks.
        placed: u64,
        /// Number of tasks of the job.
        tasks: u32,
    },
    /// The placed tasks differ from the requested tasks of the decision.
    OtherTasks {
        /// The job.
        job: u32,
        /// Number of placed tasks.
        placed: u64,
        /// Number of requested tasks.
        tasks: u32,
    },
    /// A node has too few free slots.
    NoRoom {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
        /// Number of tasks placed there.
        tasks: u32,
        /// Number of free slots there.
        slots: u32,
    },
    /// The job may not use this node.
    OutsideSet {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
    },
    /// A node is reserved for others before the job's limit ends.
    Reserved {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
    },
    /// The job would exceed a limit.
    OverLimit {
        /// The job.
        job: u32,
        /// Index of the limit in the description.
        limit: u32,
    },
    /// A node is named twice.
    NodeTwice {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
    },
    /// The job would delay a job with a reservation.
    Delays(u32),
    /// The job does not fit from this instant on.
    NoFit {
        /// The job.
        job: u32,
        /// The instant, seconds.
        time: f64,
    },
    /// The job is rigid: its number of tasks is fixed.
    Rigid(u32),
    /// The job changes its number of tasks only on its own request, or never.
    NotAsking(u32),
    /// The job cannot have this number of tasks.
    BadSize {
        /// The job.
        job: u32,
        /// The given number.
        tasks: u64,
        /// Its minimum.
        least: u32,
        /// Its maximum.
        most: u32,
    },
    /// There is no room for additional tasks of the job.
    NoRoomToGrow {
        /// The job.
        job: u32,
        /// Number of additional tasks.
        more: u32,
    },
    /// The job has a run time instead of an application.
    NoApplication(u32),
    /// The application of the job has no state to keep.
    Stateless(u32),
    /// The job waits for conditions outside the queue.
    NotEligible(u32),
    /// The time has passed, or is not finite.
    BadTime {
        /// The given time.
        time: f64,
        /// The current time.
        now: f64,
    },
    /// The duration is negative or not finite.
    BadDuration(f64),
    /// Decisions are allowed only while the scheduler is called.
    NotDeciding,
    /// The scheduler runs inside the kernel and accepts no decisions.
    DecidesItself,
    /// Power measurement must begin before the first job runs.
    UnderWay,
    /// Power is not measured.
    Unmeasured,
    /// The rate is negative or not finite.
    BadRate {
        /// The job.
        job: u32,
        /// The given rate.
        rate: f64,
    },
    /// The rate of nodes is negative or not finite.
    BadServiceRate(f64),
    /// The power of nodes at this rate is not configured.
    UnpricedRate(f64),
    /// The control does not exist.
    NoControl {
        /// The given number.
        control: u32,
        /// Number of controls.
        count: u32,
    },
    /// The job has an application, which determines its own rate.
    HasApplication(u32),
    /// The job is in its launch or completion phase.
    NotWorking(u32),
    /// The job is completing, or its application was stopped.
    RunIsOver(u32),
    /// The reserved amount is negative or exceeds the node's capacity.
    BadAmount {
        /// The node.
        node: u32,
        /// The given amount.
        amount: i64,
        /// The node's capacity.
        capacity: i64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchJob(job) => write!(out, "there is no job in row {job}"),
            Self::NoSuchNode { node, nodes } => {
                write!(out, "there is no node {node}; nodes are numbered from 0 to {}", nodes - 1)
            }
            Self::WrongState { state, needed, .. } => {
                write!(out, "it is {}; it must be {needed}", state.name())
            }
            Self::OnHold(_) => write!(out, "it is on hold; release it first"),
            Self::EndsNow(_) => write!(out, "it ends at this very instant"),
            Self::StartsNow(_) => write!(out, "it was started in this very pass"),
            Self::WrongTasks { placed, tasks, .. } => {
                write!(out, "{placed} tasks are placed; it has {tasks}")
            }
            Self::OtherTasks { placed, tasks, .. } => {
                write!(out, "tasks = {tasks}, but {placed} are placed; give one of both, or as many")
            }
            Self::NoRoom { node, tasks, slots, .. } => {
                write!(out, "{tasks} tasks are placed on node {node}, which has room for {slots} of them")
            }
            Self::OutsideSet { node, .. } => {
                write!(out, "node {node} is in none of the node groups that it may use")
            }
            Self::Reserved { node, .. } => {
                write!(out, "node {node} is reserved for others before its requested_time is over")
            }
            Self::OverLimit { limit: BEYOND_RESERVATION, .. } => {
                write!(out, "it could not end within the reservation that it uses")
            }
            Self::OverLimit { limit, .. } => write!(out, "it would go beyond limits[{limit}] of the system"),
            Self::NodeTwice { node, .. } => {
                write!(out, "node {node} is named twice; name it once, with all its tasks")
            }
            Self::Delays(_) => write!(out, "it would delay a job that has a reservation"),
            Self::NoFit { time, .. } => {
                write!(
                    out,
                    "with the jobs that run and earlier reservations it does not fit from {time} s on"
                )
            }
            Self::Rigid(_) => write!(out, "it is rigid: it keeps the tasks that it was submitted with"),
            Self::NotAsking(_) => {
                write!(out, "it is not malleable, and asks for no other number of tasks at this instant")
            }
            Self::BadSize { tasks, least, most, .. } => {
                write!(out, "tasks = {tasks}; it can have from {least} to {most}")
            }
            Self::NoRoomToGrow { more, .. } => write!(out, "there is no room for {more} more of its tasks"),
            Self::NoApplication(_) => write!(out, "it carries a run time, not an application"),
            Self::Stateless(_) => {
                write!(out, "its application begins anew; keep nothing of it")
            }
            Self::NotEligible(_) => {
                write!(out, "it waits for other jobs, its begin time or a place in its array")
            }
            Self::BadTime { time, now } => {
                write!(out, "time = {time}; must be a number, and not before now = {now}")
            }
            Self::BadDuration(seconds) => write!(out, "{seconds} s; must be a finite number >= 0"),
            Self::NotDeciding => {
                write!(out, "decisions are made while the scheduler is asked, not outside of a pass")
            }
            Self::DecidesItself => {
                write!(out, "the policy of this simulation runs in the kernel and takes no decisions")
            }
            Self::BadRate { rate, .. } | Self::BadServiceRate(rate) => {
                write!(out, "rate = {rate}; must be a finite number >= 0")
            }
            Self::UnpricedRate(rate) => {
                write!(
                    out,
                    "rate = {rate}; Power has no watts of its nodes at this rate. Add them to its nodes"
                )
            }
            Self::NoControl { count: 0, .. } => {
                write!(out, "no rate is controlled; pass control= to the run")
            }
            Self::NoControl { control, count } => {
                write!(out, "there is no control {control}; controls are numbered from 0 to {}", count - 1)
            }
            Self::HasApplication(_) => {
                write!(out, "it carries an application, whose rate follows from what it does")
            }
            Self::NotWorking(_) => write!(out, "it is being launched or completed"),
            Self::RunIsOver(_) => write!(out, "its run is over; it is being completed"),
            Self::UnderWay => write!(out, "jobs run already; measure from the beginning"),
            Self::Unmeasured => write!(out, "the power of the nodes is not measured; observe it first"),
            Self::BadAmount { node, amount, capacity } => {
                write!(out, "amount = {amount} on node {node}; must be from 0 to {capacity}, its capacity")
            }
        }
    }
}
