"""The options of ``SchedulerParameters`` with Slurm's defaults and bounds, and the type of scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from batchlab.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SchedulerParameters", "scheduler_parameters"]

_ALIASES = {"max_rpc_count": "max_rpc_cnt", "bf_yield_rpc_count": "bf_yield_rpc_cnt"}
_MOST = 2**31 - 1
_MEANS = ("min", "avg", "max")


def _number(default: int, least: int = 0, most: int = _MOST, *, off: bool = False) -> Any:  # noqa: ANN401
    """Return the field of a numeric option; `off`: -1 disables it."""
    return field(default=default, metadata={"least": least, "most": most, "off": off})


@dataclass(frozen=True)
class SchedulerParameters:
    """Parameters for the times, the depth and the planning horizon of Slurm's schedulers.

    Each field is the option of the same name; ``type`` is SchedulerType without its prefix. Times have
    Slurm's units: seconds, except for `bf_window` and `delay_boot` (minutes), and `bf_yield_interval`,
    `bf_yield_sleep`, `build_queue_timeout` and `sched_min_interval` (microseconds). 0 means no bound for
    numbers of jobs. None is a default that depends on other values: `bf_max_time` is `bf_interval`,
    `bf_node_space_size` is `bf_max_job_test`, `max_sched_time` is half of MessageTimeout, at most 2 s,
    `max_array_tasks` is MaxArraySize, `bf_yield_rpc_cnt` is a tenth of `max_rpc_cnt`, at least 20,
    `requeue_delay` is the lifetime of credentials. -1 disables `bf_interval` and `sched_interval`.
    """

    type: str = "backfill"
    allow_zero_lic: bool = False
    assoc_limit_stop: bool = False
    batch_sched_delay: int = _number(3)
    bf_allow_magnetic_slot: bool = False
    bf_busy_nodes: bool = False
    bf_continue: bool = False
    bf_hetjob_immediate: bool = False
    bf_hetjob_prio: str = ""
    bf_interval: int = _number(30, 1, 10_800, off=True)
    bf_job_part_count_reserve: int = _number(0, 0, 100_000)
    bf_licenses: bool = False
    bf_max_job_array_resv: int = _number(20, 0, 1_000)
    bf_max_job_assoc: int = _number(0)
    bf_max_job_part: int = _number(0)
    bf_max_job_start: int = _number(0, 0, 10_000)
    bf_max_job_test: int = _number(500, 1, 1_000_000)
    bf_max_job_user: int = _number(0)
    bf_max_job_user_part: int = _number(0)
    bf_max_time: int | None = field(default=None, metadata={"least": 1, "most": 3_600})
    bf_min_age_reserve: int = _number(0, 0, 2_592_000)
    bf_min_prio_reserve: int = _number(0, 0, 2**63)
    bf_node_space_size: int | None = field(default=None, metadata={"least": 2, "most": 2_000_000})
    bf_one_resv_per_job: bool = False
    bf_resolution: int = _number(60, 1, 3_600)
    bf_running_job_reserve: bool = False
    bf_topopt_enable: bool = False
    bf_topopt_iterations: int = _number(10, 2, 30)
    bf_window: int = _number(1_440, 1, 43_200)
    bf_window_linear: int = _number(0)
    bf_yield_interval: int = _number(2_000_000, 1, 10_000_000)
    bf_yield_rpc_cnt: int | None = field(default=None, metadata={"least": 0, "most": 200})
    bf_yield_sleep: int = _number(500_000, 1, 10_000_000)
    build_queue_timeout: int = _number(2_000_000, 1)
    correspond_after_task_cnt: int = _number(10)
    default_queue_depth: int = _number(100)
    defer: bool = False
    defer_batch: bool = False
    delay_boot: int = _number(0)
    disable_job_shrink: bool = False
    max_array_tasks: int | None = field(default=None, metadata={"least": 0, "most": _MOST})
    max_rpc_cnt: int = _number(0, 0, 1_000)
    max_sched_time: int | None = field(default=None, metadata={"least": 1, "most": _MOST})
    max_switch_wait: int = _number(300)
    nohold_on_prolog_fail: bool = False
    pack_serial_at_end: bool = False
    partition_job_depth: int = _number(0)
    preempt_reorder_count: int = _number(1)
    preempt_strict_order: bool = False
    preempt_youngest_first: bool = False
    reduce_completing_frag: bool = False
    requeue_delay: int | None = field(default=None, metadata={"least": 0, "most": _MOST})
    requeue_on_resume_failure: bool = False
    sched_interval: int = _number(60, 1, off=True)
    sched_max_job_start: int = _number(0)
    sched_min_interval: int = _number(2)
    spec_cores_first: bool = False
    time_min_as_soft_limit: bool = False


def scheduler_parameters(
    kind: str, options: Mapping[str, str | None]
) -> tuple[SchedulerParameters, list[str]]:
    """Parse the options of a scheduler.

    Parameters
    ----------
    kind
        SchedulerType without its prefix.
    options
        Values by lower-case name; None for an option without a value. Unknown options are ignored.

    Returns
    -------
    tuple
        The parameters, and messages on Slurm's corrections: an invalid number, or one outside its bounds, is
        replaced by the default.
    """
    given: dict[str, object] = {}
    mended: list[str] = []
    for name, value in options.items():
        each = _FIELDS.get(_ALIASES.get(name, name))
        if each is None:
            continue
        if each.type == "bool":
            given[each.name] = True
        elif each.name == "bf_hetjob_prio":
            word = (value or "").lower()
            given[each.name] = word if word in _MEANS else ""
            if word not in _MEANS:
                mended.append(f"{name}={one_line(str(value))} is not min, avg or max; Slurm leaves it out")
        else:
            number = _within(value, each.metadata)
            if number is None:
                usual = "its default" if each.default is None else each.default
                mended.append(f"{name}={one_line(str(value))} is out of its bounds; Slurm takes {usual}")
            else:
                given[each.name] = number
    return SchedulerParameters(kind, **cast("dict[str, Any]", given)), mended


_FIELDS = {each.name: each for each in fields(SchedulerParameters) if each.name != "type"}


def _within(text: str | None, bounds: Mapping[str, int]) -> int | None:
    """Parse a number within bounds; None if invalid or outside."""
    if text == "-1" and bounds.get("off"):
        return -1
    if not text or not text.isascii() or not text.isdecimal() or len(text) > len(str(2**64)):
        return None
    return int(text) if bounds["least"] <= int(text) <= bounds["most"] else None
