//! The usage of a node of the tree as it is handed over.

/// The usage of a node as of a time, seconds, and what is charged to it per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeUsage {
    /// The usage.
    pub value: f64,
    /// The time of the value; with Slurm's decay that of the latest calculation.
    pub time: f64,
    /// What its running jobs are charged per second; with Slurm's decay, those that ran at the latest calculation.
    pub rate: f64,
}
