//! Decisions of Slurm's controller: which waiting jobs a call of its main loop or of its backfill starts, and on which
//! nodes.
//!
//! A call receives a [`CallState`] and returns an [`EntryOutcome`] for each queue entry (S25). The times of calls and the
//! order of jobs are not decided here.
mod backfill;
mod controller_input;
mod cores;
mod depths;
mod estimate;
mod finding;
mod free_amounts;
mod free_window;
mod generic;
mod linear;
mod main_loop;
mod node_space;
mod occupation;
mod parameters;
mod reserves;
mod select;
mod selection_input;
mod setup;
mod sparse_nodes;
mod starting;
mod victims;
mod weights;

pub use backfill::{Backfill, backfill};
pub use controller_input::{
    Allotment, Amounts, Classes, Entry, EntryOutcome, Held, Limits, Memory, Owner, Partition, Reservation,
};
pub use finding::{Finding, Stop};
pub use generic::{GenericAmounts, GenericRequest};
pub use main_loop::{MainLoop, main_loop};
pub use occupation::Occupation;
pub(crate) use parameters::LIMIT_PERIOD;
pub use parameters::SlurmParameters;
pub use select::Select;
pub use setup::{Precedence, Setup};
pub use starting::CallState;
pub use weights::evaluate;
