//! Usage of the accounts, the jobs being charged, and the factors of the latest calculation.
//!
//! A start or end costs O(depth of the tree), a calculation O(accounts and users), times their logarithm if the rule
//! sorts them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounting::{Accounts, Charge, NodeUsage, Usage};

/// The usage of all accounts and users.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AccountUsage {
    usage: Usage,
    /// Jobs being charged, by slot.
    charges: BTreeMap<u32, Charge>,
    /// Fair-share factor of each node from the latest calculation.
    factors: Vec<f64>,
}

impl AccountUsage {
    /// Create the usage without running charges; `usage` may contain past use.
    #[must_use]
    pub fn new(usage: Usage, accounts: &Accounts) -> Self {
        Self { usage, charges: BTreeMap::new(), factors: vec![0.0; accounts.tree.nodes().len()] }
    }

    /// Charges a job that holds these amounts from now on.
    pub fn start(&mut self, accounts: &Accounts, job: u32, amounts: &[i64], now: f64) {
        let Some(node) = accounts.node(job) else { return };
        let rate = accounts.rate(job, amounts);
        if rate > 0.0 {
            let charge = Charge { node, rate, start: now };
            self.usage.start(&accounts.tree, charge);
            self.charges.insert(job, charge);
        }
    }

    /// Stops charging a job.
    pub fn end(&mut self, accounts: &Accounts, job: u32, now: f64) {
        if let Some(charge) = self.charges.remove(&job) {
            self.usage.end(&accounts.tree, charge, now);
        }
    }

    /// End the calculation periods that are due: the first, then `more`, the last of them at `last`.
    pub fn end_periods(&mut self, accounts: &Accounts, first: f64, more: f64, last: f64) {
        self.usage.pass(&accounts.tree, first);
        if more > 0.0 {
            self.usage.repeat(more, last);
        }
    }

    /// Compute the factors from usage and shares. Return the usage of each node.
    pub fn calculate(&mut self, accounts: &Accounts, now: f64) -> Vec<f64> {
        let usage = self.usage.all(now);
        self.factors = accounts.rule.standing(&accounts.tree, &usage).factor;
        usage
    }

    /// Set the usage of a node, its time and its rate (NaN: the sum over running jobs), and its factor unless it is NaN.
    pub fn set(&mut self, node: u32, value: f64, (time, rate): (f64, f64), factor: f64) {
        self.usage.set(node as usize, value, time, rate);
        if !factor.is_nan() {
            self.factors[node as usize] = factor;
        }
    }

    /// Return the usage of each node with its time and rate, and its factor.
    #[must_use]
    pub fn described(&self) -> Vec<(NodeUsage, f64)> {
        self.usage.described().into_iter().zip(self.factors.iter().copied()).collect()
    }

    /// Return the fair-share factor of each node; NaN for accounts if the rule ranks users.
    #[must_use]
    pub fn factors(&self) -> &[f64] {
        &self.factors
    }

    /// Return the factor of a job's user in its account; 0 if the job is charged to no account.
    #[must_use]
    pub fn fair_share(&self, accounts: &Accounts, job: u32) -> f64 {
        match accounts.node(job) {
            Some(node) if accounts.tree.is_user(node as usize) => self.factors[node as usize],
            _ => 0.0,
        }
    }
}
