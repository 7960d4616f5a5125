//! What a job does when it carries an application instead of a run time: phases of tasks whose amounts are formulas.
//!
//! This room only describes. It says how much every rank computes and what every pair of ranks sends, for a given
//! number of nodes; how long that takes is the business of `execution`. An [`Application`] is immutable and shared
//! by the jobs that run it; what differs between them, [`ApplicationJob`] and [`Scope`] hold.
//!
//! Evaluating a formula is linear in its length, an amount's pattern in the number of ranks, and a traffic's pattern
//! in the number of pairs of ranks that it names.
mod formula;
mod job;
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
