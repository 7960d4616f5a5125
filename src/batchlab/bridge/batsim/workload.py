"""Convert Batsim's workload file to a batchlab workload, which can run under any policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.application import Application, Phase
from batchlab.application.tasks import Task
from batchlab.bridge.batsim.profiles import Profiles
from batchlab.bridge.document import field, read_object, seconds, text
from batchlab.core.units import is_whole
from batchlab.errors import BridgeError, shown
from batchlab.workload import Workload
from batchlab.workload.header import Header

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["read_workload"]

_MOST = 2**31 - 1
_NO_WALLTIME = -1


def read_workload(path: str | os.PathLike[str]) -> Workload:
    """Read a workload file of Batsim 4 or 5.

    A job has whole nodes, with one task each: Batsim's resources are hosts. A ``delay`` is a run time. Other
    profiles become applications, and require a platform. Return codes, and fields of jobs and profiles that
    Batsim only passes to the scheduler, are ignored.

    Parameters
    ----------
    path
        The JSON file, ``{"nb_res": …, "jobs": […], "profiles": {…}}``.

    Returns
    -------
    Workload
        Sorted by submission; ``job_id`` counts from 0, and ``name`` is Batsim's id. The ``requested_time`` of
        a job without a ``walltime`` is its run time, if known, else infinite. Batsim ends jobs at their
        walltime, as ``simulate`` does with ``walltime="kill"``.

    Raises
    ------
    BridgeError
        If the file is invalid; the message names the file, the job or profile, and the key. Also for profiles
        on storage, traces and messages.
    """
    file = Path(path)
    document = read_object(file)
    described = document.get("profiles")
    if not isinstance(described, dict):
        raise BridgeError(f'{file}: has no profiles; write {{"profiles": {{"name": {{…}}, …}}}}.')
    profiles = Profiles(f"{file}: profiles", described)
    jobs = _jobs(f"{file}: jobs", document.get("jobs"))
    read = {job.profile: profiles.profile(job.profile, f"{job.place}.profile") for job in jobs}
    applications = {
        name: Application([Phase([profile])]) for name, profile in read.items() if isinstance(profile, Task)
    }
    return Workload.from_table(
        _table(jobs, read),
        resources=["core"],
        invalid="raise",
        overrun="keep",
        applications=applications,
        header=_header(f"{file}: nb_res", document.get("nb_res")),
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """A job, as parsed from the file."""

    place: str
    name: str
    submit_time: float
    hosts: int
    walltime: float | None
    profile: str


def _jobs(place: str, jobs: object) -> list[_Job]:
    if not isinstance(jobs, list):
        raise BridgeError(f"{place} = {shown(jobs)}; must be a list of jobs, [{{…}}, …].")
    read = [_job(f"{place}[{index}]", job) for index, job in enumerate(jobs)]
    return sorted(read, key=lambda job: job.submit_time)


def _job(place: str, job: object) -> _Job:
    if not isinstance(job, dict):
        raise BridgeError(f"{place} = {shown(job)}; must be an object of keys and values.")
    try:
        return _Job(
            place=place,
            name=field("id", _name, job),
            submit_time=field("subtime", seconds, job),
            hosts=field("res", _count, job),
            walltime=field("walltime", _walltime, job) if "walltime" in job else None,
            profile=field("profile", text, job),
        )
    except ValueError as error:
        raise BridgeError(f"{place}.{error}.") from None


def _name(value: object) -> str:
    return str(value) if is_whole(value) else text(value)


def _count(value: object) -> int:
    if not is_whole(value) or not 1 <= value <= _MOST:
        raise ValueError(f"{shown(value)}; must be a whole number from 1 to {_MOST:,}")
    return value


def _walltime(value: object) -> float | None:
    return None if value == _NO_WALLTIME else seconds(value)


def _table(jobs: Sequence[_Job], read: Mapping[str, float | Task]) -> pl.DataFrame:
    profiles = [read[job.profile] for job in jobs]
    durations = [profile if isinstance(profile, float) else None for profile in profiles]
    limits = [
        math.inf if job.walltime is duration is None else job.walltime
        for job, duration in zip(jobs, durations, strict=True)
    ]
    columns: dict[str, object] = {
        "job_id": range(len(jobs)),
        "name": pl.Series([job.name for job in jobs], dtype=pl.String),
        "submit_time": pl.Series([job.submit_time for job in jobs], dtype=pl.Float64),
        "run_time": pl.Series(durations, dtype=pl.Float64),
        "requested_time": pl.Series(limits, dtype=pl.Float64),
        "tasks": pl.Series([job.hosts for job in jobs], dtype=pl.Int64),
        "tasks_per_node": [1] * len(jobs),
        "exclusive": [True] * len(jobs),
        "core": [1] * len(jobs),
    }
    names = [job.profile if isinstance(read[job.profile], Task) else None for job in jobs]
    if any(names):
        columns["application"] = pl.Series(names, dtype=pl.String)
    return pl.DataFrame(columns)


def _header(place: str, hosts: object) -> Header:
    """Return a header with the number of hosts that the workload was made for, if known."""
    if hosts is None:
        return Header()
    try:
        count = _count(hosts)
    except ValueError as error:
        raise BridgeError(f"{place} = {error}.") from None
    return Header.from_fields({"MaxNodes": count, "MaxProcs": count})
