//! Why a decision from outside is refused.
use std::fmt;

use crate::state::OUT_OF_TIME;

use crate::workload::JobState;

/// A decision that breaks a rule; nothing was changed. Jobs are named by their slots.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// There is no such job.
    NoSuchJob(u32),
    /// There is no such node.
    NoSuchNode {
        /// The number given.
        node: u32,
        /// How many there are.
        nodes: u32,
    },
    /// The job is not in a state in which this can be done.
    WrongState {
        /// The job.
        job: u32,
        /// Its state.
        state: JobState,
        /// What it would have to be.
        needed: &'static str,
    },
    /// The job is on hold.
    OnHold(u32),
    /// The job ends at this very instant.
    EndsNow(u32),
    /// The job was started in this very pass.
    StartsNow(u32),
    /// The tasks placed are not those of the job.
    WrongTasks {
        /// The job.
        job: u32,
        /// How many were placed.
        placed: u64,
        /// How many it has.
        tasks: u32,
    },
    /// The tasks placed are not as many as were asked for with them.
    OtherTasks {
        /// The job.
        job: u32,
        /// How many were placed.
        placed: u64,
        /// How many were asked for.
        tasks: u32,
    },
    /// A node has not the room.
    NoRoom {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
        /// How many tasks were to go there.
        tasks: u32,
        /// How many there is room for.
        slots: u32,
    },
    /// A node is none of those that the job may use.
    OutsideSet {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
    },
    /// A node is reserved for others before the job would be gone.
    Reserved {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
    },
    /// It would go beyond a limit.
    OverLimit {
        /// The job.
        job: u32,
        /// The limit, by its place in the description.
        limit: u32,
    },
    /// A node is named twice.
    NodeTwice {
        /// The job.
        job: u32,
        /// The node.
        node: u32,
    },
    /// It would delay a job that has a reservation.
    Delays(u32),
    /// The job does not fit from this instant on.
    NoFit {
        /// The job.
        job: u32,
        /// The instant, seconds.
        time: f64,
    },
    /// The job keeps its number of tasks.
    Rigid(u32),
    /// The job changes its number of tasks only when it asks to, if at all.
    NotAsking(u32),
    /// A number of tasks that the job cannot have.
    BadSize {
        /// The job.
        job: u32,
        /// The number given.
        tasks: u64,
        /// The least that it can have.
        least: u32,
        /// The most.
        most: u32,
    },
    /// There is no room for more tasks of the job.
    NoRoomToGrow {
        /// The job.
        job: u32,
        /// How many more.
        more: u32,
    },
    /// The job carries a run time, not an application.
    NoApplication(u32),
    /// The application of the job has no state that could be kept.
    Stateless(u32),
    /// The job waits for others to complete.
    NotEligible(u32),
    /// A time that has passed, or is none.
    BadTime {
        /// The time given.
        time: f64,
        /// The present time.
        now: f64,
    },
    /// A duration that is negative or not finite.
    BadDuration(f64),
    /// Decisions are made in a scheduler's pass only.
    NotDeciding,
    /// The scheduler runs inside the kernel and takes no decisions.
    DecidesItself,
    /// Power can be measured from the beginning only.
    UnderWay,
    /// The power is not measured.
    Unmeasured,
    /// A rate that is negative or not finite.
    BadRate {
        /// The job.
        job: u32,
        /// The rate given.
        rate: f64,
    },
    /// The same for nodes.
    BadServiceRate(f64),
    /// It is not given what nodes draw at this rate.
    UnpricedRate(f64),
    /// There is no such control of rates.
    NoControl {
        /// The number given.
        control: u32,
        /// How many there are.
        count: u32,
    },
    /// The job carries an application, whose rate follows from what it does.
    HasApplication(u32),
    /// The job is being launched or completed.
    NotWorking(u32),
    /// The job is being completed, or its application was stopped.
    RunIsOver(u32),
    /// An amount to be withheld that is negative or more than the node has.
    BadAmount {
        /// The node.
        node: u32,
        /// The amount given.
        amount: i64,
        /// What the node has.
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
            Self::OverLimit { limit: OUT_OF_TIME, .. } => {
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
