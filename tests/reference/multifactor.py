"""The multifactor priority (S12), as the specification says it."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from reference.numbers import divide

if TYPE_CHECKING:
    from collections.abc import Mapping


def age(eligible_for: float, max_age: float) -> float:
    """Give the factor of the age."""
    return min(1.0, max(0.0, eligible_for) / max_age)


def size(favour: str, nodes: float, processors: float, minutes: float, machine: tuple[float, float]) -> float:
    """Give the factor of the size."""
    all_nodes, all_processors = machine
    of_time = divide(divide(max(nodes * all_processors / all_nodes, processors), minutes), all_processors)
    of_all = divide(processors, all_processors)
    factor = {
        "large": (nodes / all_nodes + of_all) / 2,
        "small": ((all_nodes - nodes) / all_nodes + divide(all_processors - processors, all_processors)) / 2,
        "large_for_time": of_time,
        "small_for_time": 1 - of_time,
    }[favour]
    return 0.0 if isnan(factor) else min(1.0, max(0.0, factor))


def total(
    weights: Mapping[str, float], factors: Mapping[str, float], nice: float = 0.0, site: float = 0.0
) -> float:
    """Give the weighted sum."""
    return site + sum(weights[name] * factors[name] for name in weights) - nice


def priority(value: float) -> int:
    """Cut a sum to a priority."""
    return int(min(max(1.0, value), 2**32 - 1))
