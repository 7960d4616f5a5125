"""Outcomes in archives: the columns of an `Outcome` as compact members, and back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.result.archive import compact
from batchlab.result.outcome import OUTCOME_GROUPS, Outcome
from batchlab.result.table import PASS_COSTS

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["group", "members_of", "outcome_of"]

# The types of columns in an `Outcome`; in archives integers are as small as their values allow.
_KINDS: Mapping[str, Any] = {
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
    members: dict[str, Any] = {
        name: compact(value) for name, value in values.items() if isinstance(value, np.ndarray)
    }
    passes = {name: column for name, column in (outcome.dispatch or {}).items() if name not in PASS_COSTS}
    groups = {"passes": passes, **{name: getattr(outcome, name) or {} for name in OUTCOME_GROUPS}}
    for prefix, columns in groups.items():
        for name, column in columns.items():
            members[f"{prefix}/{name}"] = compact(column) if isinstance(column, np.ndarray) else column
    if outcome.sensing_links:
        members["sensing_links"] = list(outcome.sensing_links)
    return members


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
    columns = {
        name: value.astype(_KINDS.get(name, _KINDS.get(name.rpartition("/")[2], value.dtype)), copy=False)
        for name, value in members.items()
        if isinstance(value, np.ndarray)
    }
    own: dict[str, Any] = {name: value for name, value in columns.items() if "/" not in name}
    groups: dict[str, Any] = {name: group(columns, name) or None for name in OUTCOME_GROUPS}
    groups["dispatch"] = group(columns, "passes") or None
    for name in ("task_times", "messages"):
        if groups[name]:
            groups[name]["names"] = members[f"{name}/names"]
    sensing_links = tuple(members.get("sensing_links", ()))
    return Outcome(**own, now=members["now"], sensing_links=sensing_links, **groups)


def group(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the members of a group, by their names without that of the group."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in members.items() if key.startswith(prefix)}
