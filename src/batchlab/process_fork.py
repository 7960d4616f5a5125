"""Forked processes: a child raises an error in place of waiting for threads that its fork did not copy.

Polars computes in a pool of threads, which begins with its first use. `os.fork` copies one thread only, so
that whatever a child asks of the pool would never be answered. Simulations need no polars between a workload
and the kernel; tables do.
"""

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from batchlab.errors import SimulationError

__all__ = ["watch_forks"]

_SHOWN = 15  # characters of a thread's name


def watch_forks() -> None:
    """Have polars refuse to compute in each child that is forked once its threads run."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_enter_child)


def _enter_child() -> None:
    if "polars" in sys.modules and _has_pool(os.getppid()):
        _close(sys.modules["polars"])


def _has_pool(process: int) -> bool:
    """Return whether threads of polars run in a process; true if the system does not tell."""
    name = os.environ.get("POLARS_THREAD_NAME", "polars")
    known = {f"{name}-{number}"[:_SHOWN] for number in range(os.cpu_count() or 1)}
    try:
        threads = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return True
    return any(_name(thread) in known for thread in threads)


def _name(thread: Path) -> str:
    try:
        return (thread / "comm").read_text("utf-8", "replace").strip()
    except OSError:  # it has ended meanwhile
        return ""


def _close(polars: Any) -> None:  # noqa: ANN401  # it is not imported here, only looked up
    """Replace what has the pool compute: nearly everything goes through the first of these methods."""
    for owner, names in (
        (polars.LazyFrame, ("_collect_eager", "collect", "collect_async", "collect_batches")),
        (polars.DataFrame, ("hash_rows", "n_unique", "partition_by", "rechunk", "sample", "sort")),
        (polars.DataFrame, ("write_csv", "write_ipc", "write_parquet")),
        (polars.Series, ("gather", "n_unique", "sample", "sort")),
        (polars, ("collect_all", "collect_all_async", "concat")),
    ):
        for name in names:
            if hasattr(owner, name):
                setattr(owner, name, _refuse)
    of_frame = polars.DataFrame.__getitem__

    def part(frame: object, key: object) -> object:
        return of_frame(frame, key) if isinstance(key, str | int | slice) else _refuse()

    polars.DataFrame.__getitem__ = part


def _refuse(*_arguments: object, **_options: object) -> NoReturn:
    raise SimulationError(
        "this process was forked after polars had been used, and has none of its threads: a table cannot be "
        "computed here. Start processes with the method 'spawn', as multiprocessing.get_context('spawn') or "
        "AsyncVectorEnv(…, context='spawn'), or fork before the first workload is made."
    )
