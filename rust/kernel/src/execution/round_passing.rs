//! A program of rounds, what was found out for the hosts of a job, and how far the job is.
use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::application::RoundProgram;

/// A program of rounds, and how far the job is in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rounds {
    pub program: Arc<RoundProgram>,
    pub plan: Option<Plan>,
    /// The rank that came last, and has the rounds begin.
    pub driver: Option<u32>,
    /// The group that is next, and when the one under way began.
    pub next: u32,
    pub begun: f64,
    /// Where the messages of each class are counted; empty before the first one is.
    pub counted: Vec<u32>,
}

/// What was found out for the hosts of the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// What is done one after the other, and seconds that pass at the end.
    pub groups: Vec<RoundGroup>,
    pub rest: f64,
    /// The demand of each shape, where it is kept.
    pub kept: Vec<Option<u32>>,
}

/// Rounds that are one activity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RoundGroup {
    pub rounds: Range<u32>,
    /// How long it waits, in seconds.
    pub delay: f64,
    /// Its demand, where it is kept.
    pub kept: Option<u32>,
}

impl Rounds {
    /// Rounds of which none has begun.
    pub fn new(program: Arc<RoundProgram>) -> Self {
        Self { program, plan: None, driver: None, next: 0, begun: 0.0, counted: Vec::new() }
    }
}
