"""What is said of partitions, queues, limits and reservations, as plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, TypeAlias

from batchlab.system.queues import Conditions

if TYPE_CHECKING:
    from batchlab.system.limits import Limit
    from batchlab.system.queues import JobQueue, Partition
    from batchlab.system.reservations import Reservation
    from batchlab.system.system import System

    _Part: TypeAlias = Partition | JobQueue | Limit | Reservation

__all__ = ["tables"]


def tables(system: System) -> dict[str, list[dict[str, object]]]:
    """Give what is said of partitions, queues, limits and reservations, as files of systems have it.

    Returns
    -------
    dict
        ``partitions``, ``queues``, ``limits`` and ``reservations``, each a list of mappings of plain values,
        and left out where it is empty. So is what is as it would be unsaid.
    """
    parts: dict[str, tuple[_Part, ...]] = {
        "partitions": system.partitions,
        "queues": system.queues,
        "limits": system.limits,
        "reservations": system.reservations,
    }
    return {key: [_table(each) for each in entries] for key, entries in parts.items() if entries}


def _table(part: _Part) -> dict[str, object]:
    table: dict[str, object] = {"name": part.name}
    for key in fields(part):
        value = getattr(part, key.name)
        usual = key.default if key.default_factory is MISSING else key.default_factory()
        if key.name == "name" or value == usual:
            continue
        if isinstance(value, Conditions):
            table[key.name] = value.given
        elif value == math.inf:
            # JSON has no such number.
            table[key.name] = "inf"
        else:
            table[key.name] = dict(value) if isinstance(value, Mapping) else value
    return table
