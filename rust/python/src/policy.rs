//! Policies, converted from Python.
use batchlab_kernel::accounting::Multifactor;
use batchlab_kernel::cluster::Ranking;
use batchlab_kernel::placement::{Blocks, Closeness, Compact, Mapping, Threshold};
use batchlab_kernel::scheduler::{PolicyChoice, SlurmSettings};
use batchlab_kernel::slurm::{CoreFillOrder, Depths, Reserves, Select};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::accounting::Settings;
use crate::fabric::Fabric;

/// The names of a policy, validated by `batchlab.Policy`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PolicyNames {
    order: String,
    argument: Option<String>,
    multifactor: Option<Settings>,
    backfill: String,
    allocator: String,
    reservations: usize,
    slurm: Option<ControllerSettings>,
    seed: u64,
    critical: Vec<usize>,
    mapping: Option<MappingSettings>,
    ranking: String,
}

/// The parameters of `slurm`, the resources that are CPUs, memory and GPUs, and the weights of nodes.
#[expect(clippy::struct_excessive_bools, reason = "the fields of Python's parameters")]
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct ControllerSettings {
    select: String,
    cr_lln: bool,
    pack_serial_at_end: bool,
    core: Option<usize>,
    memory: Option<usize>,
    gpu: Option<usize>,
    weights: Vec<(u32, u32)>,
    batch_sched_delay: i64,
    sched_interval: i64,
    sched_min_interval: f64,
    default_queue_depth: usize,
    partition_job_depth: usize,
    sched_max_job_start: usize,
    epilog: bool,
    backfill: bool,
    bf_interval: i64,
    bf_max_time: i64,
    bf_yield_interval: f64,
    bf_yield_sleep: f64,
    bf_continue: bool,
    bf_busy_nodes: bool,
    bf_resolution: f64,
    bf_window: f64,
    bf_max_job_test: usize,
    bf_max_job_part: usize,
    bf_max_job_user: usize,
    bf_max_job_user_part: usize,
    bf_max_job_assoc: usize,
    bf_max_job_start: usize,
    bf_job_part_count_reserve: usize,
    bf_min_prio_reserve: f64,
    bf_min_age_reserve: f64,
    bf_one_resv_per_job: bool,
    bf_max_job_array_resv: usize,
    over_time_limit: f64,
    kill_wait: f64,
    message_timeout: f64,
    requeue_delay: f64,
    epoch: f64,
    main_lag: f64,
    bf_test_time: f64,
    main_phase: Option<f64>,
    limit_phase: Option<f64>,
    backfill_phase: Option<f64>,
    backfill_start: Option<f64>,
}

impl TryFrom<ControllerSettings> for SlurmSettings {
    type Error = PyErr;

    fn try_from(given: ControllerSettings) -> PyResult<Self> {
        let select = Select::named(&given.select)
            .ok_or_else(|| PyValueError::new_err(format!("no selection is called '{}'", given.select)))?;
        Ok(Self {
            select,
            core_fill_order: CoreFillOrder::of(given.cr_lln, given.pack_serial_at_end),
            core: given.core,
            memory: given.memory,
            gpu: given.gpu,
            weights: given.weights,
            batch_sched_delay: given.batch_sched_delay,
            sched_interval: given.sched_interval,
            sched_min_interval: given.sched_min_interval,
            default_queue_depth: given.default_queue_depth,
            partition_job_depth: given.partition_job_depth,
            sched_max_job_start: given.sched_max_job_start,
            epilog: given.epilog,
            backfill: given.backfill,
            bf_interval: given.bf_interval,
            bf_max_time: given.bf_max_time,
            bf_yield_interval: given.bf_yield_interval,
            bf_yield_sleep: given.bf_yield_sleep,
            bf_continue: given.bf_continue,
            bf_busy_nodes: given.bf_busy_nodes,
            bf_resolution: given.bf_resolution,
            bf_window: given.bf_window,
            bf_max_job_test: given.bf_max_job_test,
            bf_depths: Depths {
                of_partition: given.bf_max_job_part,
                of_user: given.bf_max_job_user,
                of_user_in_partition: given.bf_max_job_user_part,
                of_association: given.bf_max_job_assoc,
            },
            bf_max_job_start: given.bf_max_job_start,
            bf_reserves: Reserves {
                of_partition: given.bf_job_part_count_reserve,
                min_priority: given.bf_min_prio_reserve,
                min_age: given.bf_min_age_reserve,
                one_per_job: given.bf_one_resv_per_job,
                of_array: given.bf_max_job_array_resv.max(1),
            },
            over_time_limit: given.over_time_limit,
            kill_wait: given.kill_wait,
            message_timeout: given.message_timeout,
            requeue_delay: given.requeue_delay,
            epoch: given.epoch,
            main_lag: given.main_lag,
            bf_test_time: given.bf_test_time,
            main_phase: given.main_phase,
            limit_phase: given.limit_phase,
            backfill_phase: given.backfill_phase,
            backfill_start: given.backfill_start,
        })
    }
}

/// An order of the nodes, and the parameters of the rule that uses it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct MappingSettings {
    order: Vec<u32>,
    blocks: Option<u32>,
    are_fixed: bool,
    threshold: Option<f64>,
    by_nodes: bool,
    closeness: Option<String>,
    centres: u32,
    fabric: Option<Py<Fabric>>,
}

impl From<MappingSettings> for Mapping {
    fn from(given: MappingSettings) -> Self {
        let MappingSettings { order, blocks, are_fixed, threshold, by_nodes, closeness, centres, fabric } =
            given;
        let by = Closeness::NAMES.into_iter().find(|(name, _)| Some(*name) == closeness.as_deref());
        let threshold_by = if by_nodes { Threshold::Nodes } else { Threshold::RequestedTime };
        Self {
            order,
            blocks: blocks.map(|count| Blocks { count, are_fixed }),
            threshold: threshold.map(threshold_by),
            compact: by.map(|(_, by)| Compact { by, centres }),
            fabric: fabric.map(|fabric| fabric.get().kernel.clone()),
        }
    }
}

impl TryFrom<PolicyNames> for PolicyChoice {
    type Error = PyErr;

    fn try_from(names: PolicyNames) -> PyResult<Self> {
        let PolicyNames {
            order,
            argument,
            multifactor,
            backfill,
            allocator,
            reservations,
            slurm,
            seed,
            critical,
            mapping,
            ranking,
        } = names;
        let known = Ranking::NAMES.into_iter().find(|(name, _)| *name == ranking);
        let unknown = || PyValueError::new_err(format!("ranking={ranking:?} is not known"));
        let (_, ranking) = known.ok_or_else(unknown)?;
        let slurm = slurm.map(SlurmSettings::try_from).transpose()?;
        let multifactor = multifactor.map(Multifactor::try_from).transpose()?;
        let mapping = mapping.map(Mapping::from);
        Ok(Self {
            order,
            argument,
            multifactor,
            backfill,
            allocator,
            reservations,
            slurm,
            seed,
            critical,
            mapping,
            ranking,
        })
    }
}
