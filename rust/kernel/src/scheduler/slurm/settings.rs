//! The parameters of the rule.
use std::iter::{repeat, repeat_n};

use crate::slurm::{BackfillParameters, Depths, Filling, MainLoopParameters, Reserves, Select};

/// The parameters of the rule, whose names are Slurm's.
#[expect(clippy::struct_excessive_bools, reason = "options of slurm.conf")]
#[derive(Clone, Debug, PartialEq)]
pub struct SlurmSettings {
    /// Which nodes jobs get.
    pub select: Select,
    /// `CR_LLN` and `pack_serial_at_end`: in which order shared nodes are taken.
    pub filling: Filling,
    /// The resource that counts CPUs; None where each node is one.
    pub core: Option<usize>,
    /// The resource that is memory.
    pub memory: Option<usize>,
    /// The resource that counts GPUs.
    pub gpu: Option<usize>,
    /// The weights of nodes in their order, each of so many nodes; 1 for those behind.
    pub weights: Vec<(u32, u32)>,
    /// `batch_sched_delay`: whole seconds from one call of the main loop to the next, at least.
    pub batch_sched_delay: i64,
    /// `sched_interval`: whole seconds from one call that looks at the whole queue to the next.
    pub sched_interval: i64,
    /// `sched_min_interval`: seconds from one call of the main loop to the next, at least.
    pub sched_min_interval: f64,
    /// `default_queue_depth`: so many entries are looked at in other calls.
    pub default_queue_depth: usize,
    /// `partition_job_depth`; 0 for all.
    pub partition_job_depth: usize,
    /// `sched_max_job_start`; 0 for all.
    pub sched_max_job_start: usize,
    /// Whether nodes call the main loop as soon as they are free, and are not found free at its next call.
    pub epilog: bool,
    /// Whether there is a backfill scheduler.
    pub backfill: bool,
    /// `bf_interval`: whole seconds from one cycle to the next.
    pub bf_interval: i64,
    /// `bf_max_time`: whole seconds that a cycle may take.
    pub bf_max_time: i64,
    /// `bf_yield_interval`: seconds after which a cycle pauses.
    pub bf_yield_interval: f64,
    /// `bf_yield_sleep`: seconds of a pause.
    pub bf_yield_sleep: f64,
    /// `bf_continue`: whether a cycle goes on though something has changed in a pause.
    pub bf_continue: bool,
    /// `bf_busy_nodes`: whether starts that are not now are planned on nodes in use before idle ones.
    pub bf_busy_nodes: bool,
    /// `bf_resolution`, seconds.
    pub bf_resolution: f64,
    /// `bf_window`, seconds.
    pub bf_window: f64,
    /// `bf_max_job_test`.
    pub bf_max_job_test: usize,
    /// `bf_max_job_part`, `bf_max_job_user`, `bf_max_job_user_part` and `bf_max_job_assoc`.
    pub bf_depths: Depths,
    /// `bf_max_job_start`; 0 for all.
    pub bf_max_job_start: usize,
    /// `bf_job_part_count_reserve`, `bf_min_prio_reserve`, `bf_min_age_reserve`, `bf_one_resv_per_job` and
    /// `bf_max_job_array_resv`.
    pub bf_reserves: Reserves,
    /// `OverTimeLimit`, seconds.
    pub over_time_limit: f64,
    /// `KillWait`, seconds.
    pub kill_wait: f64,
    /// `MessageTimeout`, seconds.
    pub message_timeout: f64,
    /// `requeue_delay`: seconds until a requeued job may start again.
    pub requeue_delay: f64,
    /// Seconds of the clock at time 0.
    pub epoch: f64,
    /// Seconds by which the main thread wakes later each second.
    pub main_lag: f64,
    /// Seconds that backfill takes for each entry that it looks at.
    pub bf_test_time: f64,
    /// When the main loop looks at the whole queue, seconds within `sched_interval`; drawn where it is None.
    pub main_phase: Option<f64>,
    /// When within 30 seconds time limits are looked at; drawn where it is None.
    pub limit_phase: Option<f64>,
    /// When within a second the backfill scheduler wakes; drawn where it is None.
    pub backfill_phase: Option<f64>,
}

impl SlurmSettings {
    /// How many entries a call of the main loop looks at that does not look at the whole queue: one more than is asked for, as
    /// in Slurm, which counts before it compares.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.default_queue_depth.saturating_add(1)
    }

    /// How the main loop is set up.
    #[must_use]
    pub fn main_loop(&self) -> MainLoopParameters {
        MainLoopParameters {
            entries_of_partition: self.partition_job_depth,
            starts: self.sched_max_job_start,
        }
    }

    /// How backfill is set up.
    #[must_use]
    pub fn backfill_parameters(&self) -> BackfillParameters {
        BackfillParameters {
            resolution: self.bf_resolution,
            window: self.bf_window,
            epoch: self.epoch,
            max_entries: self.bf_max_job_test,
            depths: self.bf_depths,
            max_starts: self.bf_max_job_start,
            kill_wait: self.kill_wait,
            busy_first: self.bf_busy_nodes,
            reserves: self.bf_reserves,
        }
    }

    /// The weight of each of so many nodes.
    pub(super) fn node_weights(&self, nodes: usize) -> Vec<u32> {
        let given = self.weights.iter().flat_map(|&(weight, count)| repeat_n(weight, count as usize));
        given.chain(repeat(1)).take(nodes).collect()
    }
}
