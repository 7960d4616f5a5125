//! How Slurm's controller decides: which waiting jobs one call of its main loop or of its backfill starts, on which nodes.
//!
//! A call sees a [`Situation`] and gives a [`Verdict`] for each entry of the queue (S25). When calls are made, and in which
//! order jobs wait, is not decided here.
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
