//! The accounts of a system, and the charges of its jobs. Immutable, and shared by all forks.
use serde::{Deserialize, Serialize};

use super::billing::Billing;
use super::fair_share::FairShareRule;
use super::tree::AccountTree;

/// Marks a job without an account.
const NOTHING: u32 = u32::MAX;

/// The accounts of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accounts {
    /// Accounts and users with their shares.
    pub tree: AccountTree,
    /// The rule that compares usage with shares.
    pub rule: FairShareRule,
    /// The rule that charges resources.
    pub billing: Billing,
    /// By slot: the node that a job is charged to; `u32::MAX` if none.
    pub node: Vec<u32>,
    /// By slot: the factor of the job's charges; empty if all are 1.
    pub usage_factor: Vec<f64>,
}

impl Accounts {
    /// The node that a job is charged to.
    #[must_use]
    pub fn node(&self, slot: u32) -> Option<u32> {
        self.node.get(slot as usize).copied().filter(|&node| node != NOTHING)
    }

    /// The charge per second of a job that holds these amounts; 0 if it is charged to no node.
    #[must_use]
    pub fn rate(&self, slot: u32, amounts: &[i64]) -> f64 {
        let factor = self.usage_factor.get(slot as usize).copied().unwrap_or(1.0);
        let amounts: Vec<f64> = amounts.iter().map(|&amount| amount as f64).collect();
        self.billing.rate(&amounts) * factor
    }
}
