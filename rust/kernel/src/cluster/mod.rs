//! The machine: nodes, what is free on them, and the indices that find room.
pub mod beside;
pub mod capacity_index;
pub mod machine;
pub mod node_set;
pub mod power;
pub mod request;
pub mod room;

pub use beside::Beside;
pub use machine::{EmptyMachine, Machine};
pub use node_set::{NodeSet, NodeSetId, NodeSets};
pub use power::Meter;
pub use request::{Request, Requests};
pub use room::Room;

#[cfg(test)]
mod tests;
