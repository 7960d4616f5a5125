//! Sharing: activities that use resources at the same time, the rates at which they progress, and when they end.
//!
//! An activity has an amount of work, and uses a fixed amount of each of its resources per unit of work. A change leads
//! to a new solution only for the component that it touches: the activities that share resources with it, directly or
//! through others. Remaining work is updated when the rate changes; predicted ends wait in a heap.
// Rates, levels and times are compared for bitwise equality on purpose (S1).
#![allow(clippy::float_cmp)]

mod activities;
mod blocks;
mod bottleneck;
mod builder;
mod bundle;
mod component;
mod demand;
mod fair_bottleneck;
mod filling;
mod holds;
mod linear;
mod load_record;
mod loads;
mod network;
mod refilling;
mod resources;
mod rising;
mod run;
mod slots;
mod solver;
mod touched;

#[cfg(test)]
mod tests;

pub use builder::{DemandBuilder, TaskBuilder};
pub use bundle::{BundleBuilder, BundleSum};
pub use demand::{Demand, Resource, Rule};
pub use loads::LoadTotals;
pub use network::{MODELS, Model, Network};
pub use resources::{cores, resources};
pub use run::completion_times;
pub use slots::Activities;
