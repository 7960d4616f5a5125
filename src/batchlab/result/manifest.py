"""The files of a run as a set: written together, described and tied by their hashes in ``manifest.json``."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import IO, TYPE_CHECKING

from batchlab import _kernel
from batchlab.core.late import result_recorded as recorded
from batchlab.core.outputs import (
    MANIFEST,
    atomic_write,
    check_set,
    digest_of,
    listed,
    remove_abandoned,
    remove_listed,
)
from batchlab.system.formats import described

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from batchlab.options import RunOptions
    from batchlab.policy import Policy
    from batchlab.system import System


__all__ = [
    "OutputFiles",
    "described_system",
    "file_identity",
    "is_output",
    "manifest",
    "output_files",
    "remove_run",
    "versions",
]

_FORMAT = 1
_NAMES = (MANIFEST, "metrics.json", "jobs.csv")


@dataclass(frozen=True)
class OutputFiles:
    """The open files of a run, under temporary names."""

    jobs: IO[bytes]
    metrics: IO[bytes]
    manifest: IO[bytes]
    more: Mapping[str, IO[bytes]]

    def complete(self, metrics: Mapping[str, object], manifest: Mapping[str, object]) -> None:
        """Write metrics and manifest, after the table of jobs has been written.

        Parameters
        ----------
        metrics
            The aggregate measures.
        manifest
            A description of the inputs of the run; the hashes of the other files are added.
        """
        self.metrics.write(_json(metrics))
        others = {"jobs.csv": self.jobs, "metrics.json": self.metrics, **self.more}
        outputs = {name: _written(file) for name, file in others.items()}
        self.manifest.write(_json({**manifest, "outputs": outputs}))
        # All files are on disk before the first is renamed.
        for file in (*others.values(), self.manifest):
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def output_files(
    directory: Path,
    more: Iterable[str] = (),
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> Iterator[OutputFiles]:
    """Open the files of a run; they are renamed into place at the end of the block, the manifest last.

    The files replace those of an earlier run: files that its manifest lists and this run does not write are
    removed.

    Parameters
    ----------
    directory
        The directory, created if necessary.
    more
        The names of files that only some runs have.
    inputs, overwrite
        As for `batchlab.core.outputs.check_output`.

    Yields
    ------
    OutputFiles
        Of which nothing is left if the block raises.
    """
    more = tuple(more)
    check_set(directory, (*_NAMES, *more), inputs, overwrite=overwrite)
    before = listed(directory)
    directory.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path for name in (*_NAMES, *more) for path in directory.glob(f".{name}.*.tmp"))
    with ExitStack() as renames:
        # The stack unwinds from its end, so what is opened first is renamed last.
        manifest, metrics, jobs = (
            renames.enter_context(atomic_write(directory / name, "wb")) for name in _NAMES
        )
        others = {name: renames.enter_context(atomic_write(directory / name, "wb")) for name in more}
        yield OutputFiles(jobs, metrics, manifest, others)
    left = {name: found for name, found in before.items() if name not in (*_NAMES, *more)}
    remove_listed(directory, left, overwrite=overwrite)


def is_output(name: str) -> bool:
    """Return whether a file of this name may be part of a run's output: see `Result.write`."""
    of_tables = {table.file for table in recorded.TABLES.values()}
    further = {"result.zip", "jobs.parquet"}
    return name in {*_NAMES, *further, *of_tables} or (
        name.startswith("utilisation_") and name.endswith(".csv")
    )


def remove_run(directory: Path) -> None:
    """Remove the files of an earlier run, so that one that fails leaves none that look like its own.

    Parameters
    ----------
    directory
        The directory of a run. Files that its manifest lists, and that are unchanged, are removed, and then
        the manifest; nothing is removed if there is no manifest.

    Raises
    ------
    OSError
        If a file cannot be removed.
    """
    if found := listed(directory):
        remove_listed(directory, found)
        (directory / MANIFEST).unlink()


def manifest(
    policy: Policy,
    system: System,
    *,
    options: RunOptions,
    workload: Mapping[str, object],
    inputs: Mapping[str, str | os.PathLike[str]],
    command: str | None,
    stream: bool = False,
) -> dict[str, object]:
    """Describe the inputs and options of a run.

    Parameters
    ----------
    policy, system
        The policy and the system.
    options
        The other parameters of the run; the seed has its own key.
    workload
        A description that identifies the jobs.
    inputs
        The files read, by role; their hashes are computed.
    command
        The command line, if there was one.
    stream
        True if the log was simulated while it was read.

    Returns
    -------
    dict
        Ready for JSON.
    """
    others = options.to_dict()
    return {
        "format": _FORMAT,
        "command": command,
        "policy": str(policy),
        "seed": others.pop("seed"),
        "options": others | ({"stream": True} if stream else {}),
        "inputs": {role: file_identity(path) for role, path in inputs.items()},
        "workload": dict(workload),
        "system": described_system(system),
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the software that a run depends on."""
    return {
        "batchlab": _kernel.__version__,
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "polars": version("polars"),
    }


def file_identity(path: str | os.PathLike[str]) -> dict[str, object]:
    """Return a file's ``path``, ``bytes`` and ``sha256``; the last two are None if it is no regular file.

    The path of a copy of standard input has the attribute ``shown``, which names the original.
    """
    file = Path(path)
    shown = getattr(path, "shown", str(file))
    if not file.is_file():
        # A pipe can be read only once.
        return {"path": shown, "bytes": None, "sha256": None}
    return {"path": shown, **digest_of(file)}


def _json(content: Mapping[str, object]) -> bytes:
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n"
    # A file's name may be invalid Unicode; the replacement is JSON's escape for it.
    return text.encode(errors="backslashreplace")


def _written(file: IO[bytes]) -> dict[str, object]:
    file.flush()
    return digest_of(Path(file.name))


def described_system(system: System) -> dict[str, object]:
    """Describe a system; a platform by its name and the hash of its contents."""
    found = described(system)
    del found["start_time"]
    if system.platform is None:
        return found
    # Its parts are frozen, and their repr is complete.
    digest = hashlib.sha256(repr(system.platform).encode()).hexdigest()
    platform = {"name": system.platform.name, "sha256": digest}
    return {**found, "platform": platform, "hosts": list(system.hosts)}
