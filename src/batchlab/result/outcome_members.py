"""Outcomes in archives: the columns of an `Outcome` as compact members, and back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.result.archive import compact
from batchlab.result.outcome import Outcome
from batchlab.result.table import PASS_COSTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["group", "members_of", "outcome_of"]

# The table `dispatch` in archives.
_PASSES = "passes"
# The member with the types of the columns: in archives integers are as small as their values allow.
_KINDS = "kinds"
# The tables and the types of columns in archives of earlier builds, which lack this member.
_EARLIER_TABLES = (
    *("waiting", "reasons", "interruptions", "short_runs", "resizes", "task_times", "sensed", "usage"),
    *("power_states", "closures", "rates", "key_events", "ranks", "messages", "links"),
)
_EARLIER_KINDS: Mapping[str, Any] = {
    "state": np.uint8,
    "reason": np.uint8,
    "waiting/reason": np.uint32,
    "reasons/reason": np.uint32,
    "start_time": np.float64,
    "end_time": np.float64,
    "requested_time": np.float64,
    "time_limit": np.float64,
    "application_time": np.float64,
    "allocated": np.int64,
    "range_offsets": np.int64,
    "range_first": np.uint32,
    "range_count": np.uint32,
    "range_tasks": np.uint32,
    "placement_offsets": np.int64,
    "placement_nodes": np.uint32,
    "placement_tasks": np.uint32,
    "queue_length": np.uint64,
    "started": np.uint64,
    "row": np.uint32,
    "host": np.uint32,
    "task": np.uint32,
    "power_states/node": np.uint32,
    "power_states/state": np.uint16,
    "closures/node": np.uint32,
    "rates/control": np.uint32,
    "key_events/event": np.uint8,
    "key_events/row": np.int64,
    "key_events/present": np.uint64,
    "key_events/served": np.uint64,
    "ranks/offsets": np.int64,
    "ranks/nodes": np.uint32,
    "messages/kind": np.uint32,
    "messages/messages": np.uint64,
    "messages/hops": np.uint64,
    "messages/max_hops": np.uint32,
}


def members_of(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as members, without the costs of passes, which differ from run to run.

    Parameters
    ----------
    outcome
        The outcome of a run.

    Returns
    -------
    dict
        NumPy arrays by the names of their fields, those of groups as ``group/name``, of passes as
        ``passes/name``; and lists of names. Not ``now``.
    """
    values = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
    found: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    for table, columns in outcome.tables.items():
        # What passes cost, no other run has.
        left = PASS_COSTS if table == "dispatch" else ()
        prefix = _PASSES if table == "dispatch" else table
        found |= {f"{prefix}/{name}": column for name, column in columns.items() if name not in left}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    members = {name: compact(value) if name in arrays else value for name, value in found.items()}
    if outcome.sensing_links:
        members["sensing_links"] = list(outcome.sensing_links)
    return members | {_KINDS: {name: value.dtype.name for name, value in arrays.items()}}


def outcome_of(members: Mapping[str, Any]) -> Outcome:
    """Make an outcome from its members.

    Parameters
    ----------
    members
        Those of `members_of`, and ``now``; tables and documents among them are ignored.

    Returns
    -------
    Outcome
        Without the costs of passes, unless ``passes/…`` has them.
    """
    kinds = members.get(_KINDS) or _earlier_kinds(members)
    columns = {name: members[name].astype(kind, copy=False) for name, kind in kinds.items()}
    own: dict[str, Any] = {name: value for name, value in columns.items() if "/" not in name}
    names = dict.fromkeys(_prefixes(columns))
    tables: dict[str, dict[str, Any]] = {name: group(columns, name) for name in names}
    for name, columns_of in tables.items():
        # Numbers of this table refer to these texts.
        if f"{name}/names" in members:
            columns_of["names"] = members[f"{name}/names"]
    if _PASSES in tables:
        costs = {name: members[f"{_PASSES}/{name}"] for name in PASS_COSTS if f"{_PASSES}/{name}" in members}
        tables["dispatch"] = tables.pop(_PASSES) | costs
    sensing_links = tuple(members.get("sensing_links", ()))
    return Outcome(**own, now=members["now"], sensing_links=sensing_links, tables=tables)


def _prefixes(names: Iterable[str]) -> Iterator[str]:
    return (name.partition("/")[0] for name in names if "/" in name)


def _earlier_kinds(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kinds of the columns in an archive of an earlier build."""
    known = {*_EARLIER_TABLES, _PASSES}
    return {
        name: _EARLIER_KINDS.get(name, _EARLIER_KINDS.get(name.rpartition("/")[2], value.dtype))
        for name, value in members.items()
        if isinstance(value, np.ndarray) and ("/" not in name or name.partition("/")[0] in known)
    }


def group(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the members of a group, by their names without that of the group."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in members.items() if key.startswith(prefix)}
