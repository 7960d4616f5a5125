"""Validation of records in the store; an invalid record counts as missing."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["COSTS", "COUNTS", "is_failure", "is_record"]

COSTS = (
    "elapsed",
    "cpu_time",
    "dispatch_cpu_time",
    "dispatch_passes",
    "memory_average",
    "memory_maximum",
)
"""Recorded costs of a run: seconds, a count, and bytes."""

COUNTS = ("dispatch_passes", "memory_maximum")
"""Costs that are integers."""

_DIGEST = re.compile(r"[0-9a-f]{32}")
_ALWAYS_MEASURED = ("elapsed", "cpu_time")
_LARGEST = 2**63 - 1


def is_record(found: object, key: str) -> bool:
    """Return whether a document is the record of a run: with this key, a schedule, costs and metrics."""
    if not isinstance(found, Mapping) or found.get("key") != key:
        return False
    costs, schedule = found.get("costs"), found.get("schedule")
    return (
        isinstance(schedule, str)
        # The digest becomes part of a path.
        and _DIGEST.fullmatch(schedule) is not None
        and isinstance(costs, Mapping)
        and all(name in costs and _is_cost(name, costs[name]) for name in COSTS)
        and isinstance(found.get("metrics"), Mapping)
        and _are_measures(found["metrics"])
    )


def is_failure(found: object) -> bool:
    """Return whether a document describes the error that ended a run."""
    return isinstance(found, Mapping) and all(
        isinstance(found.get(name), str) for name in ("error", "message", "traceback")
    )


def _is_cost(name: str, value: object) -> bool:
    if value is None:
        return name not in _ALWAYS_MEASURED
    return _is_number(value) and (name not in COUNTS or isinstance(value, int))


def _are_measures(found: object) -> bool:
    """Return whether a document contains only named numbers and nulls."""
    if isinstance(found, Mapping):
        return all(map(_are_measures, found.values()))
    return found is None or _is_number(found)


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= _LARGEST)
