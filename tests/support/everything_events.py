"""Random overheads and external events of runs in which everything happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import batchlab as bl

if TYPE_CHECKING:
    from random import Random

__all__ = ["EVENTS", "longest_limit", "random_events", "random_overheads"]

_OF_JOBS = ("cancel", "kill", "end", "requeue", "hold", "release", "requested_time", "priority")
# Most jobs run for a short time only.
_OF_RUNNING = ("kill", "end", "requeue")
_OF_NODES = ("drain", "resume", "remove", "add", "down", "up")
_OF_SCHEDULER = ("scheduler_stop", "scheduler_start")
EVENTS = (*_OF_JOBS, *_OF_NODES, *_OF_SCHEDULER)
_UNDONE_BY = {"drain": "resume", "remove": "add", "down": "up", "scheduler_stop": "scheduler_start"}
# By then all nodes are back, and the scheduler goes on.
_LAST = 60


def random_overheads(rng: Random, workload: bl.Workload) -> bl.Overheads:
    """Give overheads in whole seconds; of the run only where no job has an application."""
    of_runs = "application" not in workload.jobs.columns
    return bl.Overheads(
        launch=(0.0, 0.0, float(rng.randint(0, 3))),
        execution=(0.0, 1.0) if of_runs else 0.0,
        completion=(0.0, 0.0, float(rng.randint(0, 4))),
        counted=rng.random() < 0.5,
        billed=rng.random() < 0.5,
    )


def random_events(rng: Random, workload: bl.Workload, nodes: int) -> list[dict[str, Any]]:
    """Give events, many of them at one instant."""
    rows = workload.jobs.select("job_id", "submit_time").rows()
    instants = [rng.randint(0, 20) for _ in range(4)]
    events = []
    for _ in range(rng.randint(1, 3 * len(rows))):
        time = rng.choice(instants) if rng.random() < 0.7 else rng.randint(0, 2 * _LAST)
        kind = (
            rng.choice((*_OF_JOBS, *_OF_RUNNING * 4))
            if rng.random() < 0.75
            else rng.choice((*_OF_NODES, *_OF_SCHEDULER))
        )
        event: dict[str, Any] = {"time": float(time), "event": kind}
        if kind in _OF_JOBS:
            event["job_id"] = rng.choice(rows)[0]
        if kind in _OF_NODES:
            first = rng.randrange(nodes)
            event["nodes"] = f"{first}-{rng.randint(first, nodes - 1)}"
            if kind == "down":
                event["jobs"] = rng.choice(("requeue", "kill"))
        if kind in _UNDONE_BY and rng.random() < 0.7:
            undone = {"time": float(time + rng.randint(0, 5)), "event": _UNDONE_BY[kind]}
            events.append(event | undone if "jobs" not in event else {"nodes": event["nodes"], **undone})
        if kind == "requested_time" or (kind == "priority" and rng.random() < 0.8):
            event["value"] = float(rng.randint(0, 12))
        events.append(event)
    events = [event for event in events if event["event"] != "scheduler_stop" or event["time"] < _LAST]
    events += [{"time": float(_LAST), "event": kind, "nodes": f"0-{nodes - 1}"} for kind in ("up", "add")]
    return [*events, {"time": float(_LAST), "event": "scheduler_start"}]


def longest_limit(result: bl.Result, job_id: int, limit: float) -> float:
    """Give the longest requested_time that a job may have had."""
    if result.external_events is None:
        return limit
    table = result.external_events.table
    if "value" not in table.columns:
        return limit
    changes = table.filter((table["job_id"] == job_id) & (table["event"] == "requested_time"))
    longest: float = max([limit, *changes["value"].to_list()])
    return longest
