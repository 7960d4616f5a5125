"""Questions about a running simulation, and their answers as JSON values."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from batchlab import _kernel
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import MonitorError, ResultError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from batchlab.monitor.snapshot import ResultExchange, RunFacts, Snapshot, Stretch

__all__ = ["QUESTIONS", "answer", "explanation", "overview", "picture"]


Document = dict[str, object]


def answer(snapshot: Snapshot, words: Sequence[str]) -> Document:
    """Answer a question about a run.

    Parameters
    ----------
    snapshot
        The run.
    words
        A key of `QUESTIONS`, followed by a number for ``job`` and ``node``.

    Returns
    -------
    dict
        The answer; ``time`` is the simulated time of its data.

    Raises
    ------
    MonitorError
        If the question, the job or the node is unknown.
    """
    name, *rest = words or ("status",)
    if name not in QUESTIONS:
        raise MonitorError(f"nothing is called {shown(name)}.{suggest(name, QUESTIONS)}")
    reply, argument = QUESTIONS[name]
    if len(rest) != (argument is not None):
        wanted = f"must be followed by {argument}" if argument else "takes nothing after it"
        raise MonitorError(f"{name!r} {wanted}; given {shown(' '.join(rest)) if rest else 'nothing'}.")
    return {"time": snapshot.status.now, **reply(snapshot, *rest)}


def overview(snapshot: Snapshot) -> Document:
    """Return the main numbers of a run."""
    status, facts = snapshot.status, snapshot.facts
    date = snapshot.date
    return {
        "workload": facts.title,
        "policy": facts.policy,
        "phase": snapshot.phase,
        "simulated": snapshot.simulated,
        "date": None if date is None else date.isoformat(),
        "jobs": snapshot.jobs,
        "finished": status.finished,
        **status.counts,
        "utilisation": _without_nan(status.utilisation),
        "drained_nodes": int(status.drained.sum()),
        "elapsed": snapshot.elapsed,
        "cpu_time": snapshot.cpu_time,
        "memory": snapshot.memory,
        "speed": snapshot.speed,
        "pace": snapshot.pace.rate,
        "paused": snapshot.pace.is_paused,
    }


def _status(snapshot: Snapshot) -> Document:
    return overview(snapshot)


def _queued(snapshot: Snapshot) -> Document:
    return {"jobs": [_waiting(snapshot, row) for row in snapshot.status.queue.tolist()]}


def _running(snapshot: Snapshot) -> Document:
    return {"jobs": [_placed(snapshot, index) for index in range(len(snapshot.status.running))]}


def _job(snapshot: Snapshot, number: str) -> Document:
    rows = np.flatnonzero(snapshot.facts.job_ids == _integer(number, "job"))
    if not len(rows):
        raise MonitorError(f"no job has the number {number}; the workload has {snapshot.jobs:,} jobs.")
    row = int(rows[0])
    status = snapshot.status
    state = JOB_STATES[status.state[row]]
    known = {"state": state, **_waiting(snapshot, row)}
    reason = status.reason(row)
    if reason is not None:
        known |= {"reason": reason}
    if state == "running":
        return known | _placed(snapshot, int(np.searchsorted(status.running, row)))
    if state in ("completed", "killed", "cancelled"):
        known |= {"start_time": float(status.start_time[row]), "end_time": float(status.end_time[row])}
    return known


def _node(snapshot: Snapshot, number: str) -> Document:
    status, node = snapshot.status, _integer(number, "node")
    if not 0 <= node < len(status.free):
        raise MonitorError(f"no node {number}; nodes are numbered from 0 to {len(status.free) - 1:,}.")
    system = snapshot.facts.system
    entries = np.flatnonzero(status.placement_nodes == node)
    holders = np.searchsorted(status.placement_offsets, entries, side="right") - 1
    # The placements of ended jobs follow those of the running jobs.
    holders = holders[holders < len(status.running)]
    return {
        "node": node,
        "drained": bool(status.drained[node]),
        "capacity": dict(zip(system.resources, system.capacity[node].tolist(), strict=True)),
        "free": dict(zip(system.resources, status.free[node].tolist(), strict=True)),
        "jobs": [_placed(snapshot, index) for index in holders.tolist()],
    }


def _utilisation(snapshot: Snapshot) -> Document:
    status, system = snapshot.status, snapshot.facts.system
    idle = dict(zip(system.resources, status.idle.sum(axis=0).tolist(), strict=True))
    return {
        "resources": {
            name: {"used": total - idle[name], "capacity": total, "utilisation": share}
            for (name, total), share in zip(
                system.total.items(), _without_nan(status.utilisation).values(), strict=True
            )
        }
    }


def _waiting(snapshot: Snapshot, row: int) -> Document:
    """Return what the scheduler knows of a job before its start."""
    jobs = snapshot.facts.workload.jobs
    submitted = float(jobs["submit_time"][row])
    started = float(snapshot.status.start_time[row])
    until = snapshot.status.now if math.isnan(started) else started
    return {
        "job_id": int(snapshot.facts.job_ids[row]),
        "submit_time": submitted,
        "wait": max(until - submitted, 0.0),
        "tasks": int(jobs["tasks"][row]),
        "requested_time": _limit(float(jobs["requested_time"][row])),
    }


def _placed(snapshot: Snapshot, index: int) -> Document:
    """Return the nodes of a running job, and its latest end."""
    row = int(snapshot.status.running[index])
    start = float(snapshot.status.start_time[row])
    known = _waiting(snapshot, row)
    nodes, _tasks = snapshot.status.placement(index)
    return known | {
        "start_time": start,
        "expected_end": _limit(start + float(snapshot.facts.workload.jobs["requested_time"][row])),
        "nodes": ranges(nodes),
    }


def _limit(time: float) -> float | None:
    """Replace infinity, which JSON lacks, by None."""
    return None if math.isinf(time) else time


def ranges(nodes: npt.NDArray[np.uint32]) -> str:
    """Format node numbers as ranges: ``"0-3,7"``."""
    return _kernel.node_ranges(np.array([0, len(nodes)], dtype=np.int64), np.ascontiguousarray(nodes))[0]


def _integer(text: str, of: str) -> int:
    if not text.isdecimal() or len(text) > 18:  # noqa: PLR2004  # what int64 surely holds
        raise MonitorError(f"{of} {shown(text)}: must be a whole number.")
    return int(text)


def _without_nan(shares: dict[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(share) else share for name, share in shares.items()}


QUESTIONS: dict[str, tuple[Callable[..., Document], str | None]] = {
    "status": (_status, None),
    "queued": (_queued, None),
    "running": (_running, None),
    "job": (_job, "the job's number"),
    "node": (_node, "the node's number, from 0"),
    "utilisation": (_utilisation, None),
}
"""Questions, each with the function that answers it, and the name of its argument."""


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
        "queue": [_queued_job(snapshot, row) for row in status.queue[:_QUEUE_SHOWN].tolist()],
        "history": curves,
    }


def explanation(results: ResultExchange | None, number: str) -> Document:
    """Explain for the page why a job waits or waited.

    Parameters
    ----------
    results
        The results of the run.
    number
        The number of the job.

    Returns
    -------
    dict
        ``job``, and ``sections``: titles with the rows of a table each, as `Why.sections` has them.

    Raises
    ------
    MonitorError
        If there is no explanation of a job with this number.
    """
    job = _integer(number, "job")
    if results is None:
        raise MonitorError("the run has no result yet. Ask again.")
    try:
        return {"job": job, "sections": results.latest().why(job).sections()}
    except ResultError as error:
        raise MonitorError(str(error)) from None


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


def _queued_job(snapshot: Snapshot, row: int) -> list[object]:
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
