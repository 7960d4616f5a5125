"""Convert an ElastiSim project to a workload and a system: configuration, jobs, models and platform."""

from __future__ import annotations

import json
import math
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.application import read_application
from batchlab.application.files import as_elastisim
from batchlab.bridge.elastisim.configuration import Configuration, read_configuration
from batchlab.bridge.elastisim.jobs import ElastisimJob, read_jobs
from batchlab.core.units import format_count
from batchlab.errors import ApplicationError, BridgeError, PlatformError, shown
from batchlab.observer.steps import too_many
from batchlab.platform import read_platform
from batchlab.system import System
from batchlab.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from batchlab.application import Application
    from batchlab.platform import Host, Platform


def read_workload(path: str | Path, *, folder: str | Path | None = None) -> Workload:
    """Read an ElastiSim jobs file as a workload.

    Jobs have whole nodes, with one task each, and run on `System.of(platform)` under any policy. To run an
    ElastiSim project with its own algorithm and ElastiSim's exact behaviour, see `open_project`.

    Parameters
    ----------
    path
        The JSON file, ``{"jobs": [...]}``.
    folder
        The base of the paths of application models. By default the folder of the jobs file, its parent, or
        the working directory: the first in which the file exists.

    Returns
    -------
    Workload
        Sorted by submission; ``job_id`` counts from 0, as in ElastiSim. Jobs that may have different numbers
        of GPUs per node request the maximum.

    Raises
    ------
    BridgeError, ApplicationError
        If the file is invalid; the message names the file, the job and the key.

    Warns
    -----
    UserWarning
        If jobs or application models have unknown keys; the message lists them with their first position.
    """
    jobs = read_jobs(Path(path))
    home = Path(path).absolute().parent
    homes = (home, home.parent, Path()) if folder is None else (Path(folder),)
    models = Models(lambda name: _located(name, homes))
    programs = [models.program(job) for job in jobs]
    gpus = [job.gpus_per_node[1] for job in jobs]
    table = pl.DataFrame(
        {
            "job_id": range(len(jobs)),
            "submit_time": pl.Series([job.submit_time for job in jobs], dtype=pl.Float64),
            "run_time": pl.Series([None] * len(jobs), dtype=pl.Float64),
            "requested_time": [job.walltime or math.inf for job in jobs],
            "tasks": [job.nodes[0] for job in jobs],
            "tasks_per_node": [1] * len(jobs),
            "exclusive": [True] * len(jobs),
            "core": [1] * len(jobs),
            **({"gpu": gpus} if any(gpus) else {}),
            **_applications_of(jobs, programs),
        }
    )
    for note in unknown_keys(jobs, models):
        warnings.warn(f"{path}: {note}", stacklevel=2)
    resources: list[str] = [name for name in ("core", "gpu") if name in table.columns]
    return Workload.from_table(
        table, resources=resources, invalid="raise", overrun="keep", applications=models.applications
    )


def _located(name: str, homes: Sequence[Path]) -> Path:
    return next((home / name for home in homes if os.path.exists(home / name)), homes[0] / name)  # noqa: PTH110  # never raises


# A resource that every job requests on each of its nodes; used only in this file.
_PLACE = "place"
_MANY = 2**31 - 1
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Project:
    """An ElastiSim project, read and checked.

    Attributes
    ----------
    configuration
        The configuration.
    jobs
        By id: sorted by submission, ties in the order of the file.
    hosts
        The compute nodes by id: sorted by name.
    workload, system, platform
        The batchlab equivalents; ids are rows of jobs and numbers of nodes.
    totals
        Total iterations of all phases, per job.
    notes
        Remarks for the user on the interpretation of the project, one sentence each.
    """

    configuration: Configuration
    jobs: tuple[ElastisimJob, ...]
    hosts: tuple[Host, ...]
    workload: Workload
    system: System
    platform: Platform
    totals: tuple[int, ...]
    notes: tuple[str, ...]


def open_project(path: str | Path) -> Project:
    """Read an ElastiSim project.

    Parameters
    ----------
    path
        The configuration file of the project.

    Returns
    -------
    Project

    Raises
    ------
    BridgeError
        If the configuration or the jobs break a rule, or a job needs more nodes than exist.
    ApplicationError, PlatformError
        If a model or the platform is invalid.
    """
    configuration = read_configuration(path)
    jobs = read_jobs(configuration.jobs_file)
    # As in SimGrid, on which ElastiSim is based.
    platform = _with_links(configuration, read_platform(configuration.platform_file).in_whole_bytes())
    _check_intervals(configuration, jobs)
    hosts = sorted(platform.nodes, key=lambda host: host.name)
    _check_sizes(jobs, hosts)
    places = _MANY if configuration.allow_oversubscription else 1
    models = Models(configuration.paths.input)
    programs = [models.program(job) for job in jobs]
    return Project(
        configuration=configuration,
        jobs=tuple(jobs),
        hosts=tuple(hosts),
        workload=_workload(configuration, jobs, programs, models.applications),
        system=System.of(platform, hosts=[host.name for host in hosts], resources={_PLACE: places}),
        platform=platform,
        totals=tuple(program.iterations for program in programs),
        notes=(
            *configuration.notes,
            *_found_elsewhere(configuration, jobs),
            *_passed_over(jobs),
            *unknown_keys(jobs, models),
            *_held_back(configuration, jobs),
        ),
    )


def _with_links(configuration: Configuration, platform: Platform) -> Platform:
    """Set the links to and from the parallel file system in the platform."""
    for key in ("pfs_read_links", "pfs_write_links"):
        for name in getattr(configuration, key):
            try:
                platform.link_number(name)
            except PlatformError as error:
                raise BridgeError(f"{configuration.path}: {key}: {error}") from None
    return platform.with_storage_links(configuration.pfs_read_links, configuration.pfs_write_links)


def _check_intervals(configuration: Configuration, jobs: Sequence[ElastisimJob]) -> None:
    """Raise if intervals are too short for the period of submissions."""
    times = [job.submit_time for job in jobs] or [0.0]
    used = ["scheduling_interval", *(["sensing_interval"] if configuration.sensing else [])]
    for key in used:
        interval = getattr(configuration, key)
        wrong = too_many(min(times), max(times), interval)
        if wrong is not None:
            raise BridgeError(f"{configuration.path}: {key} = {interval:g}: {wrong}")


def _check_sizes(jobs: Sequence[ElastisimJob], hosts: Sequence[Host]) -> None:
    most = max((host.gpus for host in hosts), default=0)
    for job in jobs:
        if job.nodes[0] > len(hosts):
            raise BridgeError(
                f"{job.place} needs {job.nodes[0]} nodes, and would wait for ever: the platform has "
                f"{len(hosts)} compute nodes. Ask for fewer, or enlarge the platform."
            )
        if job.gpus_per_node[0] > most:
            raise BridgeError(
                f"{job.place} needs {job.gpus_per_node[0]} GPUs per node; no compute node of the platform "
                f"has more than {most}. Ask for fewer, or give the hosts num_gpus."
            )


@dataclass(frozen=True, slots=True)
class _Program:
    """The program of a job: the name of an application, its arguments, and its number of iterations."""

    application: str
    arguments: Mapping[str, float | str]
    iterations: int


class Models:
    """The application models of a project, each read once; jobs with other formulas get variants of them.

    Parameters
    ----------
    locate
        Returns the path of a model by the name in a job.

    Attributes
    ----------
    applications
        By name.
    unknown
        The paths of ignored keys in each model that has any.
    """

    def __init__(self, locate: Callable[[str], Path]) -> None:
        self.applications: dict[str, Application] = {}
        self.unknown: dict[str, list[str]] = {}
        self._locate = locate
        self._read: dict[str, Application] = {}
        self._kinds: dict[tuple[object, ...], tuple[str, tuple[str, ...]]] = {}

    def program(self, job: ElastisimJob) -> _Program:
        """Return the program of a job."""
        texts = job.arguments
        # Only these texts change formulas; numbers become arguments.
        written = tuple((name, text) for name, text in texts.items() if not _NUMBER.fullmatch(text))
        kind = (job.application_model, job.type == "rigid", written, tuple(texts))
        if kind not in self._kinds:
            as_it_is = job.type == "rigid" and not written and all(map(_is_name, texts))
            self._kinds[kind] = self._kind(job, as_it_is=as_it_is)
        name, names = self._kinds[kind]
        arguments: dict[str, float | str] = {each: float(texts[each]) for each in names}
        return _Program(name, arguments, self._iterations(name, arguments, job))

    def _kind(self, job: ElastisimJob, *, as_it_is: bool) -> tuple[str, tuple[str, ...]]:
        application = self._model(job)
        if as_it_is and self.applications.setdefault(job.application_model, application) is application:
            return job.application_model, tuple(job.arguments)
        try:
            application, arguments = as_elastisim(application, job.arguments, rigid=job.type == "rigid")
        except ApplicationError as error:
            raise BridgeError(f"{job.place}: {job.application_model}: {error}") from None
        name = job.application_model
        if self.applications.setdefault(name, application) != application:
            name = f"{name}#{len(self.applications)}"
            self.applications[name] = application
        return name, tuple(arguments)

    def _model(self, job: ElastisimJob) -> Application:
        name = job.application_model
        if name not in self._read:
            unknown: list[str] = []
            self._read[name] = read_application(self._locate(name), lenient=True, unknown=unknown)
            if unknown:
                self.unknown[name] = unknown
        return self._read[name]

    def _iterations(self, name: str, arguments: Mapping[str, float | str], job: ElastisimJob) -> int:
        total = 0
        for number, phase in enumerate(self.applications[name].phases):
            try:
                iterations = phase.iterations(**arguments)  # type: ignore[operator]  # formulas once made
            except ApplicationError as error:
                raise BridgeError(
                    f"{job.place}: {job.application_model}: phases[{number}].iterations: {error}"
                ) from None
            total += max(int(iterations), 0) if math.isfinite(iterations) else 0
        return total


def _is_name(text: str) -> bool:
    return text.isascii() and text.isidentifier()


def _workload(
    configuration: Configuration,
    jobs: Sequence[ElastisimJob],
    programs: Sequence[_Program],
    applications: Mapping[str, Application],
) -> Workload:
    grace = configuration.job_kill_grace_period
    table = pl.DataFrame(
        {
            "job_id": range(len(jobs)),
            "submit_time": [job.submit_time for job in jobs],
            "run_time": pl.Series([None] * len(jobs), dtype=pl.Float64),
            "requested_time": [job.walltime + grace if job.walltime else math.inf for job in jobs],
            "tasks": [job.nodes[0] for job in jobs],
            _PLACE: [1] * len(jobs),
            **_applications_of(jobs, programs),
        }
    )
    return Workload.from_table(
        table, resources=[_PLACE], invalid="raise", overrun="keep", applications=applications
    )


def _applications_of(jobs: Sequence[ElastisimJob], programs: Sequence[_Program]) -> dict[str, object]:
    """Return the columns of applications, and ``depends_on`` if a job depends on another."""
    columns: dict[str, object] = {
        "application": [program.application for program in programs],
        "job_type": [job.type for job in jobs],
        "tasks_min": [job.nodes[0] for job in jobs],
        "tasks_max": [job.nodes[1] for job in jobs],
        "arguments": [json.dumps(program.arguments) for program in programs],
    }
    if any(job.dependencies for job in jobs):
        columns["depends_on"] = pl.Series([[*job.dependencies] for job in jobs], dtype=pl.List(pl.Int64))
    return columns


def _found_elsewhere(configuration: Configuration, jobs: Sequence[ElastisimJob]) -> Iterator[str]:
    for name in dict.fromkeys(job.application_model for job in jobs):
        note = configuration.paths.note(name)
        if note is not None:
            yield note


def _passed_over(jobs: Sequence[ElastisimJob]) -> Iterator[str]:
    for key in dict.fromkeys(key for job in jobs for key in job.passed_over):
        those = [job for job in jobs if key in job.passed_over]
        count, first = format_count(len(those), "job"), those[0].place
        rule = "is no unsigned integer, and means nothing, as in ElastiSim"
        yield f"{key} of {count} (first {first}) {rule}"


def unknown_keys(jobs: Sequence[ElastisimJob], models: Models) -> Iterator[str]:
    """Yield remarks on ignored keys of jobs and application models, with their first position."""
    for key in dict.fromkeys(key for job in jobs for key in job.unknown):
        those = [job for job in jobs if key in job.unknown]
        count, first = format_count(len(those), "job"), those[0].place
        yield f"{shown(key)} of {count} (first {first}) is not a key of a job, and means nothing"
    for model, places in models.unknown.items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        yield f"{model}: {places[0]}{more}: no key of an application model, and means nothing"


def _held_back(configuration: Configuration, jobs: Sequence[ElastisimJob]) -> Iterator[str]:
    if configuration.min_scheduling_interval and any(job.type in {"malleable", "adaptive"} for job in jobs):
        yield (
            "min_scheduling_interval: jobs whose scheduling point falls into it go on; ElastiSim would leave "
            "them waiting for ever"
        )
