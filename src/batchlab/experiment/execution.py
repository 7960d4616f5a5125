"""Execute runs: one run, its memory and its progress; in threads, in processes, or on any executor."""

from __future__ import annotations

import copy
import hashlib
import json
import multiprocessing
import os
import pickle
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from batchlab.core.python_file import place_in_files
from batchlab.core.vocabulary import EXECUTORS, ExecutorName
from batchlab.errors import ExperimentError, shown, suggest
from batchlab.experiment.plan import Underway
from batchlab.experiment.source import Source, loaded
from batchlab.experiment.store import Store
from batchlab.result.archive import compact, is_whole, members_of, read_document, table_digest, write_archive
from batchlab.result.table import PASS_COSTS
from batchlab.simulation import Simulation
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.seam.components import Observer
    from batchlab.system import System
    from batchlab.workload import EventStream

__all__ = [
    "MemoryWatch",
    "Task",
    "Watch",
    "describe_error",
    "execute",
    "join",
    "perform",
    "resident_memory",
    "runs_here",
]


_STATUS = Path("/proc/self/statm")
_INTERVAL = 0.01


def resident_memory() -> int | None:
    """Return the resident memory of this process.

    Returns
    -------
    int or None
        Bytes; None if the operating system does not report it cheaply (other than Linux).
    """
    try:
        return int(_STATUS.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


class MemoryWatch:
    """Samples the resident memory of the process at the begin and the end of a block, and every 10 ms.

    The memory includes the interpreter and its libraries, the workload, and everything else that runs in the
    process at the same time.

    Attributes
    ----------
    average, maximum
        Bytes, after the end of the block; None if the operating system does not report memory.
    """

    def __init__(self) -> None:
        self.average: float | None = None
        self.maximum: int | None = None
        self._seen: list[int] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="batchlab-memory", daemon=True)

    def __enter__(self) -> Self:
        self._look()
        if self._seen:
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if not self._seen:
            return
        self._over.set()
        self._thread.join()
        self._look()
        self.average = sum(self._seen) / len(self._seen)
        self.maximum = max(self._seen)

    def _look(self) -> None:
        if (memory := resident_memory()) is not None:
            self._seen.append(memory)

    def _watch(self) -> None:
        while not self._over.wait(_INTERVAL):
            self._look()


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


_to_parent: Connection | None = None


@contextmanager
def relay(context: SpawnContext, watch: Watch | None) -> Iterator[Connection | None]:
    """Forward messages of processes until the block has ended and no message is left.

    Parameters
    ----------
    context
        The context that creates the processes.
    watch
        Called by a thread with the key and the progress of a run; it must not raise.

    Yields
    ------
    Connection or None
        Argument of `join` in the processes; None without a watcher.
    """
    if watch is None:
        yield None
        return
    here, there = context.Pipe(duplex=False)

    def hand_on() -> None:
        for key, state in iter(here.recv, None):
            watch(key, state)

    thread = threading.Thread(target=hand_on, name="batchlab-relay", daemon=True)
    thread.start()
    try:
        yield there
    finally:
        there.send(None)
        thread.join()
        here.close()
        there.close()


def join(to_parent: Connection | None) -> None:
    """Set the connection to which this process sends the progress of its runs; pool initializer."""
    global _to_parent  # noqa: PLW0603  # what a pool's initializer leaves for its tasks
    _to_parent = to_parent


def execute_with_progress(task: Task) -> None:
    """Do a run like `execute`, and send its progress."""
    execute(task, watch=None if _to_parent is None else partial(_send, _to_parent))


def _send(to_parent: Connection, key: str, state: Underway) -> None:
    # A short message is written completely or not at all. No lock is needed, which a killed process would
    # keep.
    to_parent.send((key, state))


Report = Callable[[Task, BaseException | None], None]
MakePool = Callable[[int], ProcessPoolExecutor]

# Threads do not survive a fork, and a child may deadlock on a lock that one of them held.
_CONTEXT = multiprocessing.get_context("spawn")


def runs_here(executor: Executor | ExecutorName | None) -> bool:
    """Return whether the executor works in this process, so that nothing is sent to another one."""
    _check(executor)
    return executor in {None, "threads"} or isinstance(executor, ThreadPoolExecutor)


def perform(
    tasks: Sequence[Task],
    executor: Executor | ExecutorName | None,
    workers: int | None,
    store: Store,
    report: Report,
    *,
    watch: Watch | None = None,
) -> None:
    """Do all tasks, even if some fail.

    Parameters
    ----------
    tasks
        The runs to do.
    executor
        ``"threads"`` (or None), ``"processes"``, or an executor.
    workers
        Number of parallel runs, for threads and processes. [default: the number of processors]
    store
        The store to which runs are written.
    report
        Called with each finished task, and with the error of the executor if the task did not end by
        itself.
    watch
        Called repeatedly by a thread of this process with the key and the progress of a run. Not for a
        user's executor.
    """
    _check(executor)
    if not tasks:
        return
    count = min(workers or _processors(), len(tasks))
    if executor is None or executor == "threads":
        with ThreadPoolExecutor(count, "batchlab-run") as threads:
            stopped = threading.Event()
            work = partial(execute, stopped=stopped, watch=watch)
            _submit(tasks, threads, report, work, lambda: _stop_threads(threads, stopped))
    elif executor == "processes":
        _check_picklable(tasks)
        with relay(_CONTEXT, watch) as to_parent:
            pool = partial(ProcessPoolExecutor, mp_context=_CONTEXT, initializer=join, initargs=(to_parent,))
            _in_processes(tasks, count, store, report, pool)
    elif isinstance(executor, Executor):
        if isinstance(executor, ProcessPoolExecutor):
            _check_picklable(tasks)
        for task in _submit(tasks, executor, report):
            report(task, BrokenExecutor("the executor broke down before this run came to an end."))


def _check(executor: object) -> None:
    if isinstance(executor, Executor) or executor is None or executor in EXECUTORS:
        return
    known = suggest(str(executor), EXECUTORS)
    raise ExperimentError(
        f"executor = {shown(executor)}; must be one of these or a concurrent.futures.Executor.{known}"
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_picklable(tasks: Sequence[Task]) -> None:
    """Raise if a task cannot be sent to a process; checks one task of each policy and source."""
    seen: set[tuple[int, int]] = set()
    for task in tasks:
        if (number := (id(task.policy), id(task.source))) in seen:
            continue
        seen.add(number)
        parts = {"policies": task.policy, "observers": task.observers, "workloads": task.source}
        for name, part in parts.items():
            try:
                sent = _pickled(part)
            except Exception as error:
                raise ExperimentError(
                    f"{name}: {shown(part)} cannot be sent to another process: {error}. Define it at the top "
                    'of a module, or use executor="threads".'
                ) from error
            if b"__main__" in sent and _is_typed_in() and _CLOUDPICKLE is None:
                raise ExperimentError(
                    f"{name}: {shown(part)} is defined in a cell or at a prompt, from where other processes "
                    "cannot import it. Install cloudpickle (pip install 'batchlab[notebook]'), define it in "
                    'a module, or use executor="threads".'
                )


_CLOUDPICKLE = find_spec("cloudpickle")


def _is_typed_in() -> bool:
    """Return whether the program is a notebook, a prompt or ``-c``: its classes are in no file."""
    return not hasattr(sys.modules["__main__"], "__file__")


def _pickled(part: object) -> bytes:
    """Pickle an object; what was typed in is pickled by value if cloudpickle is installed."""
    if _CLOUDPICKLE is None or not _is_typed_in():
        return pickle.dumps(part)
    by_value: bytes = import_module("cloudpickle").dumps(part)
    return by_value


def do_pickled(work: Callable[[Task], None], task: bytes) -> None:
    """Do a task that was pickled by value, in another process."""
    work(pickle.loads(task))  # noqa: S301  # of the parent process


def _submit(
    tasks: Sequence[Task],
    executor: Executor,
    report: Report,
    work: Callable[[Task], None] = execute,
    stop: Callable[[], None] | None = None,
) -> list[Task]:
    """Do tasks on an executor, and return those lost because its processes died.

    On Ctrl-C, `stop` ends current runs instead of waiting for them.
    """
    futures: dict[Future[None], Task] = {}
    lost: list[Task] = []
    try:
        for task in tasks:
            try:
                if isinstance(executor, ProcessPoolExecutor) and _is_typed_in():
                    futures[executor.submit(do_pickled, work, _pickled(task))] = task
                else:
                    futures[executor.submit(work, task)] = task
            except BrokenExecutor:
                lost.append(task)
        for future in as_completed(futures):
            error = future.exception()
            if isinstance(error, BrokenExecutor):
                lost.append(futures[future])
            else:
                report(futures[future], error)
    except BaseException:
        if stop is not None:
            stop()
        else:
            for future in futures:
                future.cancel()
        raise
    return lost


def _in_processes(
    tasks: Sequence[Task], count: int, store: Store, report: Report, make_pool: MakePool
) -> None:
    """Do tasks in own processes. If some processes die, find the runs at fault and continue."""
    waiting = _pool(tasks, make_pool(count), report)
    while waiting:
        # A process died in one of the runs that started and did not end. Each of these runs gets its own
        # process next, so that it cannot stop other runs.
        suspects = [task for task in waiting if store.is_claimed(task.key)]
        others = [task for task in waiting if not store.is_claimed(task.key)]
        if not suspects and len(waiting) == len(tasks):
            raise ExperimentError(
                'the processes died before they did anything. A script that uses executor="processes" must '
                'keep what it does under `if __name__ == "__main__":`.'
            )
        for task in suspects:
            if _pool([task], make_pool(1), report):
                report(task, BrokenProcessPool("the process died in this run: killed, or out of memory."))
        tasks, waiting = others, _pool(others, make_pool(count), report)


def _pool(tasks: Sequence[Task], processes: ProcessPoolExecutor, report: Report) -> list[Task]:
    with processes as pool:
        return _submit(tasks, pool, report, execute_with_progress, stop=lambda: _stop_processes(pool))


def _stop_threads(pool: ThreadPoolExecutor, stopped: threading.Event) -> None:
    stopped.set()
    pool.shutdown(wait=False, cancel_futures=True)


def _stop_processes(pool: ProcessPoolExecutor) -> None:
    # The pool would finish all its submitted runs, perhaps hours of work; the store tolerates a kill.
    # Cancelling waiting tasks fails in the pool when its processes are gone.
    for process in [*pool._processes.values()]:  # noqa: SLF001  # terminate_workers from Python 3.14 on
        process.terminate()
