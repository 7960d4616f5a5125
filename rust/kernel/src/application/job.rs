//! The types of jobs by changes of size, and the applications of jobs.
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

/// Who determines the number of nodes of a job, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobType {
    /// The user, at submission.
    #[default]
    Rigid,
    /// The scheduler, when it starts the job.
    Moldable,
    /// The scheduler, at every scheduling point.
    Malleable,
    /// The application, at its requests.
    Evolving,
    /// The scheduler at scheduling points, and the application at its requests.
    Adaptive,
}

/// The properties of a job in addition to its row of numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ApplicationJob {
    /// Who determines its size.
    pub job_type: JobType,
    /// The least number of tasks, and hence nodes.
    pub tasks_min: u32,
    /// The greatest number of tasks.
    pub tasks_max: u32,
    /// Its application; None if its run time is given.
    pub application: Option<Arc<Application>>,
    /// The arguments that its formulas may use.
    pub arguments: Arc<BTreeMap<String, Value>>,
    /// The order in which its ranks occupy the places on its nodes.
    pub rank_order: RankOrder,
    /// The messages between its ranks, if rank order or allocator use them.
    pub messages: Option<Arc<MessageMatrix>>,
}

impl ApplicationJob {
    /// The total messages between its ranks, with its greatest number of tasks; None if it sends none.
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

    /// The node of each rank with this placement; `fabric` is used to map ranks.
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
    /// All types with their names.
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

    /// Returns whether the scheduler may change the job's nodes at scheduling points.
    #[must_use]
    pub fn is_malleable(self) -> bool {
        matches!(self, Self::Malleable | Self::Adaptive)
    }

    /// Returns whether the application may request other numbers of nodes.
    #[must_use]
    pub fn is_evolving(self) -> bool {
        matches!(self, Self::Evolving | Self::Adaptive)
    }
}
