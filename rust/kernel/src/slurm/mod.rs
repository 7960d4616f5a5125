//! Decisions of Slurm's controller: which waiting jobs a call of its main loop or of its backfill starts, and on which
//! nodes.
//!
//! A call receives a [`Situation`] and returns a [`Verdict`] for each queue entry (S25). The times of calls and the
//! order of jobs are not decided here.
mod backfill;
mod cores;
mod depths;
mod estimate;
mod free_amounts;
mod free_window;
mod generic;
mod linear;
mod main_loop;
mod node_bits;
mod node_space;
mod occupation;
mod offer;
mod parameters;
mod reserves;
mod select;
mod situation;
mod sparse_nodes;
mod starting;
mod victims;
mod weights;

pub use backfill::{Backfill, backfill};
pub use depths::Depths;
pub use generic::{GenericAmounts, GenericRequest};
pub use main_loop::{MainLoop, main_loop};
pub use node_bits::NodeBits;
pub use occupation::Occupation;
pub use offer::Filling;
pub use parameters::{BackfillParameters, MainLoopParameters, Precedence, Setup};
pub use reserves::Reserves;
pub use select::Select;
pub use situation::{
    Allotment, Amounts, Classes, Entry, Held, Limits, Memory, Owner, Partition, Reservation, Situation,
    Verdict,
};
pub use starting::CallState;
pub use weights::evaluate;
