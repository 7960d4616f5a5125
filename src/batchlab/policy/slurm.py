"""The backfilling rule ``slurm``: the parameters of Slurm's controller by their names in slurm.conf."""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from batchlab.core import spec
from batchlab.errors import PolicyError, shown, suggest
from batchlab.units import format_number
from batchlab.vocabulary import NODE_SELECTIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab._kernel import ControllerSettings
    from batchlab.vocabulary import NodeSelection

__all__ = ["SLURM_KEYS", "SlurmParameters", "over", "slurm_parameters"]

_YEAR = 31_536_000
_MOST = 10**9
# Seconds from one look at the limits of running jobs to the next.
_LIMIT_PERIOD = 30
# What is true or false; and of this what goes with `select = "cores"` only.
_OF_CORES = ("cr_lln", "pack_serial_at_end", "bf_busy_nodes")
_SWITCHES = (*_OF_CORES, "backfill", "epilog", "defer", "bf_continue", "bf_one_resv_per_job")
# The least and the most of each whole number.
_WHOLE = {
    "batch_sched_delay": (0, _YEAR),
    "sched_interval": (1, _YEAR),
    "sched_min_interval": (0, _MOST),
    "default_queue_depth": (0, _MOST),
    "bf_interval": (1, _YEAR),
    "bf_yield_interval": (1, _MOST),
    "bf_yield_sleep": (1, _MOST),
    "bf_resolution": (1, _YEAR),
    "bf_window": (1, _YEAR),
    "bf_max_job_test": (1, _MOST),
    "partition_job_depth": (0, _MOST),
    "sched_max_job_start": (0, _MOST),
    "bf_max_job_part": (0, _MOST),
    "bf_max_job_user": (0, _MOST),
    "bf_max_job_user_part": (0, _MOST),
    "bf_max_job_assoc": (0, _MOST),
    "bf_max_job_start": (0, _MOST),
    "bf_job_part_count_reserve": (0, _MOST),
    "bf_min_prio_reserve": (0, 2**32 - 1),
    "bf_min_age_reserve": (0, _YEAR),
    "bf_max_job_array_resv": (0, _MOST),
    "over_time_limit": (0, _YEAR),
    "kill_wait": (0, _YEAR),
    "message_timeout": (0, _YEAR),
    "requeue_delay": (1, _YEAR),
    "epoch": (-(2**40), 2**40),
}


@dataclass(frozen=True)
class SlurmParameters:
    """What the backfilling rule ``slurm`` is set up with; names and usual values are slurm.conf's.

    Parameters
    ----------
    select
        Which nodes a job gets, a name of `batchlab.vocabulary.NODE_SELECTIONS`: ``"linear"``, whole nodes; or
        ``"cores"``, shared by CPUs and memory.
    cr_lln
        Whether of nodes of equal weight those are taken first of which the greatest part is free (CR_LLN);
        else neighbours that fit best. Goes with ``"cores"``.
    pack_serial_at_end
        Whether jobs of one CPU get the last node of the least weight. Goes with ``"cores"``; `cr_lln` comes
        before it.
    backfill
        Whether there is a backfill scheduler; without one it is ``sched/builtin``.
    epilog
        Whether nodes run an epilog: its end has the main loop called at once.
    defer
        Whether the main loop is called at its next chance instead.
    batch_sched_delay
        From one call of the main loop to the next, whole seconds, at least.
    sched_interval
        From one look of the main loop at the whole queue to the next, whole seconds from 1 on.
    sched_min_interval
        Microseconds from one call of the main loop to the next, at least: calls that come before are put off,
        and become one. Less than 10,000 puts none off.
    default_queue_depth
        How many jobs its other calls look at.
    partition_job_depth
        How many jobs of each partition it looks at; 0 for all.
    sched_max_job_start
        How many jobs a call of it starts; 0 for all that fit.
    bf_interval
        From one cycle of backfill to the next, whole seconds from 1 on.
    bf_max_time
        How many whole seconds a cycle may take, from 1 on; as many as `bf_interval` unless given.
    bf_yield_interval
        Microseconds after which a cycle pauses: calls of the main loop and what comes from outside are taken
        then. Without a `bf_test_time` cycles take no time, and never pause.
    bf_yield_sleep
        Microseconds of a pause.
    bf_continue
        Whether a cycle goes on with its list although jobs or nodes have changed in a pause; else it is over.
    bf_busy_nodes
        Whether starts that are not now are planned on nodes in use before idle ones. Goes with ``"cores"``.
    bf_resolution
        Plans begin and end at multiples of so many seconds of the clock.
    bf_window
        How far ahead backfill plans, seconds; in slurm.conf minutes.
    bf_max_job_test
        How many jobs a cycle looks at.
    bf_max_job_part
        How many of each partition; 0 for all.
    bf_max_job_user
        How many of each user; 0 for all. Jobs without a user are not counted.
    bf_max_job_user_part
        How many of each user in each partition; 0 for all.
    bf_max_job_assoc
        How many of each association, a user in an account; 0 for all.
    bf_max_job_start
        How many jobs a cycle starts; 0 for all that it may.
    bf_job_part_count_reserve
        How many jobs of each partition are planned; those behind may only start now. 0 for all.
    bf_min_prio_reserve
        Jobs of a lower priority may only start now. Goes with the order ``multifactor``.
    bf_min_age_reserve
        Jobs that have been eligible for fewer seconds may only start now.
    bf_one_resv_per_job
        Whether a job has a plan in one of its partitions only, the first where there can be one.
    bf_max_job_array_resv
        How many tasks of an array are planned, one at least; those behind are not looked at.
    over_time_limit
        Seconds that jobs may run beyond their limits; in slurm.conf minutes.
    kill_wait
        Seconds that a job that is late is taken to run on after its limit, besides `over_time_limit`.
    message_timeout
        For so many seconds and `kill_wait` after the first jobs that are preempted for a job no others are.
    requeue_delay
        Seconds until a job that was preempted may start again.
    epoch
        Seconds of the clock (since 1970) at time 0 of the workload.
    main_lag
        Seconds by which the thread of the main loop wakes later each second: 0.002 on an idle controller.
    bf_test_time
        Seconds that backfill takes for each entry that it looks at; the next cycle begins so much later.
    main_phase
        When the main loop looks at the whole queue, seconds within `sched_interval`; drawn from the seed of
        the run unless given.
    limit_phase
        When within 30 seconds jobs over their limits are ended, under ``walltime="kill"``, and victims of
        preemption whose grace time is over; drawn unless given.
    backfill_phase
        When within a second backfill wakes; drawn unless given.

    Raises
    ------
    PolicyError
        If a value breaks its rule.

    Notes
    -----
    S25 of docs/semantics.md.
    """

    select: NodeSelection = "linear"
    cr_lln: bool = False
    pack_serial_at_end: bool = False
    backfill: bool = True
    epilog: bool = False
    defer: bool = False
    batch_sched_delay: int = 3
    sched_interval: int = 60
    sched_min_interval: int = 2
    default_queue_depth: int = 100
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    bf_interval: int = 30
    bf_max_time: int | None = None
    bf_yield_interval: int = 2_000_000
    bf_yield_sleep: int = 500_000
    bf_continue: bool = False
    bf_busy_nodes: bool = False
    bf_resolution: int = 60
    bf_window: int = 86_400
    bf_max_job_test: int = 500
    bf_max_job_part: int = 0
    bf_max_job_user: int = 0
    bf_max_job_user_part: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_start: int = 0
    bf_job_part_count_reserve: int = 0
    bf_min_prio_reserve: int = 0
    bf_min_age_reserve: int = 0
    bf_one_resv_per_job: bool = False
    bf_max_job_array_resv: int = 20
    over_time_limit: int = 0
    kill_wait: int = 30
    message_timeout: int = 10
    requeue_delay: int = 121
    epoch: int = 0
    main_lag: float = 0.0
    bf_test_time: float = 0.0
    main_phase: float | None = None
    limit_phase: float | None = None
    backfill_phase: float | None = None

    def __post_init__(self) -> None:
        if self.select not in NODE_SELECTIONS:
            known = suggest(str(self.select), NODE_SELECTIONS)
            raise PolicyError(f"select = {shown(self.select)}; must name how nodes are selected.{known}")
        for key in _SWITCHES:
            value = getattr(self, key)
            if not isinstance(value, bool):
                raise PolicyError(f"{key} = {shown(value)}; must be true or false.")
        for key in _OF_CORES:
            if getattr(self, key) and self.select != "cores":
                raise PolicyError(f"{key} = True; goes with select = 'cores', not with {shown(self.select)}.")
        for key, (least, most) in _WHOLE.items():
            object.__setattr__(self, key, _whole(key, getattr(self, key), least, most))
        if self.bf_max_time is not None:
            object.__setattr__(self, "bf_max_time", _whole("bf_max_time", self.bf_max_time, 1, _YEAR))
        ends = {
            "main_lag": 1,
            "bf_test_time": 1,
            "main_phase": self.sched_interval,
            "limit_phase": _LIMIT_PERIOD,
            "backfill_phase": 1,
        }
        for key, end in ends.items():
            if getattr(self, key) is not None:
                object.__setattr__(self, key, _seconds(key, getattr(self, key), end))

    def arguments(self, written: Collection[str] = ()) -> str:
        """Write the keys that are not at their defaults, and those of `written`, as a spec has them."""
        said = [
            each
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default
            or (each.name in written and value is not None)
        ]
        return ", ".join(f"{each.name}={_written(getattr(self, each.name))}" for each in said)

    @property
    def settings(self) -> ControllerSettings:
        """What the kernel takes, for a machine without resources whose nodes have one weight."""
        longest = self.bf_interval if self.bf_max_time is None else self.bf_max_time
        return {
            "core": None,
            "memory": None,
            "gpu": None,
            "weights": [],
            "select": self.select,
            "cr_lln": self.cr_lln,
            "pack_serial_at_end": self.pack_serial_at_end,
            "batch_sched_delay": self.batch_sched_delay,
            "sched_interval": self.sched_interval,
            # Slurm gives microseconds.
            "sched_min_interval": self.sched_min_interval / 1e6,
            "default_queue_depth": self.default_queue_depth,
            "partition_job_depth": self.partition_job_depth,
            "sched_max_job_start": self.sched_max_job_start,
            # Slurm defers the calls of epilogs: they are wanted then as those of nodes without one.
            "epilog": self.epilog and not self.defer,
            "backfill": self.backfill,
            "bf_interval": self.bf_interval,
            "bf_max_time": longest,
            # Slurm gives microseconds.
            "bf_yield_interval": self.bf_yield_interval / 1e6,
            "bf_yield_sleep": self.bf_yield_sleep / 1e6,
            "bf_continue": self.bf_continue,
            "bf_busy_nodes": self.bf_busy_nodes,
            "bf_resolution": float(self.bf_resolution),
            "bf_window": float(self.bf_window),
            "bf_max_job_test": self.bf_max_job_test,
            "bf_max_job_part": self.bf_max_job_part,
            "bf_max_job_user": self.bf_max_job_user,
            "bf_max_job_user_part": self.bf_max_job_user_part,
            "bf_max_job_assoc": self.bf_max_job_assoc,
            "bf_max_job_start": self.bf_max_job_start,
            "bf_job_part_count_reserve": self.bf_job_part_count_reserve,
            "bf_min_prio_reserve": float(self.bf_min_prio_reserve),
            "bf_min_age_reserve": float(self.bf_min_age_reserve),
            "bf_one_resv_per_job": self.bf_one_resv_per_job,
            "bf_max_job_array_resv": self.bf_max_job_array_resv,
            "over_time_limit": float(self.over_time_limit),
            "kill_wait": float(self.kill_wait),
            "message_timeout": float(self.message_timeout),
            "requeue_delay": float(self.requeue_delay),
            "epoch": float(self.epoch),
            "main_lag": self.main_lag,
            "bf_test_time": self.bf_test_time,
            "main_phase": self.main_phase,
            "limit_phase": self.limit_phase,
            "backfill_phase": self.backfill_phase,
        }


SLURM_KEYS = tuple(each.name for each in fields(SlurmParameters))
"""The keys of ``slurm``."""


def slurm_parameters(text: spec.Spec, call: spec.Call) -> SlurmParameters:
    """Read the parameters of ``slurm``; keys that are none of its own are left to others.

    Raises
    ------
    PolicyError
        If a value breaks its rule.
    """
    chosen: dict[str, object] = {}
    for key in SLURM_KEYS:
        if key in call.keys:
            chosen[key] = spec.plain(call.keys[key].value)
            # A value that is wrong by itself is found with its place.
            beside = {"select": "cores"} if key in _OF_CORES else chosen if key == "main_phase" else {}
            _made({**beside, key: chosen[key]}, text.where(call.keys[key].position))
    return _made(chosen, text.where(call.position))


def over(
    configured: SlurmParameters, given: SlurmParameters, written: Collection[str], *, by_priority: bool
) -> SlurmParameters:
    """Return the parameters of a configuration, with those that are given in their places.

    Parameters
    ----------
    configured, given
        The parameters of the configuration, and those of a spec.
    written
        The keys that the spec names; a key with another value than its default counts as named.
    by_priority
        Whether jobs have priorities: the order is ``multifactor``.

    Returns
    -------
    SlurmParameters
        Parameters of the configuration that do not go with the ones that are given are left out.
    """
    named = {
        each.name: getattr(given, each.name)
        for each in fields(given)
        if each.name in written or getattr(given, each.name) != each.default
    }
    needless = [*(_OF_CORES if named.get("select", configured.select) != "cores" else ())]
    needless += [] if by_priority else ["bf_min_prio_reserve"]
    usual = SlurmParameters()
    return replace(configured, **{key: getattr(usual, key) for key in needless} | named)


def _made(chosen: Mapping[str, object], where: str) -> SlurmParameters:
    try:
        return SlurmParameters(**cast("dict[str, Any]", chosen))
    except PolicyError as error:
        raise PolicyError(f"{error}{where}") from None


def _whole(key: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, bool):
        with suppress(TypeError):
            number = operator.index(value)  # type: ignore[arg-type]  # that is the question
            if least <= number <= most:
                return number
    raise PolicyError(f"{key} = {shown(value)}; must be an integer from {least} to {most}.")


def _seconds(key: str, value: object, end: int) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < end:
        return float(value)
    raise PolicyError(f"{key} = {shown(value)}; must be seconds from 0 to less than {end}.")


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, float) else str(value)
