//! How the controller is set up.
use serde::{Deserialize, Serialize};

use super::depths::Depths;
use super::free_amounts::FreeAmounts;
use super::generic::GenericAmounts;
use super::node_bits::NodeBits;
use super::offer::{Filling, Offer};
use super::reserves::Reserves;
use super::select::Select;
use super::situation::{Allotment, Amounts, Entry, Partition};

/// How the main loop is set up; 0 for no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MainLoopParameters {
    /// `partition_job_depth`: so many entries of each partition are looked at.
    pub entries_of_partition: usize,
    /// `sched_max_job_start`: so many jobs are started.
    pub starts: usize,
}

/// How backfill is set up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BackfillParameters {
    /// `bf_resolution`, seconds.
    pub resolution: f64,
    /// How far jobs are planned, seconds.
    pub window: f64,
    /// What is added to times to get seconds of the clock, on which plans are rounded.
    pub epoch: f64,
    /// `bf_max_job_test`: so many entries are looked at.
    pub max_entries: usize,
    /// So many of each partition, user and association.
    pub depths: Depths,
    /// `bf_max_job_start`: so many jobs are started; 0 for all.
    pub max_starts: usize,
    /// Seconds that a job that is late is taken to run on after its limit: `KillWait`.
    pub kill_wait: f64,
    /// `bf_busy_nodes`: whether starts that are not now are planned on nodes in use before idle ones.
    pub busy_first: bool,
    /// Which entries are planned; others may only start now.
    pub reserves: Reserves,
}

impl BackfillParameters {
    /// A time rounded down to a multiple of the resolution on the clock.
    pub(super) fn rounded_down(&self, time: f64) -> f64 {
        ((time + self.epoch) / self.resolution).floor() * self.resolution - self.epoch
    }

    /// The same, rounded up.
    pub(super) fn rounded_up(&self, time: f64) -> f64 {
        ((time + self.epoch) / self.resolution).ceil() * self.resolution - self.epoch
    }
}

/// Which classes of jobs may preempt which.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Precedence {
    /// For each class those that it may preempt.
    pub preempts: Vec<Vec<u32>>,
    /// For each class its importance: jobs of the least are the first candidates.
    pub importance: Vec<f64>,
    /// Whether of one class the latest start comes first, and not the fewest nodes.
    pub youngest_first: bool,
    /// Seconds that a job runs on after it was chosen (`GraceTime`).
    pub grace_time: f64,
}

/// What does not change from call to call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Which nodes a job gets.
    pub select: Select,
    /// In which order shared nodes are taken.
    pub filling: Filling,
    /// What each node has when it is idle.
    pub machine: Vec<Amounts>,
    /// What each node has of generic resources when it is idle; nothing where jobs take whole nodes.
    pub generic: GenericAmounts,
    /// Which of these resources counts GPUs.
    pub gpu: Option<usize>,
    /// The partitions.
    pub partitions: Vec<Partition>,
    /// The weights of nodes: those of the least are taken first.
    pub weights: Vec<u32>,
    /// Whether limits may count nodes, so that the present weights of nodes come to differ from these.
    pub weighs: bool,
    /// Which jobs may preempt which; none where it is empty.
    pub precedence: Precedence,
    /// How the main loop is set up.
    pub main_loop: MainLoopParameters,
    /// How backfill is set up.
    pub backfill: BackfillParameters,
}

impl Setup {
    /// Number of nodes.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.machine.len()
    }

    /// Whether a job fits on the suitable nodes of its partition when all of them are idle. O(nodes).
    #[must_use]
    pub fn fits_idle(&self, entry: &Entry) -> bool {
        let usable = self.suitable_nodes(entry);
        let idle = FreeAmounts::of(&self.machine, &self.generic);
        self.select.choose(entry, self.offer(entry, &usable, &self.weights, &idle)).is_some()
    }

    /// The nodes of the partition that have what a job asks for when they are idle.
    #[must_use]
    pub fn suitable_nodes(&self, entry: &Entry) -> NodeBits {
        let mut nodes = self.partitions[entry.partition].nodes.clone();
        entry.keep_suitable(&mut nodes);
        nodes
    }

    /// What a job is offered on these nodes.
    pub(super) fn offer<'a>(
        &'a self,
        entry: &Entry,
        usable: &'a NodeBits,
        weights: &'a [u32],
        free: &'a FreeAmounts,
    ) -> Offer<'a> {
        let most_nodes = self.partitions[entry.partition].most_nodes;
        Offer {
            usable,
            machine: &self.machine,
            free,
            gpu: self.gpu,
            weights,
            filling: self.filling,
            idle_now: None,
            most_nodes,
        }
    }

    /// What a job takes of generic resources with these allotments, node after node.
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
