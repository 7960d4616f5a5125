//! The machine: nodes, what is free on them, and the indices that find room.
pub mod beside;
pub mod machine;
pub mod power;
pub mod request;
pub mod room;

pub use beside::Beside;
pub use machine::{EmptyMachine, Machine};
pub use power::Meter;
pub use request::{Request, Requests};
pub use room::Room;
