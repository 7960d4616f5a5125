"""One run of an experiment: the unit of work sent to an executor."""

from __future__ import annotations

import copy
import hashlib
import json
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.core.python_file import place_in_files
from batchlab.experiment.course import Underway
from batchlab.experiment.memory import MemoryWatch
from batchlab.experiment.source import Source, loaded
from batchlab.experiment.store import Store
from batchlab.result.archive import compact, is_whole, read_document, table_digest, write_archive
from batchlab.result.outcome_members import members_of
from batchlab.result.table import PASS_COSTS
from batchlab.simulation import Simulation
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping, Sequence

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.seam.components import Observer
    from batchlab.system import System
    from batchlab.workload import EventStream

__all__ = ["Task", "Watch", "describe_error", "execute"]

Watch = Callable[[str, Underway], object]
"""Called with the key and the progress of a run."""


@dataclass(frozen=True, eq=False)
class Task:
    """A run to do: everything that another process needs.

    Parameters
    ----------
    key
        The run's name in the store.
    store
        The store's directory.
    source, digest
        The source of the workload, and the workload's hash.
    system, policy, observers, options
        As for `simulate`; the seed is also used to generate a workload.
    made_from
        The description whose hash is the key, for the record.
    events
        The external events.
    """

    key: str
    store: str
    source: Source
    digest: str
    system: System
    policy: Policy
    observers: Sequence[Observer]
    options: RunOptions
    made_from: Mapping[str, object]
    events: EventStream | None = None


def execute(task: Task, stopped: threading.Event | None = None, watch: Watch | None = None) -> None:
    """Do a run and write it to the store, unless it is there. An error in the run is stored too.

    Parameters
    ----------
    task
        The run.
    stopped
        Event that stops the run when set.
    watch
        Called repeatedly with the progress.

    Raises
    ------
    OSError
        If the store cannot be written.
    KeyboardInterrupt
        If the run was stopped; then nothing is stored.
    """
    store = Store(task.store)
    with store.claim(task.key):
        if store.is_done(task.key):
            return
        store.note("started", task.key)
        try:
            record = _run(task, store, stopped, watch)
        except Exception as error:  # noqa: BLE001  # one run's error must not stop the others
            store.write_failure(task.key, describe_error(error))
            store.note("failed", task.key)
            return
        store.write_record(task.key, record)
        store.note("finished", task.key)


def describe_error(error: BaseException) -> dict[str, object]:
    """Describe an error: ``error`` (its type), ``message`` and ``traceback``."""
    lines = traceback.format_exception(error)
    place = place_in_files(error)
    message = str(error) if place is None else f"{place}: {error}"
    return {"error": type(error).__name__, "message": message, "traceback": "".join(lines)}


def _run(task: Task, store: Store, stopped: threading.Event | None, watch: Watch | None) -> dict[str, object]:
    workload = loaded(task.source, task.options.seed, task.digest)
    # Policies and observers with a state must not see the state of another run.
    policy, observers = copy.deepcopy((task.policy, task.observers))
    with MemoryWatch() as memory:
        began, cpu = time.perf_counter(), time.thread_time()
        simulation = Simulation(
            workload, task.system, policy, observers=observers, events=task.events, options=task.options
        )
        simulation.run_until(progress=_progress(task.key, simulation, stopped, watch))
        result = simulation.result()
        elapsed, cpu_time = time.perf_counter() - began, time.thread_time() - cpu
    schedule, metrics = _keep_schedule(result, task, store)
    return {
        "key": task.key,
        "made_from": dict(task.made_from),
        "schedule": schedule,
        "costs": {
            "elapsed": elapsed,
            "cpu_time": cpu_time,
            **_keep_dispatch(result, task, store),
            "memory_average": memory.average,
            "memory_maximum": memory.maximum,
        },
        "metrics": metrics,
        "warnings": list(result.warnings),
    }


def _progress(
    key: str, simulation: Simulation, stopped: threading.Event | None, watch: Watch | None
) -> Callable[[int, int], None] | None:
    """Return the progress callback of a run: it stops the run on request, and reports progress."""
    if stopped is None and watch is None:
        return None
    dates = CalendarTime.of(simulation.workload.header, simulation.system.start_time)

    def go_on(done: int, jobs: int) -> None:
        if stopped is not None and stopped.is_set():
            raise KeyboardInterrupt
        if watch is not None:
            watch(key, Underway(done, jobs, simulation.now, dates.date(simulation.now)))

    return go_on


def _keep_schedule(result: Result, task: Task, store: Store) -> tuple[str, object]:
    """Write the schedule unless an earlier run had the same; return its name, and the metrics."""
    members = _members(result)
    made_from = (task.digest, task.made_from["system"], task.made_from["batchlab"])
    name = _digest(members, repr(made_from))
    path = store.path("schedules", name)
    if is_whole(path):
        return name, read_document(path, "metrics")
    metrics = result.metrics()
    write_archive(path, {**members, "now": result.outcome.now, "metrics": metrics})
    return name, metrics


def _keep_dispatch(result: Result, task: Task, store: Store) -> dict[str, object]:
    """Write the cost of every pass, times in whole nanoseconds; return the sum of its CPU time."""
    dispatch = result.outcome.tables.get("dispatch")
    if dispatch is None:
        return {"dispatch_cpu_time": None, "dispatch_passes": None}
    cpu_time = dispatch["cpu_time"].astype(np.float64)
    costs = {name: dispatch[name] for name in PASS_COSTS}
    whole = {
        name: np.rint(cost.astype(np.float64) * 1e9).astype(np.int64) if cost.dtype.kind == "f" else cost
        for name, cost in costs.items()
    }
    write_archive(store.path("costs", task.key), {name: compact(cost) for name, cost in whole.items()})
    return {"dispatch_cpu_time": float(cpu_time.sum()), "dispatch_passes": len(cpu_time)}


def _members(result: Result) -> dict[str, Any]:
    """Return all data that runs with the same schedule share, in compact form."""
    members = members_of(result.outcome)
    return members | {f"observations/{name}": table for name, table in result.observations.items()}


def _digest(members: Mapping[str, Any], made_from: str) -> str:
    digest = hashlib.sha256(made_from.encode())
    for name, value in members.items():
        if isinstance(value, pl.DataFrame):
            digest.update(f"\0{name}\0{table_digest(value)}".encode())
        elif isinstance(value, list | dict):
            digest.update(f"\0{name}\0{json.dumps(value)}".encode())
        else:
            digest.update(f"\0{name}\0{value.dtype.str}{value.shape}\0".encode())
            digest.update(value.data)
    return digest.hexdigest()[:32]
