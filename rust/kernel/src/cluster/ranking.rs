//! Measures of the load of nodes, and orders by load.
use serde::{Deserialize, Serialize};

/// The measure of a node's load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ranking {
    /// The sum over the resources of the share in use.
    #[default]
    Load,
    /// Minus the sum over the resources of the free amounts: the less is free, the busier.
    Free,
}

impl Ranking {
    /// All measures by name.
    pub const NAMES: [(&str, Self); 2] = [("load", Self::Load), ("free", Self::Free)];

    /// The load of a node: greater is busier.
    #[must_use]
    pub fn of(self, capacity: &[i64], free: &[i64]) -> f64 {
        match self {
            Self::Load => load(capacity, free),
            // Return 0, not −0, if nothing is free.
            Self::Free => 0.0 - free.iter().sum::<i64>() as f64,
        }
    }
}

/// The sum over the resources of a node of the share in use, in the system's order.
fn load(capacity: &[i64], free: &[i64]) -> f64 {
    let mut load = 0.0;
    for (&capacity, &free) in capacity.iter().zip(free) {
        if capacity > 0 {
            load += (capacity - free) as f64 / capacity as f64;
        }
    }
    load
}

/// An order of the nodes by load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The measure of load.
    pub by: Ranking,
    /// True if the busiest nodes come first, false if the least busy do.
    pub busiest_first: bool,
}
