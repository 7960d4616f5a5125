//! Execution: runs the applications of jobs on the platform, rank by rank, and notifies the simulation.
//!
//! Every rank has a position in its job's program, and executes steps until it has to wait: for other ranks at a
//! barrier, for an activity that it has started, or for a time. A step costs O(1) plus the cost of the activity
//! that it starts. A program is compiled when a job starts or its nodes change; between these nothing is allocated.
//!
//! The order at one instant: first all activities that end, those on links and CPUs by end and start, then those on
//! disks, then timers in the order in which they were set. Then migrations out of caches begin. Then the ranks that no
//! longer wait continue, in this order. This repeats until nothing is due. The simulation receives each notice in the
//! order of occurrence, before further events are processed.
//! taken up.
mod alone;
mod cache;
mod clock;
mod compile;
mod demands;
mod engine;
mod error;
mod fixed_work;
mod gpu;
mod log;
mod message_counts;
mod message_passing;
mod messages;
mod migrate;
mod notice;
mod perform;
mod program;
mod rank;
mod round_passing;
mod rounds;
mod run;
mod start;
mod storage;
mod timer;
mod world;

#[cfg(test)]
mod tests;

pub use alone::{RunAlone, run_alone, run_job_alone};
pub use clock::{Clock, EndKey};
pub use engine::{Execution, Options};
pub use error::ExecutionError;
pub use fixed_work::FixedWork;
pub use log::{MessageTime, RoundTime, TaskLog, TaskTime};
pub use message_counts::{ClassTotals, MessageCounts};
pub use notice::Notice;
pub use start::Start;
