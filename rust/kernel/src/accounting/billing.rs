//! What a second of a job costs.
use serde::{Deserialize, Serialize};

/// How the resources of a job add up to what it is charged per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Billing {
    /// What a unit of each resource counts, in the order of the system's resources.
    pub weights: Vec<f64>,
    /// Whether the dearest resource alone counts, and not the sum (Slurm's `MAX_TRES`).
    pub dearest: bool,
}

impl Billing {
    /// What is charged for each second that a job holds these amounts.
    #[must_use]
    pub fn rate(&self, amounts: &[f64]) -> f64 {
        let weighted = amounts.iter().zip(&self.weights).map(|(amount, weight)| amount * weight);
        if self.dearest { weighted.fold(0.0, f64::max) } else { weighted.sum() }
    }
}

/// What a running job is charged, and to which user.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Charge {
    /// The node of the user in the account.
    pub node: u32,
    /// Billing times the usage factor of the quality of service, per second.
    pub rate: f64,
    /// When the job started, seconds.
    pub start: f64,
}
