//! The charge of a job per second.
use serde::{Deserialize, Serialize};

/// The rule that converts the resources of a job to its charge per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Billing {
    /// The weight of a unit of each resource, in the order of the system's resources.
    pub weights: Vec<f64>,
    /// True if only the most expensive resource counts, and not the sum (Slurm's `MAX_TRES`).
    pub dearest: bool,
}

impl Billing {
    /// The charge for each second that a job holds these amounts.
    #[must_use]
    pub fn rate(&self, amounts: &[f64]) -> f64 {
        let weighted = amounts.iter().zip(&self.weights).map(|(amount, weight)| amount * weight);
        if self.dearest { weighted.fold(0.0, f64::max) } else { weighted.sum() }
    }
}

/// The charge of a running job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The node of the user in the account.
    pub node: u32,
    /// Billing times the usage factor of the quality of service, per second.
    pub rate: f64,
    /// Start of the job, seconds.
    pub start: f64,
}
