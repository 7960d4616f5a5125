//! A program of rounds, its plan for the hosts of a job, and the progress of the job.
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::application::RoundProgram;

/// A program of rounds, and the progress of the job in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rounds {
    pub program: Arc<RoundProgram>,
    pub plan: Option<Plan>,
    /// The rank that arrived last, which starts the rounds.
    pub driver: Option<u32>,
    /// The index of the next group, and the begin of the current one.
    pub next: u32,
    pub begun: f64,
    /// The indices of the totals of each message class; empty before the first message is counted.
    pub counted: Vec<u32>,
}

/// The plan of the rounds for the hosts of the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The groups in order, and seconds that pass after the last.
    pub groups: Vec<RoundGroup>,
    pub rest: f64,
    /// The demand of each shape, if it is stored.
    pub kept: Vec<Option<u32>>,
}

/// Rounds that are executed as one activity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundGroup {
    pub rounds: Range<u32>,
    /// Latency of the activity, seconds.
    pub delay: f64,
    /// Its demand, if it is stored.
    pub kept: Option<u32>,
}

impl Rounds {
    /// Creates the state before the first round.
    pub fn new(program: Arc<RoundProgram>) -> Self {
        Self { program, plan: None, driver: None, next: 0, begun: 0.0, counted: Vec::new() }
    }
}
