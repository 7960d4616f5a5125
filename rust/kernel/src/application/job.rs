//! How a job may change its size, and what it runs.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::message_matrix::MessageMatrix;
use super::model::Application;
use super::rank_map::mapped;
use super::rank_order::RankOrder;
use super::scope::{Scope, Value};
use crate::cluster::{HopBytes, NodeTasks};
use crate::platform::Fabric;

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
    /// What its ranks send to each other, where ranks or allocators go by that.
    pub messages: Option<Arc<MessageMatrix>>,
}

impl ApplicationJob {
    /// What its ranks send to each other in all, where it has its most tasks; None where they send nothing.
    #[must_use]
    pub fn message_matrix(&self) -> Option<MessageMatrix> {
        let runtime_arguments = BTreeMap::new();
        let scope = Scope {
            arguments: &self.arguments,
            runtime_arguments: &runtime_arguments,
            nodes: self.tasks_max,
            gpus_per_node: 0,
            phase_iteration: 0,
            nodes_min: self.tasks_max,
            nodes_max: self.tasks_max,
        };
        MessageMatrix::of_application(self.application.as_ref()?, scope)
    }

    /// The node of each rank with this placement; `fabric` is for ranks that are mapped.
    #[must_use]
    pub fn nodes_of_ranks(&self, placement: &[NodeTasks], fabric: Option<&Fabric>) -> Vec<u32> {
        let nodes = self.rank_order.nodes(placement);
        match (&self.rank_order, &self.messages, fabric) {
            (RankOrder::Mapped, Some(messages), Some(fabric)) if messages.ranks() as usize == nodes.len() => {
                mapped(messages, &nodes, |one, other| fabric.hops(one, other))
            }
            _ => nodes,
        }
    }
}

impl HopBytes for ApplicationJob {
    fn hop_bytes(&self, placement: &[NodeTasks], hops: &dyn Fn(u32, u32) -> u32, most: f64) -> Option<f64> {
        let nodes = self.rank_order.nodes(placement);
        let messages = self.messages.as_ref().filter(|messages| messages.ranks() as usize == nodes.len());
        messages.map(|messages| messages.hop_bytes(&nodes, hops, most))
    }
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
