//! Usage as computed by Slurm: decayed at passes, by 1 − 0.693 / half-life for each second since the last pass.
//!
//! Between passes, usage grows only when jobs end. Jobs that ran through a whole period are charged equally, so each
//! node stores the sum of their rates: a pass costs O(nodes + jobs started since the last pass × depth), independent of
//! the number of running jobs; a start O(log jobs started), an end O(log jobs started + depth).
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::billing::Charge;
use super::node_usage::NodeUsage;
use super::tree::AccountTree;

/// Slurm's ln 2.
const LN_2: f64 = 0.693;

/// Usage per node, the rates of jobs that started before the last pass, and the jobs that started after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeriodicUsage {
    /// Fraction of the usage that remains after one second.
    per_second: f64,
    values: Vec<f64>,
    rates: Vec<f64>,
    running: Vec<u32>,
    /// Number of jobs with the same charge that started since the last pass; such jobs are interchangeable. Times and
    /// rates are not negative, so their bits are in their order.
    young: BTreeMap<(u64, u32, u64), u32>,
    last: f64,
}

impl PeriodicUsage {
    /// Creates zero usage; the first pass counts from time `last` on. An infinite half-life means no decay.
    #[must_use]
    pub fn new(tree: &AccountTree, half_life: f64, last: f64) -> Self {
        let nodes = tree.nodes().len();
        Self {
            per_second: (1.0 - LN_2 / half_life).max(0.0),
            values: vec![0.0; nodes],
            rates: vec![0.0; nodes],
            running: vec![0; nodes],
            young: BTreeMap::new(),
            last,
        }
    }

    /// The usage of each node as of the last pass or end of a job.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Sets the usage of a node, and the rate of its jobs that started before the last pass unless it is NaN.
    pub fn set(&mut self, node: usize, value: f64, rate: f64) {
        self.values[node] = value;
        if !rate.is_nan() {
            self.rates[node] = rate;
        }
    }

    /// The usage of each node.
    #[must_use]
    pub fn described(&self) -> Vec<NodeUsage> {
        let described = |(&value, &rate)| NodeUsage { value, time: self.last, rate };
        self.values.iter().zip(&self.rates).map(described).collect()
    }

    /// Adds a job; it is charged at the next pass, or at its end.
    pub fn start(&mut self, charge: Charge) {
        *self.young.entry(key(charge)).or_default() += 1;
    }

    /// Charges the seconds since the last pass, decayed as if all were as old as the first of them.
    pub fn end(&mut self, tree: &AccountTree, charge: Charge, now: f64) {
        let piece = self.piece(charge.rate, now - charge.start.max(self.last));
        let young = self.young.get_mut(&key(charge)).map(|count| {
            *count -= 1;
            *count
        });
        match young {
            Some(0) => drop(self.young.remove(&key(charge))),
            Some(_) => {}
            None => self.forget(tree, charge),
        }
        self.add(tree, charge.node, piece);
    }

    /// Adds an amount to a node and all of its ancestors.
    pub fn add(&mut self, tree: &AccountTree, node: u32, amount: f64) {
        for at in tree.path(node as usize) {
            self.values[at] += amount;
        }
    }

    /// Decays the usage, then charges the running jobs for the time since the last pass.
    pub fn pass(&mut self, tree: &AccountTree, now: f64) {
        let span = now - self.last;
        let left = libm::pow(self.per_second, span);
        for (value, rate) in self.values.iter_mut().zip(&self.rates) {
            *value = *value * left + span * left * rate;
        }
        for ((start, node, rate), count) in std::mem::take(&mut self.young) {
            let (start, rate) = (f64::from_bits(start), f64::from_bits(rate));
            let piece = self.piece(rate, now - start.max(self.last));
            for at in tree.path(node as usize) {
                self.values[at] += piece * f64::from(count);
                self.rates[at] += rate * f64::from(count);
                self.running[at] += count;
            }
        }
        self.last = now;
    }

    /// Performs `times` passes with equal periods until `until`, without a start or end of a job in between. O(nodes),
    /// independent of `times`.
    pub fn repeat(&mut self, times: f64, until: f64) {
        let span = (until - self.last) / times;
        let left = libm::pow(self.per_second, span);
        let all = libm::pow(left, times);
        let pieces = if left < 1.0 { (1.0 - all) / (1.0 - left) } else { times };
        for (value, rate) in self.values.iter_mut().zip(&self.rates) {
            *value = *value * all + span * left * rate * pieces;
        }
        self.last = until;
    }

    fn piece(&self, rate: f64, seconds: f64) -> f64 {
        seconds * libm::pow(self.per_second, seconds) * rate
    }

    fn forget(&mut self, tree: &AccountTree, charge: Charge) {
        for at in tree.path(charge.node as usize) {
            self.running[at] = self.running[at].saturating_sub(1);
            // The sum of rates has a rounding error after jobs end; without a running job nothing is charged.
            self.rates[at] = if self.running[at] == 0 { 0.0 } else { self.rates[at] - charge.rate };
        }
    }
}

fn key(charge: Charge) -> (u64, u32, u64) {
    // Convert -0.0 to 0.0.
    ((charge.start + 0.0).to_bits(), charge.node, (charge.rate + 0.0).to_bits())
}
