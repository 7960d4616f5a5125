//! How a job may change its size, and what it runs.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::model::Application;
use super::rank_order::RankOrder;
use super::scope::Value;

/// What decides how many nodes a job has, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobType {
    /// The user, for good.
    #[default]
    Rigid,
    /// The scheduler, when it starts the job.
    Moldable,
    /// The scheduler, at every scheduling point.
    Malleable,
    /// The application, whenever it asks.
    Evolving,
    /// The scheduler at scheduling points, and the application when it asks.
    Adaptive,
}

/// What a job is besides its row of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationJob {
    /// What decides on its size.
    pub job_type: JobType,
    /// The fewest tasks, hence nodes, that it may have.
    pub tasks_min: u32,
    /// The most.
    pub tasks_max: u32,
    /// What it runs; None if its run time is given.
    pub application: Option<Arc<Application>>,
    /// What its formulas may name.
    pub arguments: Arc<BTreeMap<String, Value>>,
    /// How its ranks take the places on its nodes.
    pub rank_order: RankOrder,
}

impl JobType {
    /// All of them, by their names.
    pub const NAMES: [(&str, Self); 5] = [
        ("rigid", Self::Rigid),
        ("moldable", Self::Moldable),
        ("malleable", Self::Malleable),
        ("evolving", Self::Evolving),
        ("adaptive", Self::Adaptive),
    ];

    /// The type with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|(known, job_type)| (known == name).then_some(job_type))
    }

    /// Whether the scheduler may change the job's nodes at scheduling points.
    #[must_use]
    pub fn is_malleable(self) -> bool {
        matches!(self, Self::Malleable | Self::Adaptive)
    }

    /// Whether the application may ask for other numbers of nodes.
    #[must_use]
    pub fn is_evolving(self) -> bool {
        matches!(self, Self::Evolving | Self::Adaptive)
    }
}
