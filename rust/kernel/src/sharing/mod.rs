//! Sharing: activities that use resources at the same time, the rates at which they progress, and when they end.
//!
//! An activity has an amount of work, and takes so much of each of its resources per unit of it. Only what a change
//! touches is solved again: the component of activities that share resources with it, directly or through others.
//! Work left is brought up to date when the rate changes; predicted ends wait in a heap.
// Equal to the bit is what is meant wherever rates, levels and times are compared (S1).
#![allow(clippy::float_cmp)]

mod activities;
mod blocks;
mod bottleneck;
mod builder;
mod component;
mod demand;
mod fair_bottleneck;
mod filling;
mod holds;
mod linear;
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
pub use demand::{Demand, Resource, Rule};
pub use network::{MODELS, Model, Network};
pub use resources::{cores, resources};
pub use run::completion_times;
pub use slots::Activities;
