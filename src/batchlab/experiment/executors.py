"""Execute runs in threads, in processes, or on any `concurrent.futures.Executor`."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import threading
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
from functools import partial
from typing import TYPE_CHECKING

from batchlab.core.vocabulary import EXECUTORS, ExecutorName
from batchlab.errors import ExperimentError, shown, suggest
from batchlab.experiment.relay import execute_with_progress, join, relay
from batchlab.experiment.work import Task, Watch, execute

if TYPE_CHECKING:
    from batchlab.experiment.store import Store

__all__ = ["perform", "runs_here"]

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
                pickle.dumps(part)
            except Exception as error:
                raise ExperimentError(
                    f"{name}: {shown(part)} cannot be sent to another process: {error}. Define it at the top "
                    'of a module, or use executor="threads".'
                ) from error


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
