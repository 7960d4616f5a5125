"""A policy as the kernel gets it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from batchlab.errors import PolicyError
from batchlab.policy.allocator import Allocator
from batchlab.policy.mappings import mapping_of, ranking_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from batchlab._kernel import ControllerSettings, FactorSettings, PolicyNames
    from batchlab.policy.policy import Policy
    from batchlab.policy.slurm import SlurmParameters
    from batchlab.system import System

__all__ = ["CRITICAL", "KEY_COLUMN", "OF_COLUMNS", "SCORE_COLUMN", "policy_names", "takes_now"]

CRITICAL = ("mic", "gpu")
"""The resources that the allocator ``balanced`` spares, as far as the system has them."""

KEY_COLUMN = "order_key"
"""The column of the keys that a function gives to all jobs at once."""

SCORE_COLUMN = "score"
"""The column of the scores of the order ``sbp``."""

OF_COLUMNS = frozenset({"expression", "sbp", "multifactor", "sjf_node_hours", "ljf_node_hours"})
"""Orders that ask for columns of the jobs which a run under another order does not hold."""


def policy_names(policy: Policy, seed: int, system: System) -> PolicyNames:
    """Give the names of a policy's parts, the seed of the run, and the system's critical resources."""
    decides = policy.scheduler is not None
    order, argument = policy.order_name, policy.order_argument or None
    if not isinstance(policy.order, str):
        order, argument = ("external", None) if takes_now(policy.order) else ("expression", KEY_COLUMN)
    elif order == "sbp":
        from batchlab.policy.orders import score_growth  # noqa: PLC0415  # other orders do without

        # As all scores grow alike, their order does not change.
        order, argument = "expression", f"{score_growth(policy.order)!r} * submit_time - {SCORE_COLUMN}"
    return {
        "order": order,
        "argument": argument,
        "multifactor": _multifactor(policy, system),
        "backfill": "external" if decides else policy.backfill,
        "allocator": _allocator(policy).partition("(")[0],
        "reservations": 1 if decides else policy.reservations,
        "slurm": None if policy.slurm is None else _controller(policy.slurm, system),
        "seed": seed,
        "mapping": mapping_of(name, system) if (name := _allocator(policy)) != "external" else None,
        "ranking": ranking_of(_allocator(policy)) if _allocator(policy) != "external" else "load",
        "critical": [system.resources.index(name) for name in CRITICAL if name in system.resources],
    }


def _controller(parameters: SlurmParameters, system: System) -> ControllerSettings:
    """Give the parameters of the rule ``slurm``, and which resources and weights its nodes have."""
    index = {name: place for place, name in enumerate(system.resources)}
    return {
        "select": parameters.select,
        "cr_lln": parameters.cr_lln,
        "pack_serial_at_end": parameters.pack_serial_at_end,
        "core": index.get("core"),
        "memory": index.get("mem"),
        "gpu": index.get("gpu"),
        "weights": [(group.weight, group.count) for group in system.groups],
        "batch_sched_delay": parameters.batch_sched_delay,
        "sched_interval": parameters.sched_interval,
        # Slurm gives microseconds.
        "sched_min_interval": parameters.sched_min_interval / 1e6,
        "default_queue_depth": parameters.default_queue_depth,
        "partition_job_depth": parameters.partition_job_depth,
        "sched_max_job_start": parameters.sched_max_job_start,
        # Slurm defers the calls of epilogs: they are wanted then as those of nodes without one.
        "epilog": parameters.epilog and not parameters.defer,
        "backfill": parameters.backfill,
        "bf_interval": parameters.bf_interval,
        "bf_max_time": parameters.bf_interval if parameters.bf_max_time is None else parameters.bf_max_time,
        # Slurm gives microseconds.
        "bf_yield_interval": parameters.bf_yield_interval / 1e6,
        "bf_yield_sleep": parameters.bf_yield_sleep / 1e6,
        "bf_continue": parameters.bf_continue,
        "bf_busy_nodes": parameters.bf_busy_nodes,
        "bf_resolution": float(parameters.bf_resolution),
        "bf_window": float(parameters.bf_window),
        "bf_max_job_test": parameters.bf_max_job_test,
        "bf_max_job_part": parameters.bf_max_job_part,
        "bf_max_job_user": parameters.bf_max_job_user,
        "bf_max_job_user_part": parameters.bf_max_job_user_part,
        "bf_max_job_assoc": parameters.bf_max_job_assoc,
        "bf_max_job_start": parameters.bf_max_job_start,
        "bf_job_part_count_reserve": parameters.bf_job_part_count_reserve,
        "bf_min_prio_reserve": float(parameters.bf_min_prio_reserve),
        "bf_min_age_reserve": float(parameters.bf_min_age_reserve),
        "bf_one_resv_per_job": parameters.bf_one_resv_per_job,
        "bf_max_job_array_resv": parameters.bf_max_job_array_resv,
        "over_time_limit": float(parameters.over_time_limit),
        "kill_wait": float(parameters.kill_wait),
        "message_timeout": float(parameters.message_timeout),
        "requeue_delay": float(parameters.requeue_delay),
        "epoch": float(parameters.epoch),
        "main_lag": parameters.main_lag,
        "bf_test_time": parameters.bf_test_time,
        "main_phase": parameters.main_phase,
        "limit_phase": parameters.limit_phase,
        "backfill_phase": parameters.backfill_phase,
    }


def _multifactor(policy: Policy, system: System) -> FactorSettings | None:
    """Give what the multifactor priority is made of, on a machine."""
    if policy.order_name != "multifactor" or not isinstance(policy.order, str):
        return None
    from batchlab.policy.orders import Multifactor  # noqa: PLC0415  # other orders do without

    rule = Multifactor.of(policy.order)
    return {
        "age": rule.age,
        "association": rule.association,
        "fair_share": rule.fair_share,
        "job_size": rule.job_size,
        "partition": rule.partition,
        "qos": rule.qos,
        "resources": [*rule.tres.values()],
        "max_age": rule.max_age,
        "favour": rule.favour,
        "nodes": system.nodes,
        "processors": system.total["core"] if "core" in system.resources else system.processors,
    }


def _allocator(policy: Policy) -> str:
    """Give the name of the allocator; a scheduler written in Python asks one written in Python by itself."""
    if isinstance(policy.allocator, Allocator):
        return "external" if policy.scheduler is None else "first_fit"
    return policy.allocator


def takes_now(order: Callable[..., npt.ArrayLike]) -> bool:
    """Tell whether an order's keys change with time: whether it takes the jobs and now, or the jobs alone.

    Raises
    ------
    PolicyError
        If it takes neither one nor two arguments.
    """
    try:
        signature = inspect.signature(order)
    except ValueError:
        # What is compiled may not say; operator.attrgetter("tasks") is such an order.
        return False
    # A second parameter with a default is the order's own business.
    for count in (1, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count == 2  # noqa: PLR2004  # the jobs and now
    raise PolicyError(f"order = {order!r}; must take the jobs' columns, or these and now.")
