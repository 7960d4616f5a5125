//! What a controller knows that does not change between calls.
//!
//! Amounts of nodes and members of partitions are copies of constants of the run, in the form in which each step of a
//! selection reads them: CPUs and memory side by side, and sets of nodes as bits.
use serde::{Deserialize, Serialize};

use super::controller_input::{Allotment, Amounts, Entry, Partition};
use super::free_amounts::FreeAmounts;
use super::generic::{GenericAmounts, GenericRequest};
use super::parameters::SlurmParameters;
use super::selection_input::SelectionInput;
use crate::index::NodeBits;

/// Rules of preemption between classes of jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Precedence {
    /// For each class, the classes that it may preempt.
    pub preempts: Vec<Vec<u32>>,
    /// For each class, its importance: jobs of the least important class are the first candidates.
    pub importance: Vec<f64>,
    /// Order within a class: the latest start first if true, otherwise the fewest nodes.
    pub youngest_first: bool,
    /// Seconds that a job runs after it was chosen (`GraceTime`).
    pub grace_time: f64,
}

/// Inputs that are constant between calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Parameters of the controller.
    pub parameters: SlurmParameters,
    /// Amounts of each idle node.
    pub machine: Vec<Amounts>,
    /// Generic resources of each idle node; empty if jobs use whole nodes.
    pub generic: GenericAmounts,
    /// Index of the generic resource that counts GPUs.
    pub gpu: Option<usize>,
    /// The partitions.
    pub partitions: Vec<Partition>,
    /// Configured node weights: nodes of the least weight are used first.
    pub weights: Vec<u32>,
    /// True if limits may count nodes, so that current weights can differ from the configured ones.
    pub weighs: bool,
    /// Rules of preemption; empty if no job may preempt another.
    pub precedence: Precedence,
}

impl Setup {
    /// Return the number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.machine.len()
    }

    /// Return whether a job fits on the suitable nodes of its partition if all of them are idle. O(nodes).
    #[must_use]
    pub fn fits_idle(&self, entry: &Entry) -> bool {
        let usable = self.suitable_nodes(entry);
        let idle = FreeAmounts::of(&self.machine, &self.generic);
        self.parameters
            .select
            .choose(entry, self.selection_input(entry, &usable, &self.weights, &idle))
            .is_some()
    }

    /// Return the nodes of the partition that satisfy a job's request when they are idle.
    #[must_use]
    pub fn suitable_nodes(&self, entry: &Entry) -> NodeBits {
        let mut nodes = self.partitions[entry.partition].nodes.clone();
        entry.keep_suitable(&mut nodes);
        nodes
    }

    /// Return the input of a selection for a job on these nodes.
    pub(super) fn selection_input<'a>(
        &'a self,
        entry: &Entry,
        usable: &'a NodeBits,
        weights: &'a [u32],
        free: &'a FreeAmounts,
    ) -> SelectionInput<'a> {
        let most_nodes = self.partitions[entry.partition].most_nodes;
        SelectionInput {
            usable,
            machine: &self.machine,
            free,
            gpu: self.gpu,
            weights,
            core_fill_order: self.parameters.core_fill_order(),
            idle_now: None,
            most_nodes,
        }
    }

    /// Return the generic resources that a job takes with these allotments, node-major.
    #[must_use]
    pub fn generic_of(&self, entry: &Entry, chosen: &[Allotment]) -> Vec<i64> {
        let per_task = i64::from(entry.cpus_per_task);
        let tasks = chosen.iter().map(|each| (each.node, each.cpus / per_task));
        self.generic_taken(&entry.generic, entry.exclusive, tasks)
    }

    /// Return the generic resources that a job takes with these tasks on each node, node-major; empty if it takes none.
    pub fn generic_taken(
        &self,
        request: &GenericRequest,
        exclusive: bool,
        tasks: impl ExactSizeIterator<Item = (u32, i64)>,
    ) -> Vec<i64> {
        let kinds = self.generic.kinds();
        if kinds == 0 || (request.is_nothing() && !exclusive) {
            return Vec::new();
        }
        let mut taken = Vec::with_capacity(tasks.len() * kinds);
        for (node, tasks) in tasks {
            if exclusive {
                taken.extend_from_slice(self.generic.of(node));
            } else {
                taken.extend(request.with(tasks));
            }
        }
        taken
    }
}
