"""The policy of a ``slurm.conf``: its scheduler with its parameters and its order, as a spec string."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.slurm.cluster import Timing
from batchlab.slurm.scheduler import SchedulerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.cluster import Selection

__all__ = ["policy_of"]

_MAIN_LOOP = (
    "batch_sched_delay",
    "default_queue_depth",
    "partition_job_depth",
    "sched_interval",
    "sched_max_job_start",
)
_BACKFILL = (
    "bf_interval",
    "bf_resolution",
    "bf_window",
    "bf_max_job_test",
    "bf_max_job_part",
    "bf_max_job_user",
    "bf_max_job_user_part",
    "bf_max_job_assoc",
    "bf_max_job_start",
    "bf_job_part_count_reserve",
)
"""The options of SchedulerParameters that are parameters of the policy by the same name."""
_WAITS = ("kill_wait", "message_timeout")
_OFF = -1
_YEAR = 31_536_000
_MINUTE = 60


def policy_of(scheduler: SchedulerParameters, selection: Selection, timing: Timing, order: str) -> str:
    """Give the spec string of the policy ``slurm`` with the parameters of a cluster.

    Parameters
    ----------
    scheduler, selection, timing
        As `batchlab.slurm.SlurmConfiguration` has them.
    order
        The spec string of the order.

    Returns
    -------
    str
        What `batchlab.Policy.parse` reads; what is as usual in Slurm, and so in the policy, is left out.
    """
    found: list[tuple[str, object]] = []
    if selection.type != "linear":
        found.append(("select", "cores"))
    if timing.epilog:
        found.append(("epilog", "true"))
    found += _options(scheduler, _MAIN_LOOP)
    if scheduler.type == "backfill" and scheduler.bf_interval != _OFF:
        found += _options(scheduler, _BACKFILL)
    else:
        found.append(("backfill", "false"))
    usual = Timing()
    # A year is as good as never.
    waits = ((name, min(getattr(timing, name), _YEAR)) for name in _WAITS)
    found += [(name, value) for name, value in waits if value != getattr(usual, name)]
    if order != "fcfs":
        found.append(("order", order))
    arguments = [f"{name}={value}" for name, value in found]
    return f"slurm({', '.join(arguments)})" if arguments else "slurm"


def _options(scheduler: SchedulerParameters, names: tuple[str, ...]) -> Iterator[tuple[str, object]]:
    """Give the options that are not as usual, in the units of the policy."""
    usual = SchedulerParameters()
    for name in names:
        value = getattr(scheduler, name)
        if value == getattr(usual, name):
            continue
        if name == "bf_window":
            value *= _MINUTE
        # A year is as good as never.
        yield name, _YEAR if (name, value) == ("sched_interval", _OFF) else value
