"""The store: a directory of finished runs, keyed by the hash of everything that determines a run.

::

    store.json              marks the directory as a store
    runs/ab/KEY.json        one finished run: its description, metrics and costs; the last file of a run
    failures/ab/KEY.json    the latest error of a run that has not finished
    schedules/ab/HASH.zip   the outcome of every job; runs with the same schedule share it
    costs/ab/KEY.zip        the CPU time of every scheduling pass of one run, where recorded
    workloads/ab/HASH.zip   workloads for simulations in other processes
    claims/KEY              a current run, locked by its process
    journal.jsonl           a line per start and end of a run, in the order of events

Every file is written under a temporary name, synced and renamed, and a run's record comes last. Therefore a
run exists completely or not at all, even if a process is killed. Names are hashes of the content, so two
processes that write the same file write the same content.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.core.outputs import atomic_write, remove_abandoned
from batchlab.errors import ExperimentError, StoreError, shown
from batchlab.result.archive import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COSTS", "COUNTS", "Store", "is_record"]


_FORMAT = 2


class Store:
    """A directory of finished runs.

    Parameters
    ----------
    root
        The directory; created if missing.

    Raises
    ------
    ExperimentError
        If the directory is not a store, or has another version.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).absolute()
        self._whole: set[Path] = set()
        mark = self.root / "store.json"
        try:
            if not mark.exists():
                self._make(mark)
            found = json.loads(mark.read_text("utf-8")).get("format")
        except ExperimentError:
            # ExperimentError is a ValueError too.
            raise
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ExperimentError(f"store = {self.root}: {reason}. Choose another directory.") from error
        if found != _FORMAT:
            raise ExperimentError(
                f"store = {self.root}: of format {shown(found)}; this version reads {_FORMAT}. Name another."
            )

    def _make(self, mark: Path) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        # Another process may have created the store meanwhile.
        if (
            any(entry.suffix != ".tmp" and entry != mark for entry in self.root.iterdir())
            and not mark.exists()
        ):
            raise ExperimentError(
                f"store = {self.root}: is a directory with other things in it. Name a new or empty one."
            )
        with atomic_write(mark) as file:
            file.write(json.dumps({"format": _FORMAT, "what": "runs of batchlab"}) + "\n")

    def path(self, kind: str, name: str) -> Path:
        """Return the path of a file; `kind` is a folder in the list above."""
        suffix = "json" if kind in {"runs", "failures"} else "zip"
        return self.root / kind / name[:2] / f"{name}.{suffix}"

    def record(self, key: str) -> dict[str, Any] | None:
        """Read the record of a finished run; None if missing or damaged."""
        found = _read(self.path("runs", key))
        return found if is_record(found, key) else None

    def is_done(self, key: str) -> bool:
        """Return whether a run has finished and all its files are unchanged."""
        record = self.record(key)
        if record is None:
            return False
        files = [self.path("schedules", record["schedule"])]
        if record["costs"]["dispatch_passes"] is not None:
            files.append(self.path("costs", key))
        # Several runs may share a schedule, which is as large as the workload, so each is checked once.
        self._whole.update(path for path in files if path not in self._whole and is_whole(path))
        return self._whole.issuperset(files)

    def failure(self, key: str) -> dict[str, Any] | None:
        """Read the latest error of a run; None if missing."""
        found = _read(self.path("failures", key))
        return found if is_failure(found) else None

    def write_record(self, key: str, record: Mapping[str, object]) -> None:
        """Write the record of a finished run after its other files, and delete its earlier failure."""
        _write(self.path("runs", key), record)
        self.path("failures", key).unlink(missing_ok=True)

    def write_failure(self, key: str, failure: Mapping[str, object]) -> None:
        """Write the error that ended a run."""
        _write(self.path("failures", key), failure)

    def is_claimed(self, key: str) -> bool:
        """Return whether a run started without end: it is running, or its process died."""
        return self._claim(key).exists()

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Lock a run, waiting for other holders. The system releases the locks of dead processes."""
        path = self._claim(key)
        path.parent.mkdir(exist_ok=True)
        descriptor = _locked(path)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)

    def _claim(self, key: str) -> Path:
        return self.root / "claims" / key

    def note(self, event: str, key: str) -> None:
        """Append a line to the journal."""
        line = {
            "event": event,
            "run": key,
            "time": time.time(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self.root / "journal.jsonl", flags, 0o666)
        try:
            os.write(descriptor, (json.dumps(line) + "\n").encode())
        finally:
            os.close(descriptor)

    @contextmanager
    def accessed(self) -> Iterator[None]:
        """Convert errors of the file system to `StoreError` with the path."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.root
            raise StoreError(
                f"{where}: {error.strerror or error}. Make room, or choose another store."
            ) from error

    def tidy(self) -> None:
        """Remove partial files of processes that were killed at least an hour ago."""
        remove_abandoned(self.root.rglob(".*.tmp"))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        # A damaged record counts as missing, and the run is repeated.
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _locked(path: Path) -> int:
    """Open and lock a file; return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        _lock(descriptor)
        # The previous holder of the lock may have removed the file; then this lock is on an unnamed file.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    # Windows and some network file systems have no such locks. There, two processes that use one store at
    # the same time may do a run twice, with the same result.
    with suppress(ImportError, OSError):
        import fcntl  # noqa: PLC0415

        fcntl.flock(descriptor, fcntl.LOCK_EX)


COSTS = (
    "elapsed",
    "cpu_time",
    "dispatch_cpu_time",
    "dispatch_passes",
    "memory_average",
    "memory_maximum",
)
"""Recorded costs of a run: seconds, a count, and bytes."""

COUNTS = ("dispatch_passes", "memory_maximum")
"""Costs that are integers."""

_DIGEST = re.compile(r"[0-9a-f]{32}")
_ALWAYS_MEASURED = ("elapsed", "cpu_time")
_LARGEST = 2**63 - 1


def is_record(found: object, key: str) -> bool:
    """Return whether a document is the record of a run: with this key, a schedule, costs and metrics."""
    if not isinstance(found, Mapping) or found.get("key") != key:
        return False
    costs, schedule = found.get("costs"), found.get("schedule")
    return (
        isinstance(schedule, str)
        # The digest becomes part of a path.
        and _DIGEST.fullmatch(schedule) is not None
        and isinstance(costs, Mapping)
        and all(name in costs and _is_cost(name, costs[name]) for name in COSTS)
        and isinstance(found.get("metrics"), Mapping)
        and _are_measures(found["metrics"])
    )


def is_failure(found: object) -> bool:
    """Return whether a document describes the error that ended a run."""
    return isinstance(found, Mapping) and all(
        isinstance(found.get(name), str) for name in ("error", "message", "traceback")
    )


def _is_cost(name: str, value: object) -> bool:
    if value is None:
        return name not in _ALWAYS_MEASURED
    return _is_number(value) and (name not in COUNTS or isinstance(value, int))


def _are_measures(found: object) -> bool:
    """Return whether a document contains only named numbers and nulls."""
    if isinstance(found, Mapping):
        return all(map(_are_measures, found.values()))
    return found is None or _is_number(found)


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= _LARGEST)
