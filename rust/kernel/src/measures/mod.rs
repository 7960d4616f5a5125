//! The aggregate measures of a run, computed while it runs; the definitions are those of `batchlab.metrics`.
mod aggregates;
mod beside;
mod measured;
mod over_time;
mod quantile;
mod summary;
mod tally;
mod total;
mod values;

pub use beside::{Both, Schedule, Times};
pub use summary::{Described, Interrupted, Summary};
pub use tally::{RunTally, Tally, is_there};
pub use total::Total;
pub use values::describe;
