"""The store: a directory of finished runs, found by what they were made from.

::

    store.json              what the directory is
    runs/ab/KEY.json        one finished run: what it was made from, metrics, costs; the last file of a run
    failures/ab/KEY.json    the latest error of a run that has not finished
    schedules/ab/HASH.zip   what became of every job; runs with the same schedule share it
    costs/ab/KEY.zip        the CPU time of every scheduling pass of one run, where recorded
    workloads/ab/HASH.zip   workloads that other processes are to simulate
    claims/KEY              a run that is going on, locked by the process that does it
    journal.jsonl           a line per start and end of a run, in the order of events

Every file is written under another name, synced, and renamed, and a run's record comes last. So a run is
there whole or not at all, whatever is killed when; and since a name is the hash of what belongs there, two
processes that write the same file write the same content.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.atomic import atomic_write, remove_abandoned
from batchlab.errors import ExperimentError, StoreError, shown
from batchlab.experiment.record import is_failure, is_record
from batchlab.result.archive import is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Store"]

_FORMAT = 2


class Store:
    """A directory of finished runs.

    Parameters
    ----------
    root
        The directory; made where it is not there.

    Raises
    ------
    ExperimentError
        If it is something else than a store, or of another version.
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
            # It is a ValueError too.
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
        # Another process may just have made it.
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
        """Tell where a file of a kind (a folder above) is, or would be."""
        suffix = "json" if kind in {"runs", "failures"} else "zip"
        return self.root / kind / name[:2] / f"{name}.{suffix}"

    def record(self, key: str) -> dict[str, Any] | None:
        """Read a finished run; None where there is none, or a damaged one."""
        found = _read(self.path("runs", key))
        return found if is_record(found, key) else None

    def is_done(self, key: str) -> bool:
        """Tell whether a run has finished, and all that it wrote is still as it was written."""
        record = self.record(key)
        if record is None:
            return False
        files = [self.path("schedules", record["schedule"])]
        if record["costs"]["dispatch_passes"] is not None:
            files.append(self.path("costs", key))
        # Runs with the same schedule share it, and it is as large as the workload.
        self._whole.update(path for path in files if path not in self._whole and is_whole(path))
        return self._whole.issuperset(files)

    def failure(self, key: str) -> dict[str, Any] | None:
        """Read the latest error of a run; None where there is none."""
        found = _read(self.path("failures", key))
        return found if is_failure(found) else None

    def write_record(self, key: str, record: Mapping[str, object]) -> None:
        """Write a finished run, whose other files are there; its failure, if any, is past."""
        _write(self.path("runs", key), record)
        self.path("failures", key).unlink(missing_ok=True)

    def write_failure(self, key: str, failure: Mapping[str, object]) -> None:
        """Write what ended a run."""
        _write(self.path("failures", key), failure)

    def is_claimed(self, key: str) -> bool:
        """Tell whether a run was begun and neither finished nor failed: it goes on, or died."""
        return self._claim(key).exists()

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Keep others from doing a run; wait where another does it. The system ends claims of the dead."""
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
        """Say of which store it was what the system refuses to read or to write."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.root
            raise StoreError(
                f"{where}: {error.strerror or error}. Make room, or choose another store."
            ) from error

    def tidy(self) -> None:
        """Remove what processes that were killed an hour ago or more left half written."""
        remove_abandoned(self.root.rglob(".*.tmp"))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        # What a damaged disk made unreadable counts as not there, and is done again.
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _locked(path: Path) -> int:
    """Open a file and lock it; give its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        _lock(descriptor)
        # The process that had the lock before has removed the file: this lock is on a file without a name.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    # Windows and some network file systems have no such locks: there two processes that work on one store at
    # the same time may do a run twice, with the same answer.
    with suppress(ImportError, OSError):
        import fcntl  # noqa: PLC0415

        fcntl.flock(descriptor, fcntl.LOCK_EX)
