//! The parameters of `slurm`: one line each.
use serde::{Deserialize, Serialize};

use crate::parameter::{
    Field, Value, parameters, seconds_below, seconds_below_parameter, switch, whole, word,
};

use super::select::Select;
use super::selection_input::CoreFillOrder;

const YEAR: i64 = 31_536_000;
const MOST: i64 = 1_000_000_000;
/// Microseconds in a second.
const MICRO: f64 = 1e6;
/// Seconds between two checks of the limits of running jobs.
pub(crate) const LIMIT_PERIOD: f64 = 30.0;
const OPTION: &str = "SchedulerParameters";

parameters! {
    /// Parameters of the rule `slurm`; names, units and defaults as in slurm.conf.
    #[expect(clippy::doc_markdown, reason = "these texts are shown to users too")]
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
    pub struct SlurmParameters {
        /// How nodes are selected: `linear`, whole nodes (select/linear); or `cores`, nodes shared by CPUs, memory and
        /// other resources (select/cons_tres).
        select: Select = Select::Linear, word(&["linear", "cores"]).defined_by("SelectType");
        /// True to select the nodes with the largest free share first among nodes of equal weight; otherwise adjacent
        /// nodes that fit best.
        cr_lln: bool = false, switch().requires("select", "cores").defined_by("SelectTypeParameters=CR_LLN");
        /// True to place jobs with one CPU on the last node of the least weight; `cr_lln` takes precedence.
        pack_serial_at_end: bool = false, switch().requires("select", "cores").defined_by(OPTION);
        /// True to run a backfill scheduler; otherwise the main loop alone (sched/builtin).
        backfill: bool = true, switch().defined_by("SchedulerType");
        /// True if nodes run an epilog; its end calls the main loop immediately.
        epilog: bool = false, switch().defined_by("Epilog");
        /// True to delay these calls to the next chance of the main loop.
        defer: bool = false, switch().defined_by(OPTION);
        /// Minimum whole seconds between two calls of the main loop.
        batch_sched_delay: i64 = 3, whole(0..=YEAR).defined_by(OPTION);
        /// Whole seconds between two passes of the main loop over the whole queue.
        sched_interval: i64 = 60, whole(1..=YEAR).defined_by(OPTION);
        /// Minimum microseconds between two calls of the main loop. Earlier calls are postponed and merged. No calls
        /// are postponed for values below 10,000.
        sched_min_interval: i64 = 2, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs tried in other calls of the main loop.
        default_queue_depth: usize = 100, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs that a call of the main loop tries in each partition; 0 for all.
        partition_job_depth: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs started in a call of the main loop; 0 for all that fit.
        sched_max_job_start: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Whole seconds between two cycles of backfill.
        bf_interval: i64 = 30, whole(1..=YEAR).defined_by(OPTION);
        /// Maximum duration of a cycle in whole seconds.
        bf_max_time: Option<i64> = None, whole(1..=YEAR).by_default("`bf_interval`").defined_by(OPTION);
        /// Microseconds after which a cycle pauses. Calls of the main loop and external events are processed in the
        /// pause. Without a `bf_test_time`, cycles take no time and never pause.
        bf_yield_interval: i64 = 2_000_000, whole(1..=MOST).defined_by(OPTION);
        /// Duration of a pause in microseconds.
        bf_yield_sleep: i64 = 500_000, whole(1..=MOST).defined_by(OPTION);
        /// True to continue a cycle if jobs or nodes changed in a pause; otherwise the cycle ends.
        bf_continue: bool = false, switch().defined_by(OPTION);
        /// True to plan future starts on nodes in use before idle ones.
        bf_busy_nodes: bool = false, switch().requires("select", "cores").defined_by(OPTION);
        /// Plans begin and end at multiples of this number of seconds of the clock.
        bf_resolution: f64 = 60.0, whole(1..=YEAR).defined_by(OPTION);
        /// Planning horizon of backfill, seconds.
        bf_window: f64 = 86_400.0, whole(1..=YEAR).defined_by("SchedulerParameters, in minutes");
        /// Maximum number of jobs tried in a cycle.
        bf_max_job_test: usize = 500, whole(1..=MOST).defined_by(OPTION);
        /// Maximum number of jobs tried in a cycle in each partition; 0 for all.
        bf_max_job_part: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs tried in a cycle of each user; 0 for all. Jobs without a user are not counted.
        bf_max_job_user: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs tried in a cycle of each user in each partition; 0 for all.
        bf_max_job_user_part: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs tried in a cycle of each association, a user in an account; 0 for all.
        bf_max_job_assoc: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Maximum number of jobs started in a cycle; 0 for no maximum.
        bf_max_job_start: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Number of jobs in each partition that may get a plan; later ones may only start now. 0 for all.
        bf_job_part_count_reserve: usize = 0, whole(0..=MOST).defined_by(OPTION);
        /// Jobs with a lower priority may only start now. Requires the order `multifactor`.
        bf_min_prio_reserve: f64 = 0.0, whole(0..=0xFFFF_FFFF).defined_by(OPTION);
        /// Jobs that became eligible less than this number of seconds ago may only start now.
        bf_min_age_reserve: f64 = 0.0, whole(0..=YEAR).defined_by(OPTION);
        /// True to plan a job in one of its partitions only, the first possible one.
        bf_one_resv_per_job: bool = false, switch().defined_by(OPTION);
        /// Number of tasks of a job array that may get a plan, at least one; later tasks are skipped.
        bf_max_job_array_resv: usize = 20, whole(0..=MOST).defined_by(OPTION);
        /// Seconds that jobs may run beyond their limits, checked every 30 s under `walltime="kill"`. A partition may have
        /// an `over_time_limit` of its own.
        over_time_limit: f64 = 0.0, whole(0..=YEAR).defined_by("OverTimeLimit, in minutes");
        /// Seconds that a job is expected to run beyond its limit and `over_time_limit`.
        kill_wait: f64 = 30.0, whole(0..=YEAR).defined_by("KillWait");
        /// After the first preemptions for a job, no other jobs are preempted for it during this number of seconds plus
        /// `kill_wait`.
        message_timeout: f64 = 10.0, whole(0..=YEAR).defined_by("MessageTimeout");
        /// Seconds until a preempted job may start again.
        requeue_delay: f64 = 121.0, whole(1..=YEAR).defined_by("requeue_delay, or cred_expire of AuthInfo, plus 1");
        /// Seconds of the clock (since 1970) at time 0 of the workload.
        epoch: f64 = 0.0, whole(-(1 << 40)..=1 << 40);
        /// Additional delay of each wake-up of the main loop's thread, seconds: 0.002 on an idle controller.
        main_lag: f64 = 0.0, seconds_below(1.0);
        /// Seconds of backfill per tested entry; the next cycle is delayed by their sum.
        bf_test_time: f64 = 0.0, seconds_below(1.0);
        /// When the main loop passes over the whole queue, seconds within `sched_interval`.
        main_phase: Option<f64> = None,
            seconds_below_parameter("sched_interval").by_default("drawn with the seed of the run");
        /// When, within 30 seconds, jobs over their limits are ended under `walltime="kill"`, and preempted jobs after
        /// their grace time.
        limit_phase: Option<f64> = None, seconds_below(LIMIT_PERIOD).by_default("drawn with the seed of the run");
        /// When, within a second, backfill wakes.
        backfill_phase: Option<f64> = None, seconds_below(1.0).by_default("drawn with the seed of the run");
        /// Time of the simulation, seconds, before which no backfill cycle begins. A controller that has just started
        /// waits for `bf_interval`.
        backfill_start: Option<f64> = None, seconds_below(f64::INFINITY).by_default("the first event");
    }
}

impl Field for Select {
    fn read(value: &Value) -> Option<Self> {
        if let Value::Word(name) = value { Self::named(name) } else { None }
    }

    fn value(&self) -> Value {
        let name = Self::NAMES.iter().find(|(_, select)| select == self).map(|(name, _)| *name);
        name.unwrap_or_default().into()
    }
}

impl SlurmParameters {
    /// Return the order in which shared nodes are used.
    #[must_use]
    pub fn core_fill_order(&self) -> CoreFillOrder {
        CoreFillOrder::of(self.cr_lln, self.pack_serial_at_end)
    }

    /// Return the number of entries examined by a call that does not examine the whole queue: one more than configured,
    /// because Slurm counts before it compares.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.default_queue_depth.saturating_add(1)
    }

    /// Return whether freed nodes call the main loop immediately. Slurm defers calls by epilogs; they are requested then
    /// as on nodes without an epilog.
    #[must_use]
    pub fn calls_at_epilog(&self) -> bool {
        self.epilog && !self.defer
    }

    /// Return the minimum seconds between calls of the main loop.
    #[must_use]
    pub fn min_spacing(&self) -> f64 {
        self.sched_min_interval as f64 / MICRO
    }

    /// Return the seconds after which a cycle pauses, and the seconds of a pause.
    #[must_use]
    pub fn yield_times(&self) -> (f64, f64) {
        (self.bf_yield_interval as f64 / MICRO, self.bf_yield_sleep as f64 / MICRO)
    }

    /// Return whether backfill may skip some entries while later ones are examined, because of the depth of a group.
    #[must_use]
    pub fn leaves_some_out(&self) -> bool {
        let depths =
            [self.bf_max_job_part, self.bf_max_job_user, self.bf_max_job_user_part, self.bf_max_job_assoc];
        depths.iter().any(|&depth| depth > 0)
    }

    /// Round a time down to a multiple of the resolution in clock time.
    pub(super) fn rounded_down(&self, time: f64) -> f64 {
        ((time + self.epoch) / self.bf_resolution).floor() * self.bf_resolution - self.epoch
    }

    /// Round a time up to a multiple of the resolution in clock time.
    pub(super) fn rounded_up(&self, time: f64) -> f64 {
        ((time + self.epoch) / self.bf_resolution).ceil() * self.bf_resolution - self.epoch
    }
}
