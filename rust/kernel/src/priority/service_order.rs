//! The order in which a service discipline (S20) serves the jobs, both waiting and running.
use serde::{Deserialize, Serialize};

use super::Candidate;

/// The order of jobs, smallest key first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ServiceOrder {
    /// First come, first served.
    FirstCome,
    /// Last come, first served.
    LastCome,
    /// Most remaining work first.
    LongestWork,
    /// Least remaining work first.
    ShortestWork,
    /// Least remaining work times servers first.
    SmallestSize,
    /// Most servers first.
    MostServers,
    /// Least servers first.
    LeastServers,
}

impl ServiceOrder {
    /// The key of a job.
    #[must_use]
    pub fn key(self, candidate: &Candidate<'_>) -> f64 {
        let servers = || candidate.scenario.servers(candidate.job) as f64;
        match self {
            Self::FirstCome => 0.0,
            Self::LastCome => -candidate.submit_time(),
            Self::LongestWork => -candidate.work,
            Self::ShortestWork => candidate.work,
            Self::SmallestSize => candidate.work * servers(),
            Self::MostServers => -servers(),
            Self::LeastServers => servers(),
        }
    }
}
