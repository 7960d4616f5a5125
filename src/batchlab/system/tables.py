"""Convert partitions, queues, limits and accounts to plain values, as in files of systems."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import TYPE_CHECKING

from batchlab.system.queues import Conditions

if TYPE_CHECKING:
    from batchlab.system.accounts import Account, FairShare, QualityOfService
    from batchlab.system.limits import Limit
    from batchlab.system.node_group import NodeGroup
    from batchlab.system.queues import JobQueue, Partition
    from batchlab.system.reservations import Reservation
    from batchlab.system.sleep_states import SleepState
    from batchlab.system.system import System

__all__ = ["group_fields", "tables"]


def tables(system: System) -> dict[str, object]:
    """Return the description of partitions, queues, limits, accounts and related settings as plain values.

    Parameters
    ----------
    system
        The machine.

    Returns
    -------
    dict
        ``partitions``, ``queues``, ``limits``, ``reservations``, ``accounts`` and ``qos``, each a list of
        mappings; ``fair_share`` and ``preemption``, mappings; and ``requeue``, ``down``, ``core_multiple``,
        ``policy`` and ``note``. Empty lists and values at their defaults are omitted.
    """
    shared = None if system.fair_share is None else _changed(system.fair_share)
    found: dict[str, object] = {
        "partitions": [_table(each) for each in system.partitions],
        "queues": [_table(each) for each in system.queues],
        "limits": [_table(each) for each in system.limits],
        "reservations": [_table(each) for each in system.reservations],
        "fair_share": shared,
        "accounts": [_changed(account) for account in system.accounts],
        "qos": [_changed(quality) for quality in system.qos],
        "preemption": None if system.preemption is None else asdict(system.preemption),
    }
    given = {key: entries for key, entries in found.items() if entries or entries == {}}
    given |= {} if system.requeue else {"requeue": False}
    given |= {} if system.core_multiple == 1 else {"core_multiple": system.core_multiple}
    return given | {name: text for name in ("down", "policy", "note") if (text := getattr(system, name))}


def group_fields(group: NodeGroup) -> dict[str, object]:
    """Return weight, features and sleep states of a group, without those at their defaults."""
    found: dict[str, object] = {} if group.weight == 1 else {"weight": group.weight}
    if group.features:
        found["features"] = list(group.features)
    if group.sleep_states:
        found["sleep_states"] = [_changed(state) for state in group.sleep_states]
    return found


def _table(part: Partition | JobQueue | Limit | Reservation) -> dict[str, object]:
    table: dict[str, object] = {"name": part.name}
    for key in fields(part):
        value = getattr(part, key.name)
        usual = key.default if key.default_factory is MISSING else key.default_factory()
        if key.name == "name" or value == usual:
            continue
        if isinstance(value, Conditions):
            table[key.name] = value.given
        elif value == math.inf:
            table[key.name] = "inf"  # JSON has no such number
        else:
            table[key.name] = dict(value) if isinstance(value, Mapping) else value
    return table


def _changed(part: Account | QualityOfService | FairShare | SleepState) -> dict[str, object]:
    """Return the fields of a description that are not at their defaults."""
    values: dict[str, object] = {}
    for each in fields(part):
        value = getattr(part, each.name)
        default = each.default_factory() if each.default_factory is not MISSING else each.default
        if value != default:
            values[each.name] = _plain(value)
    return values


def _plain(value: object) -> object:
    if isinstance(value, Mapping) and value and all(isinstance(name, tuple) for name in value):
        rows = [{"account": of[0], "user": of[1], "usage": _plain(each)} for of, each in value.items()]
        return [{name: each for name, each in row.items() if each is not None} for row in rows]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if value == math.inf:
        return "inf"  # JSON has no such number
    return int(value) if isinstance(value, float) and value.is_integer() else value
