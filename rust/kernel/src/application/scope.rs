//! What the names in a formula mean for a job.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A job argument: a number, or a text to be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// What a formula is evaluated for: a job, and the nodes that it has now.
///
/// A name means what the job's situation gives it, else its runtime argument, else its argument.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// What the job was submitted with.
    pub arguments: &'a BTreeMap<String, Value>,
    /// What the scheduler has set since.
    pub runtime_arguments: &'a BTreeMap<String, Value>,
    /// `num_nodes`: the nodes of the job, as many as its ranks.
    pub nodes: u32,
    /// `num_gpus_per_node`; times the nodes, `num_gpus`.
    pub gpus_per_node: u32,
    /// `phase_iteration`: how many iterations of the phase are done.
    pub phase_iteration: u64,
    /// `num_nodes_min`: the fewest nodes that the job may have.
    pub nodes_min: u32,
    /// `num_nodes_max`: the most.
    pub nodes_max: u32,
}
