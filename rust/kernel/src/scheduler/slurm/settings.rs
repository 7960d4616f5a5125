//! Parameters of the rule `slurm`.
use std::iter::{repeat, repeat_n};

use crate::slurm::{BackfillParameters, CoreFillOrder, Depths, MainLoopParameters, Reserves, Select};

/// Parameters of the rule `slurm`, named as in Slurm.
#[expect(clippy::struct_excessive_bools, reason = "options of slurm.conf")]
#[derive(Clone, Debug, PartialEq)]
pub struct SlurmSettings {
    /// Node selection plugin.
    pub select: Select,
    /// `CR_LLN` and `pack_serial_at_end`: the order in which shared nodes are used.
    pub core_fill_order: CoreFillOrder,
    /// The resource that counts CPUs; None if each node is one CPU.
    pub core: Option<usize>,
    /// The memory resource.
    pub memory: Option<usize>,
    /// The resource that counts GPUs.
    pub gpu: Option<usize>,
    /// Run-length encoded node weights (weight, number of nodes), in node order; 1 for the remaining nodes.
    pub weights: Vec<(u32, u32)>,
    /// `batch_sched_delay`: minimum whole seconds between calls of the main loop.
    pub batch_sched_delay: i64,
    /// `sched_interval`: whole seconds between calls that examine the whole queue.
    pub sched_interval: i64,
    /// `sched_min_interval`: minimum seconds between calls of the main loop.
    pub sched_min_interval: f64,
    /// `default_queue_depth`: number of entries that other calls examine.
    pub default_queue_depth: usize,
    /// `partition_job_depth`; 0 for all.
    pub partition_job_depth: usize,
    /// `sched_max_job_start`; 0 for all.
    pub sched_max_job_start: usize,
    /// True if freed nodes call the main loop at once; otherwise its next call finds them free.
    pub epilog: bool,
    /// True if the backfill scheduler is enabled.
    pub backfill: bool,
    /// `bf_interval`: whole seconds between cycles.
    pub bf_interval: i64,
    /// `bf_max_time`: maximum whole seconds of a cycle.
    pub bf_max_time: i64,
    /// `bf_yield_interval`: seconds after which a cycle pauses.
    pub bf_yield_interval: f64,
    /// `bf_yield_sleep`: seconds of a pause.
    pub bf_yield_sleep: f64,
    /// `bf_continue`: whether a cycle continues although something has changed during a pause.
    pub bf_continue: bool,
    /// `bf_busy_nodes`: whether later starts are planned on nodes in use before idle ones.
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
    /// Clock time, seconds, at simulation time 0.
    pub epoch: f64,
    /// Extra seconds between two wakings of the main thread, beyond one second.
    pub main_lag: f64,
    /// Seconds per entry that backfill examines.
    pub bf_test_time: f64,
    /// Phase of the full calls of the main loop, seconds within `sched_interval`; drawn if None.
    pub main_phase: Option<f64>,
    /// Phase of the checks of time limits, seconds within 30; drawn if None.
    pub limit_phase: Option<f64>,
    /// Phase of the backfill thread, seconds within 1; drawn if None.
    pub backfill_phase: Option<f64>,
    /// The time before which backfill begins no cycle; from the first event on where it is None.
    pub backfill_start: Option<f64>,
}

impl SlurmSettings {
    /// Return the number of entries examined by a call that does not examine the whole queue: one more than configured,
    /// because Slurm counts before it compares.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.default_queue_depth.saturating_add(1)
    }

    /// Return the parameters of the main loop.
    #[must_use]
    pub fn main_loop(&self) -> MainLoopParameters {
        MainLoopParameters {
            entries_of_partition: self.partition_job_depth,
            starts: self.sched_max_job_start,
        }
    }

    /// Return the parameters of backfill.
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

    /// Return the weight of each node.
    pub(super) fn node_weights(&self, nodes: usize) -> Vec<u32> {
        let given = self.weights.iter().flat_map(|&(weight, count)| repeat_n(weight, count as usize));
        given.chain(repeat(1)).take(nodes).collect()
    }
}
