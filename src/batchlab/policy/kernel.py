"""Convert a policy to the settings of the kernel."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from batchlab.core.late import policy_orders as orders
from batchlab.errors import PolicyError
from batchlab.policy.parts import settings_of
from batchlab.seam.components import Allocator

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from batchlab._kernel import ControllerSettings, FactorSettings, PolicyNames
    from batchlab.policy.policy import Policy
    from batchlab.policy.slurm import SlurmParameters
    from batchlab.system import System


__all__ = ["CRITICAL", "KEY_COLUMN", "SCORE_COLUMN", "policy_names", "takes_now"]

CRITICAL = ("mic", "gpu")
"""Scarce resources that the allocator ``balanced`` saves, if the system has them."""

KEY_COLUMN = "order_key"
"""Column with the keys that an order function computes for all jobs at once."""

SCORE_COLUMN = "score"
"""Column with the scores of the order ``sbp``."""


def policy_names(policy: Policy, seed: int, system: System) -> PolicyNames:
    """Return the settings of a policy for the kernel, with the seed of the run and critical resources."""
    decides = policy.scheduler is not None
    order, argument = policy.order_name, policy.order_argument or None
    if not isinstance(policy.order, str):
        order, argument = ("external", None) if takes_now(policy.order) else ("expression", KEY_COLUMN)
    elif order == "sbp":
        # All scores grow at the same rate, so the order of two jobs never changes.
        order, argument = (
            "expression",
            f"{orders.score_growth(policy.order)!r} * submit_time - {SCORE_COLUMN}",
        )
    return {
        "order": order,
        "argument": argument,
        "multifactor": _multifactor(policy, system),
        "backfill": "external" if decides else policy.backfill,
        "allocator": _allocator(policy).partition("(")[0],
        "reservations": 1 if decides else policy.reservations,
        "slurm": None if policy.slurm is None else _controller(policy.slurm, system),
        "seed": seed,
        "placement": settings_of(_allocator(policy), system),
        "critical": [system.resources.index(name) for name in CRITICAL if name in system.resources],
    }


def _controller(parameters: SlurmParameters, system: System) -> ControllerSettings:
    """Return the parameters of the rule ``slurm`` with the resources and the weights of its nodes."""
    index = {name: place for place, name in enumerate(system.resources)}
    return {
        "parameters": parameters.settings,
        "core": index.get("core"),
        "memory": index.get("mem"),
        "gpu": index.get("gpu"),
        "weights": [(group.weight, group.count) for group in system.groups],
    }


def _multifactor(policy: Policy, system: System) -> FactorSettings | None:
    """Return the settings of the multifactor priority on a machine."""
    if policy.order_name != "multifactor" or not isinstance(policy.order, str):
        return None

    rule = orders.Multifactor.of(policy.order)
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
    """Return the name of the allocator; a scheduler written in Python calls a Python allocator itself."""
    if isinstance(policy.allocator, Allocator):
        return "external" if policy.scheduler is None else "first_fit"
    return policy.allocator


def takes_now(order: Callable[..., npt.ArrayLike]) -> bool:
    """Return whether an order's keys change with time: it has a second parameter, the present time.

    Raises
    ------
    PolicyError
        If the function accepts neither one nor two arguments.
    """
    try:
        signature = inspect.signature(order)
    except ValueError:
        # Compiled callables may have no signature, e.g. operator.attrgetter("tasks").
        return False
    # Ignore a second parameter with a default.
    for count in (1, 2):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return count == 2  # noqa: PLR2004  # the jobs and now
    raise PolicyError(f"order = {order!r}; must take the jobs' columns, or these and now.")
