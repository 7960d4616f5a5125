//! The description of jobs with an application instead of a run time: phases of tasks with formulas as amounts.
//!
//! These modules only describe: the amount that every rank computes, and the messages between every pair of ranks, for
//! a given number of nodes. `execution` computes their durations. An [`Application`] is immutable and shared by the
//! jobs that run it; [`ApplicationJob`] and [`Scope`] hold what differs between jobs.
//!
//! The evaluation of a formula is linear in its length, of the pattern of an amount in the number of ranks, and of the
//! pattern of traffic in the number of its pairs of ranks.
mod formula;
mod job;
mod jobs;
mod message_matrix;
mod message_program;
mod model;
mod payload;
mod rank_map;
mod rank_order;
mod round_program;
mod scope;
#[cfg(test)]
mod tests;
mod traffic;

pub use formula::{Formula, FormulaError};
pub use job::{ApplicationJob, JobType};
pub use jobs::ApplicationJobs;
pub use message_matrix::MessageMatrix;
pub use message_program::{
    Effect, Malformed, Message, MessageClasses, MessageProgram, MessageStates, Operation,
};
pub use model::{Application, Direction, Phase, Stage, Storage, Task, Work};
pub use payload::{ModelError, Pattern, Payload};
pub use rank_map::mapped;
pub use rank_order::RankOrder;
pub use round_program::{Entry, Pace, Part, RoundProgram};
pub use scope::{Scope, Value};
pub use traffic::{Communication, Traffic};
