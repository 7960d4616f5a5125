//! The meaning of the names in a formula for a job.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A job argument: a number, or a text for comparisons.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// The values for the evaluation of a formula: a job, and its current nodes.
///
/// A name is looked up among the job's properties, then its runtime arguments, then its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// The arguments of the submission.
    pub arguments: &'a BTreeMap<String, Value>,
    /// The arguments that the scheduler has set since.
    pub runtime_arguments: &'a BTreeMap<String, Value>,
    /// `num_nodes`: the nodes of the job, as many as its ranks.
    pub nodes: u32,
    /// `num_gpus_per_node`; times the nodes, `num_gpus`.
    pub gpus_per_node: u32,
    /// `phase_iteration`: number of completed iterations of the phase.
    pub phase_iteration: u64,
    /// `num_nodes_min`: the least number of nodes of the job.
    pub nodes_min: u32,
    /// `num_nodes_max`: the greatest number of nodes of the job.
    pub nodes_max: u32,
}
