//! How busy nodes are, and in which order that puts them.
use serde::{Deserialize, Serialize};

/// What says how busy a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ranking {
    /// The sum over the resources of the share in use.
    #[default]
    Load,
    /// The sum over the resources of what is free: the less, the busier.
    Free,
}

impl Ranking {
    /// All of them by name.
    pub const NAMES: [(&str, Self); 2] = [("load", Self::Load), ("free", Self::Free)];

    /// How busy a node is: greater is busier.
    #[must_use]
    pub fn of(self, capacity: &[i64], free: &[i64]) -> f64 {
        match self {
            Self::Load => load(capacity, free),
            // Nothing free is 0, not −0.
            Self::Free => 0.0 - free.iter().sum::<i64>() as f64,
        }
    }
}

/// The load of a node: the sum over its resources of the share in use, in the system's order.
fn load(capacity: &[i64], free: &[i64]) -> f64 {
    let mut load = 0.0;
    for (&capacity, &free) in capacity.iter().zip(free) {
        if capacity > 0 {
            load += (capacity - free) as f64 / capacity as f64;
        }
    }
    load
}

/// An order of the nodes by how busy they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// What says how busy they are.
    pub by: Ranking,
    /// Whether the busiest come first, else the least busy.
    pub busiest_first: bool,
}
