//! Parallel tasks that a program stores for all its iterations, in flat arrays.
use serde::{Deserialize, Serialize};

use crate::sharing::Demand;

/// The demands, each identified by its index.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Demands {
    uses: Vec<(u32, f64)>,
    kept: Vec<Kept>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Kept {
    first: u32,
    after: u32,
    amount: f64,
    bound: f64,
    latency: f64,
    penalty: f64,
    by_rate: bool,
}

impl Demands {
    /// Number of demands.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.kept.len() as u32
    }

    /// Total number of uses of the demands.
    #[must_use]
    pub fn uses(&self) -> usize {
        self.uses.len()
    }

    /// Stores a demand; returns its index.
    pub fn keep(&mut self, demand: &Demand) -> u32 {
        let &Demand { amount, uses, bound, latency, penalty, by_rate } = demand;
        let first = self.uses.len() as u32;
        self.uses.extend_from_slice(uses);
        self.kept.push(Kept {
            first,
            after: self.uses.len() as u32,
            amount,
            bound,
            latency,
            penalty,
            by_rate,
        });
        self.kept.len() as u32 - 1
    }

    /// The demand at an index; None if it has no work.
    #[must_use]
    pub fn get(&self, place: u32) -> Option<Demand<'_>> {
        let Kept { first, after, amount, bound, latency, penalty, by_rate } = self.kept[place as usize];
        let uses = &self.uses[first as usize..after as usize];
        (amount > 0.0).then_some(Demand { amount, uses, bound, latency, penalty, by_rate })
    }
}
