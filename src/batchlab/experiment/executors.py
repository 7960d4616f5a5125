"""Who does the runs: threads of this process, processes, or any executor of `concurrent.futures`' kind."""

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

from batchlab.errors import ExperimentError, shown, suggest
from batchlab.experiment.relay import execute_and_tell, join, relay
from batchlab.experiment.work import Task, Watch, execute
from batchlab.vocabulary import EXECUTORS, ExecutorName

if TYPE_CHECKING:
    from batchlab.experiment.store import Store

__all__ = ["perform", "runs_here"]

Report = Callable[[Task, BaseException | None], None]
MakePool = Callable[[int], ProcessPoolExecutor]

# Threads do not survive a fork: a child may wait for ever for a lock that one of them held.
_CONTEXT = multiprocessing.get_context("spawn")


def runs_here(executor: Executor | ExecutorName | None) -> bool:
    """Tell whether an executor's work is done in this process, so that nothing needs to be sent."""
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
    """Do all tasks, whatever becomes of each.

    Parameters
    ----------
    tasks
        The runs to do.
    executor
        ``"threads"`` (or None), ``"processes"``, or an executor.
    workers
        How many at a time, for the first two; as many as there are processors unless given.
    store
        Where the runs write themselves.
    report
        Called with each task that is over, and with the error of the executor where it did not come to an
        end by itself.
    watch
        Called now and then by a thread of this process with the key of a run, and how far it is; not of runs
        of an executor.
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
    """Refuse at once what no process can be told; one task of each policy and source will do."""
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
    """Do tasks on an executor; give those that were lost when its processes died.

    Ctrl-C does not wait for the runs that are going on: `stop` ends them.
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
    """Do tasks in processes of our own; where some die, find out which run it was, and go on."""
    waiting = _pool(tasks, make_pool(count), report)
    while waiting:
        # A run that was begun and has not come to an end is one of those in which a process died. Each gets
        # a process to itself, so that it cannot take others along.
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
        return _submit(tasks, pool, report, execute_and_tell, stop=lambda: _stop_processes(pool))


def _stop_threads(pool: ThreadPoolExecutor, stopped: threading.Event) -> None:
    stopped.set()
    pool.shutdown(wait=False, cancel_futures=True)


def _stop_processes(pool: ProcessPoolExecutor) -> None:
    # The pool would finish what it has handed out, hours of it maybe; the store bears a kill. To cancel what
    # is waiting would upset the pool when it sees its processes gone.
    for process in [*pool._processes.values()]:  # noqa: SLF001  # terminate_workers from Python 3.14 on
        process.terminate()
