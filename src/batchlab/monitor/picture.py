"""Data of the page: numbers of the run, its queue, the jobs on nodes, and new points of curves."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from batchlab.monitor.questions import overview

if TYPE_CHECKING:
    from batchlab.monitor.history import Stretch
    from batchlab.monitor.snapshot import RunFacts, Snapshot

__all__ = ["picture"]

_QUEUE_SHOWN = 20


def picture(snapshot: Snapshot, news: Stretch) -> dict[str, object]:
    """Describe a run for the page.

    Parameters
    ----------
    snapshot
        The run.
    news
        The points of the curves that the page does not have.

    Returns
    -------
    dict
        JSON values: the numbers of `overview`, the machine, the running jobs, the jobs that ended last, the
        queue and the curves.
    """
    status, facts = snapshot.status, snapshot.facts
    running = len(status.running)
    curves = asdict(news)
    curves["utilisation"] = {name: _finite(values) for name, values in news.utilisation.items()}
    return {
        **overview(snapshot),
        "now": status.now,
        "origin": None if facts.origin is None else facts.origin.timestamp(),
        "time_zone": facts.workload.header.time_zone_string,
        "first": facts.first_submission,
        "system": _system(facts),
        "placements": [_placement(snapshot, place) for place in range(running)],
        "ended": [_placement(snapshot, running + place) for place in range(len(status.ended))],
        "known_since": _known_since(snapshot),
        "drained": np.flatnonzero(status.drained).tolist(),
        "queue": [_queued(snapshot, row) for row in status.queue[:_QUEUE_SHOWN].tolist()],
        "history": curves,
    }


def _system(facts: RunFacts) -> dict[str, object]:
    system = facts.system
    return {
        "name": system.name,
        "resources": list(system.resources),
        "total": list(system.total.values()),
        "groups": [
            [group.count, [group.resources.get(name, 0) for name in system.resources]]
            for group in system.groups
        ],
    }


def _placement(snapshot: Snapshot, place: int) -> list[object]:
    """Describe a running or ended job.

    The entries: number, row, start, end (expected end of running jobs, or None), amounts per task (or None
    for whole nodes), nodes, tasks on them, time since when the job holds them.
    """
    status, facts = snapshot.status, snapshot.facts
    running = len(status.running)
    row = int(status.running[place] if place < running else status.ended[place - running])
    start = float(status.start_time[row])
    whole = facts.exclusive is not None and bool(facts.exclusive[row])
    amounts = [int(amount) if isinstance(amount, int) else int(amount[row]) for amount in facts.amounts]
    nodes, tasks = status.placement(place)
    end = float(start + facts.requested_time[row] if place < running else status.end_time[row])
    return [
        int(facts.job_ids[row]),
        row,
        start,
        None if math.isinf(end) else end,
        None if whole else amounts,
        nodes.tolist(),
        tasks.tolist(),
        float(status.allocated_since[place]),
    ]


def _known_since(snapshot: Snapshot) -> float:
    """Return the time (s) since when all ended jobs are included: the end of the first one included."""
    status = snapshot.status
    over = sum(status.counts[state] for state in ("completed", "killed", "cancelled"))
    if over <= len(status.ended):
        return snapshot.facts.first_submission
    return float(status.end_time[status.ended[0]]) if len(status.ended) else status.now


def _queued(snapshot: Snapshot, row: int) -> list[object]:
    """Describe a waiting job: number, submission, tasks, requested time."""
    jobs = snapshot.facts.workload.jobs
    asked = float(jobs["requested_time"][row])
    return [
        int(snapshot.facts.job_ids[row]),
        float(jobs["submit_time"][row]),
        int(jobs["tasks"][row]),
        None if math.isinf(asked) else asked,
    ]


def _finite(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else round(value, 4) for value in values]
