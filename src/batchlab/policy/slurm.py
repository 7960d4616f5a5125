"""The backfilling rule ``slurm``: the parameters of Slurm's controller by their names in slurm.conf."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

from batchlab.core import spec
from batchlab.core.declared import hold
from batchlab.errors import PolicyError
from batchlab.policy.registry import BACKFILLS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from batchlab.core.declared import Parameter, ParameterValue
    from batchlab.core.vocabulary import NodeSelection

__all__ = ["SLURM_KEYS", "SlurmParameters", "over", "slurm_parameters"]

PARAMETERS = BACKFILLS["slurm"].parameters
"""The kernel's table of the parameters of ``slurm``, by name."""


@dataclass(frozen=True)
class SlurmParameters:
    """Parameters of the backfilling rule ``slurm``; names and defaults as in slurm.conf.

    Parameters
    ----------
    select
        How nodes are selected: ``linear``, whole nodes (select/linear); or ``cores``, nodes shared by CPUs,
        memory and other resources (select/cons_tres).
    cr_lln
        True to select the nodes with the largest free share first among nodes of equal weight; otherwise
        adjacent nodes that fit best. Requires ``select=cores``.
    pack_serial_at_end
        True to place jobs with one CPU on the last node of the least weight; `cr_lln` takes precedence.
        Requires ``select=cores``.
    backfill
        True to run a backfill scheduler; otherwise the main loop alone (sched/builtin).
    epilog
        True if nodes run an epilog; its end calls the main loop immediately.
    defer
        True to delay these calls to the next chance of the main loop.
    batch_sched_delay
        Minimum whole seconds between two calls of the main loop.
    sched_interval
        Whole seconds between two passes of the main loop over the whole queue.
    sched_min_interval
        Minimum microseconds between two calls of the main loop. Earlier calls are postponed and merged. No
        calls are postponed for values below 10,000.
    default_queue_depth
        Maximum number of jobs tried in other calls of the main loop.
    partition_job_depth
        Maximum number of jobs that a call of the main loop tries in each partition; 0 for all.
    sched_max_job_start
        Maximum number of jobs started in a call of the main loop; 0 for all that fit.
    bf_interval
        Whole seconds between two cycles of backfill.
    bf_max_time
        Maximum duration of a cycle in whole seconds. [default: `bf_interval`]
    bf_yield_interval
        Microseconds after which a cycle pauses. Calls of the main loop and external events are processed in
        the pause. Without a `bf_test_time`, cycles take no time and never pause.
    bf_yield_sleep
        Duration of a pause in microseconds.
    bf_continue
        True to continue a cycle if jobs or nodes changed in a pause; otherwise the cycle ends.
    bf_busy_nodes
        True to plan future starts on nodes in use before idle ones. Requires ``select=cores``.
    bf_resolution
        Plans begin and end at multiples of this number of seconds of the clock.
    bf_window
        Planning horizon of backfill, seconds.
    bf_max_job_test
        Maximum number of jobs tried in a cycle.
    bf_max_job_part
        Maximum number of jobs tried in a cycle in each partition; 0 for all.
    bf_max_job_user
        Maximum number of jobs tried in a cycle of each user; 0 for all. Jobs without a user are not counted.
    bf_max_job_user_part
        Maximum number of jobs tried in a cycle of each user in each partition; 0 for all.
    bf_max_job_assoc
        Maximum number of jobs tried in a cycle of each association, a user in an account; 0 for all.
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
        Seconds that jobs may run beyond their limits, checked every 30 s under ``walltime="kill"``. A
        partition may have an `over_time_limit` of its own.
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
        jobs after their grace time. [default: drawn with the seed of the run]
    backfill_phase
        When, within a second, backfill wakes. [default: drawn with the seed of the run]
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
        hold(self, PolicyError, PARAMETERS)

    def arguments(self, written: Collection[str] = ()) -> str:
        """Return the keys with values other than the default, and those in `written`, as in a spec."""
        said = [
            each
            for each in fields(self)
            if (value := getattr(self, each.name)) != each.default
            or (each.name in written and value is not None)
        ]
        return ", ".join(
            f"{each.name}={PARAMETERS[each.name].written(getattr(self, each.name))}" for each in said
        )

    @property
    def settings(self) -> dict[str, ParameterValue]:
        """The parameters by name, for the kernel."""
        return dict(vars(self))


SLURM_KEYS = tuple(PARAMETERS)
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
            _made({**_beside(PARAMETERS[key], chosen), key: chosen[key]}, text.where(call.keys[key].position))
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
    merged = {**vars(configured), **named}
    needless = [
        key
        for key, each in PARAMETERS.items()
        if each.requires and merged[each.requires[0]] != each.requires[1]
    ]
    needless += [] if by_priority else ["bf_min_prio_reserve"]
    return replace(configured, **{key: PARAMETERS[key].usual for key in needless} | named)


def _beside(parameter: Parameter, chosen: Mapping[str, object]) -> dict[str, object]:
    """Return the values of other parameters with which one is valid."""
    if parameter.requires is not None:
        return dict([parameter.requires])
    bound = parameter.below_parameter
    return {bound: chosen[bound]} if bound is not None and bound in chosen else {}


def _made(chosen: Mapping[str, object], where: str) -> SlurmParameters:
    try:
        return SlurmParameters(**cast("dict[str, Any]", chosen))
    except PolicyError as error:
        raise PolicyError(f"{error}{where}") from None
