"""Sources of workloads in an experiment: an object, a log, or a function of the seed.

A source hashes its workload, if possible without loading it. It can be sent to other processes, each of
which loads a workload once.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from batchlab import generate
from batchlab.application.files import document_of, has_skeletons
from batchlab.errors import ExperimentError, WorkloadError, shown, suggest
from batchlab.experiment.store import fingerprint
from batchlab.result.archive import read_archive, table_digest, workload_members, workload_of, write_archive
from batchlab.workload import Workload, read_table
from batchlab.workload.formats import FORM_OPTIONS, is_table, read_by
from batchlab.workload.packing import PACKINGS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from batchlab.experiment.store import Store

__all__ = ["Generator", "LogFile", "Source", "as_source", "generators", "loaded"]


_SUFFIXES = (*PACKINGS, ".swf", ".csv", ".parquet")
_KEPT = 3


@runtime_checkable
class Source(Protocol):
    """A source of workloads."""

    @property
    def label(self) -> str:
        """Default label of the workload."""
        ...

    def digest(self, seed: int) -> str:
        """Hash everything that determines the workload that `load` returns for a seed."""
        ...

    def load(self, seed: int) -> Workload:
        """Return the workload."""
        ...

    def portable(self, store: Store) -> Source:
        """Return a source of the same workload that is cheap to send to a process with the same store."""
        ...


@dataclass(frozen=True)
class LogFile:
    """A log or a table, read when needed.

    Parameters
    ----------
    path
        An SWF file, the log of a batch system (also compressed; recognised by content), CSV or Parquet.
    options
        Options of `read_swf`, `read_sacct`, `read_jobcomp`, `read_pbs`, `read_mapped` or `read_table`.
    """

    path: Path
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The file's name without its suffixes."""
        name = self.path.name
        while name.lower().endswith(_SUFFIXES):
            name = name.rpartition(".")[0]
        return name

    def digest(self, seed: int) -> str:  # noqa: ARG002  # one workload for all seeds
        """Hash the file and the options."""
        try:
            with self.path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256")
        except OSError as error:
            raise WorkloadError(
                f"{self.path}: cannot be read: {error.strerror or error}. Give the path of a log or a table."
            ) from error
        content.update(
            json.dumps([is_table(self.path), dict(self.options)], sort_keys=True, default=str).encode()
        )
        mapping = self.options.get("mapping")
        if isinstance(mapping, str | Path) and Path(mapping).is_file():
            content.update(Path(mapping).read_bytes())
        return content.hexdigest()

    def load(self, seed: int) -> Workload:  # noqa: ARG002  # one workload for all seeds
        """Read the file."""
        is_log = not FORM_OPTIONS.isdisjoint(self.options)
        workload = read_by(self.path, self.options) if is_log or not is_table(self.path) else self._table()
        workload.report.check_kept()
        return workload

    def _table(self) -> Workload:
        given = dict(self.options)
        most = given.pop("max_jobs", None)
        try:
            workload = read_table(self.path, **given)
        except TypeError as error:
            raise ExperimentError(f"{self.path}: options = {shown(dict(self.options))}: {error}.") from error
        return workload if most is None else workload.head(most)

    def portable(self, store: Store) -> Source:  # noqa: ARG002  # the path is what to send
        """Return a copy with the absolute path."""
        return LogFile(self.path.absolute(), dict(self.options))


@dataclass(frozen=True, eq=False)
class _Given:
    workload: Workload

    @property
    def label(self) -> str:
        path = Path(self.workload.report.source)
        return LogFile(path).label if path.suffix in _SUFFIXES else "workload"

    @cached_property
    def _content(self) -> str:
        described = f"{table_digest(self.workload.jobs)}{json.dumps(self.workload.resources)}"
        if self.workload.applications:
            described += json.dumps(_documents(self.workload))
        header = self.workload.header
        # The date of time 0 and the time zone determine the time of day.
        calendar = [header.unix_start_time, header.time_zone, header.time_zone_string]
        if any(value is not None for value in calendar):
            described += json.dumps(calendar)
        return hashlib.sha256(described.encode()).hexdigest()

    def digest(self, seed: int) -> str:  # noqa: ARG002  # one workload for all seeds
        return self._content

    def load(self, seed: int) -> Workload:  # noqa: ARG002  # one workload for all seeds
        return self.workload

    def portable(self, store: Store) -> Source:
        if any(map(has_skeletons, self.workload.applications.values())):
            # Functions are pickled.
            return self
        path = store.path("workloads", self._content)
        if not path.exists():
            write_archive(path, workload_members(self.workload))
        return _Stored(path, self._content)


def _documents(workload: Workload) -> dict[str, object]:
    return {name: document_of(application) for name, application in workload.applications.items()}


@dataclass(frozen=True)
class _Stored:
    path: Path
    content: str
    label: str = "workload"

    def digest(self, seed: int) -> str:  # noqa: ARG002  # one workload for all seeds
        return self.content

    def load(self, seed: int) -> Workload:  # noqa: ARG002  # one workload for all seeds
        return workload_of(read_archive(self.path))

    def portable(self, store: Store) -> Source:  # noqa: ARG002  # it is
        return self


@dataclass(frozen=True, eq=False)
class _Made:
    make: Callable[..., Workload]

    @property
    def label(self) -> str:
        inner = getattr(self.make, "func", self.make)
        return str(getattr(inner, "__name__", type(inner).__name__))

    @cached_property
    def _content(self) -> str:
        return fingerprint(self.make, f"workloads: {self.label}")

    def digest(self, seed: int) -> str:
        return hashlib.sha256(f"{self._content} {seed}".encode()).hexdigest()

    def load(self, seed: int) -> Workload:
        made = self.make(seed=seed)
        if not isinstance(made, Workload):
            raise ExperimentError(
                f"workloads: {self.label}(seed={seed}) gave {shown(made)}; must be a Workload."
            )
        return made

    def portable(self, store: Store) -> Source:  # noqa: ARG002  # the function is what to send
        return self


def as_source(value: object) -> Source:
    """Convert a workload, a path or a function to a source.

    Parameters
    ----------
    value
        A `Workload`; the path of a log or table; a function with a parameter ``seed`` that returns a
        workload; or a source.

    Raises
    ------
    ExperimentError
        If it is of another type.
    """
    if isinstance(value, Workload):
        return _Given(value)
    if isinstance(value, str | os.PathLike):
        return LogFile(Path(value))
    if isinstance(value, Source):
        return value
    if callable(value):
        return _Made(value)
    raise ExperimentError(
        f"workloads: {shown(value)}; must be a Workload, the path of a log, or a function of a seed."
    )


class _Loaded:
    """The workloads that this process loaded last, shared by consecutive runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._workloads: OrderedDict[str, Workload] = OrderedDict()

    def get(self, digest: str, load: Callable[[], Workload]) -> Workload:
        with self._lock:
            lock = self._locks.setdefault(digest, threading.Lock())
        # Threads that need the same workload wait for the thread that loads it.
        with lock:
            workload = self._workloads.get(digest)
            if workload is None:
                workload = load()
                with self._lock:
                    self._workloads[digest] = workload
                    while len(self._workloads) > _KEPT:
                        self._locks.pop(self._workloads.popitem(last=False)[0], None)
            return workload


_loaded = _Loaded()


def loaded(source: Source, seed: int, digest: str) -> Workload:
    """Return a source's workload, from those loaded before if possible.

    Parameters
    ----------
    source, seed
        As for `Source.load`.
    digest
        The result of `Source.digest` for the seed.
    """
    if isinstance(source, _Given):
        return source.workload
    return _loaded.get(digest, lambda: source.load(seed))


def generators() -> dict[str, Callable[..., Workload]]:
    """Return the functions of `batchlab.generate` with a parameter ``seed``, by name."""
    named = {name.removesuffix("_workload"): getattr(generate, name) for name in dir(generate)}
    return {
        name: value
        for name, value in named.items()
        if inspect.isfunction(value) and "seed" in inspect.signature(value).parameters
    }


@dataclass(frozen=True)
class Generator:
    """A source of workloads: a generator with its parameters except the seed.

    Parameters
    ----------
    name
        One of `generators`.
    parameters
        Its parameters by name, ready for JSON.
    log
        The workload to resemble, for generators that need one.

    Raises
    ------
    ExperimentError
        If the generator or a parameter is unknown.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    log: LogFile | None = None

    def __post_init__(self) -> None:
        known = generators()
        if self.name not in known:
            raise ExperimentError(f"generator = {self.name!r}; there is none.{suggest(self.name, known)}")
        takes = inspect.signature(known[self.name]).parameters
        for name in [*self.parameters, *(["workload"] if self.log else [])]:
            if name not in takes or name == "seed":
                rest = [each for each in takes if each != "seed"]
                raise ExperimentError(
                    f"{name}: generator {self.name} has no such parameter.{suggest(name, rest)}"
                )

    @property
    def label(self) -> str:
        """The generator's name."""
        return self.name

    def digest(self, seed: int) -> str:
        """Hash name, parameters, log and seed; the version of batchlab determines the generator's code."""
        log = self.log.digest(0) if self.log else None
        described = json.dumps([self.name, dict(self.parameters), log, seed], sort_keys=True, default=str)
        return hashlib.sha256(described.encode()).hexdigest()

    def load(self, seed: int) -> Workload:
        """Generate the workload."""
        first = {"workload": loaded(self.log, 0, self.log.digest(0))} if self.log else {}
        try:
            return generators()[self.name](**first, **self.parameters, seed=seed)
        except TypeError as error:
            raise ExperimentError(
                f"generator {self.name}: {shown(dict(self.parameters))}: {error}. See batchlab.generate."
            ) from error

    def portable(self, store: Store) -> Source:  # noqa: ARG002  # the parameters are what to send
        """Return a copy with the absolute path of the log."""
        log = self.log and LogFile(self.log.path.absolute(), dict(self.log.options))
        return Generator(self.name, dict(self.parameters), log)
