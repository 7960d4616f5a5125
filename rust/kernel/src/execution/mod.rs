//! Execution: runs the applications of jobs on the platform, rank by rank, and tells what the simulation must know.
//!
//! Every rank has a place in its job's program, and goes from step to step until it has to wait: for other ranks at a
//! barrier, for what it has started, or for a time. A step costs O(1) besides what it starts. A program is made when a
//! job starts or its nodes change; in between nothing is allocated.
//!
//! At one instant, in this order: first all activities that end, those on links and CPUs by their end and start, then
//! those on disks, then timers as they were set; then migrations out of caches begin; then the ranks that wait no more go
//! on, in that order; then again, until nothing is due. The simulation gets its notices in the order in which it comes about, before more is
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
