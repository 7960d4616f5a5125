"""Convert Batsim's workload file and its profiles to a batchlab workload, which can run under any policy.

Names follow Batsim 4 and 5. The computation and communication of a profile are one parallel task whose
amounts progress in lock-step: `Compute` with ``coupled=True``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import polars as pl

from batchlab.application import Application, Phase
from batchlab.application.tasks import Compute, Delay, Sequence, Task
from batchlab.bridge.document import amount, amounts, field, read_object, seconds, text
from batchlab.core.rules import is_whole
from batchlab.errors import BridgeError, shown, suggest
from batchlab.workload import Workload
from batchlab.workload.header import Header

if TYPE_CHECKING:
    import os

    from batchlab.application.tasks import RankPattern


Profile: TypeAlias = float | Task
"""A duration in seconds, or a task."""

_Fields: TypeAlias = Mapping[str, object]
_STORAGE = "runs on storage hosts, which batchlab reads from no workload"
_TRACE = "replays a trace of its own, which batchlab does not read"
_MESSAGE = "exchanges messages with the scheduler"
_NOT_READ: Final = {
    "parallel_homogeneous_pfs": _STORAGE,
    "ptask_on_storage_homogeneous": _STORAGE,
    "data_staging": _STORAGE,
    "ptask_data_staging_between_storages": _STORAGE,
    "smpi": _TRACE,
    "usage_trace": _TRACE,
    "replay_smpi": _TRACE,
    "replay_usage": _TRACE,
    "trace_replay": _TRACE,
    "send": _MESSAGE,
    "recv": _MESSAGE,
}
_DEEPEST = 50


class Profiles:
    """The profiles of a workload, each parsed when a job first names it.

    Parameters
    ----------
    place
        The position of the profiles in the file, for error messages.
    described
        The JSON objects of profiles, by name.
    """

    def __init__(self, place: str, described: Mapping[str, object]) -> None:
        self._place, self._described = place, described
        self._read: dict[str, Profile] = {}

    def profile(self, name: str, place: str) -> Profile:
        """Return a profile, and parse it at its first use.

        Parameters
        ----------
        name
            The name of the profile.
        place
            The position of the reference, for error messages.

        Returns
        -------
        float or Task
            Seconds for a duration, else the task of each job.

        Raises
        ------
        BridgeError
            If the profile is unknown, breaks a rule, or is unsupported.
        """
        return self._named(name, place, ())

    def _named(self, name: str, place: str, outer: tuple[str, ...]) -> Profile:
        if name in outer or len(outer) > _DEEPEST:
            rule = f"profiles must not hold themselves, nor be {_DEEPEST} deep"
            raise BridgeError(f"{place} = {shown(name)}; {rule}.")
        if name not in self._described:
            raise BridgeError(f"{place} = {shown(name)}; no such profile.{suggest(name, self._described)}")
        if name not in self._read:
            self._read[name] = self._made(f"{self._place}.{name}", self._described[name], (*outer, name))
        return self._read[name]

    def _made(self, place: str, fields: object, outer: tuple[str, ...]) -> Profile:
        if not isinstance(fields, dict):
            raise BridgeError(f"{place} = {shown(fields)}; must be an object of keys and values.")
        kind = fields.get("type")
        if kind in {"composed", "sequential_composition"}:
            return self._composed(place, fields, outer)
        make = _MAKERS.get(kind) if isinstance(kind, str) else None
        if make is None:
            raise BridgeError(f"{place}.type = {shown(kind)}; {_why_not(kind)}.")
        try:
            return make(fields)
        except BridgeError:
            raise
        except ValueError as error:
            raise BridgeError(f"{place}.{error}.") from None

    def _composed(self, place: str, fields: _Fields, outer: tuple[str, ...]) -> Profile:
        names, repeat = fields.get("seq"), fields.get("repeat", 1)
        if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
            raise BridgeError(f"{place}.seq = {shown(names)}; must be a list of names of profiles.")
        if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
            raise BridgeError(f"{place}.repeat = {shown(repeat)}; must be a whole number >= 1.")
        parts = [self._named(name, f"{place}.seq[{index}]", outer) for index, name in enumerate(names)]
        durations = [part for part in parts if isinstance(part, float)]
        if len(durations) == len(parts):
            return repeat * sum(durations)
        return Sequence([_task_of(part) for part in parts], iterations=repeat)


def _task_of(profile: Profile) -> Task:
    """Return the task of a profile; a duration becomes a delay of all ranks."""
    return Delay(profile) if isinstance(profile, float) else profile


def _why_not(kind: object) -> str:
    if isinstance(kind, str) and kind in _NOT_READ:
        return f"such a profile {_NOT_READ[kind]}. Leave out its jobs, or give them a delay"
    known = [*_MAKERS, "composed", "sequential_composition"]
    return f"must be a type of profile.{suggest(kind, known) if isinstance(kind, str) else ''}".rstrip(".")


def _delay(fields: _Fields) -> Profile:
    return field("delay", seconds, fields)


def _parallel(fields: _Fields) -> Profile:
    flops, sizes = (field(key, amounts, fields) for key in ("cpu", "com"))
    if not flops or len(sizes) != len(flops) ** 2:
        rule = f"cpu has {len(flops)}, and com must have one for each pair of these"
        raise ValueError(f"com has {len(sizes)} numbers; {rule}")
    return Compute(flops=flops, bytes=sizes if any(sizes) else None, coupled=True)


def _homogeneous(fields: _Fields) -> Profile:
    strategy = fields.get("generation_strategy", "defined_amount_used_for_each_value")
    flops, size = (field(key, amount, fields) for key in ("cpu", "com"))
    if strategy == "defined_amount_used_for_each_value":
        return _spread(flops, "uniform", size, f"{size!r} * num_nodes * (num_nodes - 1)")
    if strategy == "defined_amount_spread_uniformly":
        return _spread(flops, "all_ranks", size, size)
    known = "defined_amount_used_for_each_value or defined_amount_spread_uniformly"
    raise ValueError(f"generation_strategy = {shown(strategy)}; must be {known}")


def _homogeneous_total(fields: _Fields) -> Profile:
    flops, size = (field(key, amount, fields) for key in ("cpu", "com"))
    # Batsim 4 divides the bytes by the number of hosts, not by the number of pairs.
    return _spread(flops, "all_ranks", size, f"{size!r} * (num_nodes - 1)")


def _spread(flops: float, pattern: RankPattern, size: float, total: str | float) -> Compute:
    """Create a parallel task; each ordered pair of ranks sends the same share of the total bytes."""
    if size == 0:
        return Compute(flops=flops, computation_pattern=pattern, coupled=True)
    return Compute(
        flops=flops,
        computation_pattern=pattern,
        bytes=total,
        communication_pattern="all_to_all",
        coupled=True,
    )


_MAKERS: Final[dict[str, Callable[[_Fields], Profile]]] = {
    "delay": _delay,
    "parallel": _parallel,
    "ptask": _parallel,
    "parallel_homogeneous": _homogeneous,
    "ptask_homogeneous": _homogeneous,
    "parallel_homogeneous_total": _homogeneous_total,
}


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


def _table(jobs: list[_Job], read: Mapping[str, float | Task]) -> pl.DataFrame:
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
