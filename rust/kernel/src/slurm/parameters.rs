//! Parameters of the controller.
use serde::{Deserialize, Serialize};

use super::controller_input::{Allotment, Amounts, Entry, Partition};
use super::depths::Depths;
use super::free_amounts::FreeAmounts;
use super::generic::GenericAmounts;
use super::node_bits::NodeBits;
use super::reserves::Reserves;
use super::select::Select;
use super::selection_input::{CoreFillOrder, SelectionInput};

/// Parameters of the main loop; 0 for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MainLoopParameters {
    /// `partition_job_depth`: maximum number of entries examined in each partition.
    pub entries_of_partition: usize,
    /// `sched_max_job_start`: maximum number of jobs started.
    pub starts: usize,
}

/// Parameters of backfill.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillParameters {
    /// `bf_resolution`, seconds.
    pub resolution: f64,
    /// Planning horizon, seconds.
    pub window: f64,
    /// Offset from simulation time to clock seconds, on which plans are rounded.
    pub epoch: f64,
    /// `bf_max_job_test`: maximum number of entries examined.
    pub max_entries: usize,
    /// Maximum numbers of entries for each partition, user and association.
    pub depths: Depths,
    /// `bf_max_job_start`: maximum number of jobs started; 0 for all.
    pub max_starts: usize,
    /// `KillWait`: seconds for which a job that exceeds its limit is assumed to continue.
    pub kill_wait: f64,
    /// `bf_busy_nodes`: whether later starts are planned on nodes in use before idle ones.
    pub busy_first: bool,
    /// Conditions for planning an entry; other entries may only start now.
    pub reserves: Reserves,
}

impl BackfillParameters {
    /// Round a time down to a multiple of the resolution in clock time.
    pub(super) fn rounded_down(&self, time: f64) -> f64 {
        ((time + self.epoch) / self.resolution).floor() * self.resolution - self.epoch
    }

    /// Round a time up to a multiple of the resolution in clock time.
    pub(super) fn rounded_up(&self, time: f64) -> f64 {
        ((time + self.epoch) / self.resolution).ceil() * self.resolution - self.epoch
    }
}

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
    /// Node selection plugin.
    pub select: Select,
    /// Order in which shared nodes are used.
    pub core_fill_order: CoreFillOrder,
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
    /// Parameters of the main loop.
    pub main_loop: MainLoopParameters,
    /// Parameters of backfill.
    pub backfill: BackfillParameters,
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
        self.select.choose(entry, self.selection_input(entry, &usable, &self.weights, &idle)).is_some()
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
            core_fill_order: self.core_fill_order,
            idle_now: None,
            most_nodes,
        }
    }

    /// Return the generic resources that a job takes with these allotments, node-major.
    #[must_use]
    pub fn generic_of(&self, entry: &Entry, chosen: &[Allotment]) -> Vec<i64> {
        let kinds = self.generic.kinds();
        if kinds == 0 || (entry.generic.is_nothing() && !entry.exclusive) {
            return Vec::new();
        }
        let mut taken = Vec::with_capacity(chosen.len() * kinds);
        for each in chosen {
            if entry.exclusive {
                taken.extend_from_slice(self.generic.of(each.node));
            } else {
                taken.extend(entry.generic.with(each.cpus / i64::from(entry.cpus_per_task)));
            }
        }
        taken
    }
}
