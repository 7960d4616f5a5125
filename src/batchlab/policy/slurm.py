"""The backfilling rule ``slurm``: the parameters of Slurm's controller by their names in slurm.conf."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from batchlab.core import rules, spec
from batchlab.core.units import format_number
from batchlab.core.vocabulary import NODE_SELECTIONS
from batchlab.errors import PolicyError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab._kernel import ControllerSettings
    from batchlab.core.vocabulary import NodeSelection

__all__ = ["SLURM_KEYS", "SlurmParameters", "over", "slurm_parameters"]

_YEAR = 31_536_000
_MOST = 10**9
# Seconds between two checks of the limits of running jobs.
_LIMIT_PERIOD = 30
# Booleans, and those that require `select = "cores"`.
_OF_CORES = ("cr_lln", "pack_serial_at_end", "bf_busy_nodes")
_SWITCHES = (*_OF_CORES, "backfill", "epilog", "defer", "bf_continue", "bf_one_resv_per_job")
# Minimum and maximum of each integer.
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
    """Parameters of the backfilling rule ``slurm``; names and defaults as in slurm.conf.

    Parameters
    ----------
    select
        How nodes are selected, a name of `batchlab.core.vocabulary.NODE_SELECTIONS`: ``"linear"``, whole
        nodes; or ``"cores"``, nodes shared by CPUs and memory.
    cr_lln
        True to select the nodes with the largest free share first among nodes of equal weight (CR_LLN);
        otherwise adjacent nodes that fit best. Requires ``"cores"``.
    pack_serial_at_end
        True to place jobs with one CPU on the last node of the least weight. Requires ``"cores"``; `cr_lln`
        takes precedence.
    backfill
        True to run a backfill scheduler; otherwise ``sched/builtin``.
    epilog
        True if nodes run an epilog; its end calls the main loop immediately.
    defer
        True to delay these calls to the next chance of the main loop.
    batch_sched_delay
        Minimum whole seconds between two calls of the main loop.
    sched_interval
        Whole seconds between two passes of the main loop over the whole queue, at least 1.
    sched_min_interval
        Minimum microseconds between two calls of the main loop. Earlier calls are postponed and merged. No
        calls are postponed for values below 10,000.
    default_queue_depth
        Maximum number of jobs tried in other calls of the main loop.
    partition_job_depth
        Maximum number of jobs tried in each partition; 0 for all.
    sched_max_job_start
        Maximum number of jobs started in a call; 0 for all that fit.
    bf_interval
        Whole seconds between two cycles of backfill, at least 1.
    bf_max_time
        Maximum duration of a cycle in whole seconds, at least 1. [default: `bf_interval`]
    bf_yield_interval
        Microseconds after which a cycle pauses. Calls of the main loop and external events are processed in
        the pause. Without a `bf_test_time`, cycles take no time and never pause.
    bf_yield_sleep
        Duration of a pause in microseconds.
    bf_continue
        True to continue a cycle if jobs or nodes changed in a pause; otherwise the cycle ends.
    bf_busy_nodes
        True to plan future starts on nodes in use before idle ones. Requires ``"cores"``.
    bf_resolution
        Plans begin and end at multiples of this number of seconds of the clock.
    bf_window
        How far ahead backfill plans, seconds (minutes in slurm.conf).
    bf_max_job_test
        Maximum number of jobs tried in a cycle.
    bf_max_job_part
        The same for each partition; 0 for all.
    bf_max_job_user
        The same for each user; 0 for all. Jobs without a user are not counted.
    bf_max_job_user_part
        The same for each user in each partition; 0 for all.
    bf_max_job_assoc
        The same for each association, a user in an account; 0 for all.
    bf_max_job_start
        Maximum number of jobs started in a cycle; 0 for no maximum.
    bf_job_part_count_reserve
        Number of jobs in each partition that may get a plan; later ones may only start now. 0 for all.
    bf_min_prio_reserve
        Jobs with a lower priority may only start now. Requires the order ``multifactor``.
    bf_min_age_reserve
        Jobs that became eligible less than this number of seconds ago may only start now.
    bf_one_resv_per_job
        True to plan a job in one of its partitions only, the first possible one.
    bf_max_job_array_resv
        Number of tasks of a job array that may get a plan, at least one; later tasks are skipped.
    over_time_limit
        Seconds that jobs may run beyond their limits (minutes in slurm.conf).
    kill_wait
        Seconds that a job is expected to run beyond its limit and `over_time_limit`.
    message_timeout
        After the first preemptions for a job, no other jobs are preempted for it during this number of
        seconds plus `kill_wait`.
    requeue_delay
        Seconds until a preempted job may start again.
    epoch
        Seconds of the clock (since 1970) at time 0 of the workload.
    main_lag
        Additional delay of each wake-up of the main loop's thread, seconds: 0.002 on an idle controller.
    bf_test_time
        Seconds of backfill per tested entry; the next cycle is delayed by their sum.
    main_phase
        When the main loop passes over the whole queue, seconds within `sched_interval`. [default: drawn with
        the seed of the run]
    limit_phase
        When, within 30 seconds, jobs over their limits are ended under ``walltime="kill"``, and preempted
        jobs after their grace time. [default: drawn]
    backfill_phase
        When, within a second, backfill wakes. [default: drawn]
    backfill_start
        Time of the simulation, seconds, before which no backfill cycle begins. A controller that has just
        started waits for `bf_interval`. [default: the first event]

    Raises
    ------
    PolicyError
        If a value is invalid.

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
    backfill_start: float | None = None

    def __post_init__(self) -> None:
        if self.select not in NODE_SELECTIONS:
            known = suggest(str(self.select), NODE_SELECTIONS)
            raise PolicyError(f"select = {shown(self.select)}; must name how nodes are selected.{known}")
        rules.hold(self, PolicyError, **dict.fromkeys(_SWITCHES, rules.truth))
        for key in _OF_CORES:
            if getattr(self, key) and self.select != "cores":
                raise PolicyError(f"{key} = True; goes with select = 'cores', not with {shown(self.select)}.")
        for key, (least, most) in _WHOLE.items():
            rules.hold(self, PolicyError, **{key: rules.Whole(least, most)})
        if self.bf_max_time is not None:
            rules.hold(self, PolicyError, bf_max_time=rules.Whole(1, _YEAR))
        ends = {
            "main_lag": 1,
            "bf_test_time": 1,
            "main_phase": self.sched_interval,
            "limit_phase": _LIMIT_PERIOD,
            "backfill_phase": 1,
            "backfill_start": math.inf,
        }
        for key, end in ends.items():
            if getattr(self, key) is not None:
                object.__setattr__(self, key, _seconds(key, getattr(self, key), end))

    def arguments(self, written: Collection[str] = ()) -> str:
        """Return the keys with values other than the default, and those in `written`, as in a spec."""
        said = [
            each
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default
            or (each.name in written and value is not None)
        ]
        return ", ".join(f"{each.name}={_written(getattr(self, each.name))}" for each in said)

    @property
    def settings(self) -> ControllerSettings:
        """The kernel's settings, for a machine without resources and with one weight for all nodes."""
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
            # Slurm uses microseconds.
            "sched_min_interval": self.sched_min_interval / 1e6,
            "default_queue_depth": self.default_queue_depth,
            "partition_job_depth": self.partition_job_depth,
            "sched_max_job_start": self.sched_max_job_start,
            # Slurm defers calls by epilogs; they are requested then as on nodes without an epilog.
            "epilog": self.epilog and not self.defer,
            "backfill": self.backfill,
            "bf_interval": self.bf_interval,
            "bf_max_time": longest,
            # Slurm uses microseconds.
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
            "backfill_start": self.backfill_start,
        }


SLURM_KEYS = tuple(each.name for each in fields(SlurmParameters))
"""The keys of ``slurm``."""


def slurm_parameters(text: spec.Spec, call: spec.Call) -> SlurmParameters:
    """Parse the parameters of ``slurm``; keys of other parts of the spec are ignored.

    Raises
    ------
    PolicyError
        If a value is invalid.
    """
    chosen: dict[str, object] = {}
    for key in SLURM_KEYS:
        if key in call.keys:
            chosen[key] = spec.plain(call.keys[key].value)
            # Check each value by itself, to report its position.
            beside = {"select": "cores"} if key in _OF_CORES else chosen if key == "main_phase" else {}
            _made({**beside, key: chosen[key]}, text.where(call.keys[key].position))
    return _made(chosen, text.where(call.position))


def over(
    configured: SlurmParameters, given: SlurmParameters, written: Collection[str], *, by_priority: bool
) -> SlurmParameters:
    """Return the parameters of a configuration, replaced by those given in a spec.

    Parameters
    ----------
    configured, given
        The parameters of the configuration, and those of the spec.
    written
        The keys in the spec; a key with a value other than its default counts as named.
    by_priority
        True if jobs have priorities: the order is ``multifactor``.

    Returns
    -------
    SlurmParameters
        Parameters of the configuration that contradict the given ones are dropped.
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


def _seconds(key: str, value: object, end: float) -> float:
    below = None if end == math.inf else end
    return float(rules.check(PolicyError, key, value, rules.Number(0, below=below, unit="seconds")))


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, float) else str(value)
