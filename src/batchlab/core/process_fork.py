"""Make forked processes raise an error instead of waiting for threads that the fork did not copy.

Polars uses a thread pool, which starts with its first use. `os.fork` copies one thread only, so a request of
a child to the pool would never return. Simulations need no polars between a workload and the kernel, but
tables do.
"""

import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from batchlab.errors import SimulationError

__all__ = ["watch_forks"]

_SHOWN = 15  # characters of a thread's name


def watch_forks() -> None:
    """Make polars raise in child processes that are forked after its threads have started."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_enter_child)


def _enter_child() -> None:
    if "polars" in sys.modules and _has_pool(os.getppid()):
        _close(sys.modules["polars"])


def _has_pool(process: int) -> bool:
    """Return whether threads of polars run in a process; true if the system does not report threads."""
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
    """Replace the methods that use the pool; nearly all computations call the first ones."""
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
