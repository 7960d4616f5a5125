"""The policy of a ``slurm.conf`` as a spec string: scheduler, parameters and order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.slurm.configuration.cluster import Timing
from batchlab.slurm.configuration.scheduler import SchedulerParameters
from batchlab.slurm.configuration.values import YEAR, bounded_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.configuration.cluster import Selection

__all__ = ["policy_of"]

_MAIN_LOOP = (
    "batch_sched_delay",
    "defer",
    "default_queue_depth",
    "partition_job_depth",
    "sched_interval",
    "sched_max_job_start",
    "sched_min_interval",
)
_BACKFILL = (
    "bf_interval",
    "bf_max_time",
    "bf_yield_interval",
    "bf_yield_sleep",
    "bf_continue",
    "bf_resolution",
    "bf_window",
    "bf_max_job_test",
    "bf_max_job_part",
    "bf_max_job_user",
    "bf_max_job_user_part",
    "bf_max_job_assoc",
    "bf_max_job_start",
    "bf_job_part_count_reserve",
    "bf_min_age_reserve",
    "bf_one_resv_per_job",
    "bf_max_job_array_resv",
)
"""The options of SchedulerParameters that are parameters of the policy with the same name."""
_WAITS = ("kill_wait", "message_timeout")
_OFF = -1
_MINUTE = 60


def policy_of(scheduler: SchedulerParameters, selection: Selection, timing: Timing, order: str) -> str:
    """Return the spec string of the policy ``slurm`` with the parameters of a cluster.

    Parameters
    ----------
    scheduler, selection, timing
        As in `batchlab.slurm.SlurmConfiguration`.
    order
        The spec string of the order.

    Returns
    -------
    str
        The argument of `batchlab.Policy.parse`, without parameters at Slurm's defaults, which the policy
        shares.
    """
    found: list[tuple[str, object]] = []
    if selection.type != "linear":
        found.append(("select", "cores"))
        if "cr_lln" in selection.options:
            found.append(("cr_lln", "true"))
        found += _options(scheduler, ("pack_serial_at_end",))
    if timing.epilog:
        found.append(("epilog", "true"))
    found += _options(scheduler, _MAIN_LOOP)
    if scheduler.type == "backfill" and scheduler.bf_interval != _OFF:
        found += _options(scheduler, _BACKFILL)
        if selection.type != "linear":
            found += _options(scheduler, ("bf_busy_nodes",))
        if order.startswith("multifactor"):
            # With the other plug-in, priorities begin at 2**32.
            found += _options(scheduler, ("bf_min_prio_reserve",))
    else:
        found.append(("backfill", "false"))
    usual = Timing()
    # A year is equivalent to never.
    waits = ((name, min(getattr(timing, name), YEAR)) for name in _WAITS)
    found += [(name, value) for name, value in waits if value != getattr(usual, name)]
    over = bounded_seconds(timing.over_time_limit)
    found += [("over_time_limit", over)] if over else []
    delay = _requeue_delay(scheduler, timing)
    found += [] if delay == _requeue_delay(SchedulerParameters(), usual) else [("requeue_delay", delay)]
    if order != "fcfs":
        found.append(("order", order))
    arguments = [f"{name}={value}" for name, value in found]
    return f"slurm({', '.join(arguments)})" if arguments else "slurm"


def _options(scheduler: SchedulerParameters, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """Yield the options that differ from their defaults, in the units of the policy."""
    usual = SchedulerParameters()
    for name in names:
        value = getattr(scheduler, name)
        if value == getattr(usual, name):
            continue
        if name == "bf_window":
            value *= _MINUTE
        # A year is equivalent to never.
        value = YEAR if (name, value) == ("sched_interval", _OFF) else value
        yield name, str(value).lower() if isinstance(value, bool) else value


def _requeue_delay(scheduler: SchedulerParameters, timing: Timing) -> int:
    """Return the delay of a requeued job in seconds: by default until its credential has expired."""
    given = scheduler.requeue_delay
    return min(timing.credential_lifetime if given is None else given, YEAR - 1) + 1
