"""Read ElastiSim's jobs file: requests, and arguments as the texts that ElastiSim converts them to."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, get_args

from batchlab.bridge.document import field, nearest, read_object, seconds, text
from batchlab.core.units import is_finite
from batchlab.core.vocabulary import JobType
from batchlab.errors import BridgeError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ElastisimJob", "JobType", "read_jobs"]

_TYPES: tuple[JobType, ...] = get_args(JobType)

_RIGID = ("num_nodes", "num_gpus_per_node")
_ELASTIC = ("num_nodes_min", "num_nodes_max", "num_gpus_per_node_min", "num_gpus_per_node_max")
_KEYS = dict.fromkeys(
    (
        *("type", "submit_time", "walltime", "application_model", "arguments", "attributes"),
        *("dependencies", *_RIGID, *_ELASTIC),
    )
)
_LARGEST_COUNT = 2**31 - 1
_LARGEST_INTEGER = 2**64


@dataclass(frozen=True, kw_only=True, slots=True)
class ElastisimJob:
    """A job of an ElastiSim project.

    Attributes
    ----------
    place
        Its position in the file, ``jobs.json: jobs[3]``, for error messages.
    submit_time
        Seconds.
    walltime
        Seconds; 0 for no limit.
    nodes, gpus_per_node
        Minimum and maximum; equal for a rigid job.
    application_model
        The path of the application model, as written.
    arguments, attributes
        By name, as the text that ElastiSim uses in formulas and messages.
    dependencies
        The ids of the jobs that must complete before this one can start.
    passed_over
        Keys with a value other than an unsigned integer, which ElastiSim silently treats as 0.
    unknown
        Unknown keys, which are ignored.
    """

    place: str
    type: JobType
    submit_time: float
    walltime: float
    nodes: tuple[int, int]
    gpus_per_node: tuple[int, int]
    application_model: str
    arguments: Mapping[str, str]
    attributes: Mapping[str, str]
    dependencies: tuple[int, ...] = ()
    passed_over: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def read_jobs(path: Path) -> list[ElastisimJob]:
    """Read an ElastiSim jobs file.

    Parameters
    ----------
    path
        The JSON file, ``{"jobs": [...]}``.

    Returns
    -------
    list of ElastisimJob
        Sorted by submission, ties in the order of the file: the index of a job is its id.

    Raises
    ------
    BridgeError
        If the file is invalid; the message names the file, the job and the key.
    """
    jobs = read_object(path).get("jobs")
    if not isinstance(jobs, list) or not jobs:
        raise BridgeError(f'{path}: has no list of jobs; write {{"jobs": [{{…}}, …]}}.')
    read = [_job(f"{path}: jobs[{index}]", job) for index, job in enumerate(jobs)]
    ordered = sorted(read, key=lambda job: job.submit_time)
    _check_dependencies(ordered)
    return ordered


def _job(place: str, job: object) -> ElastisimJob:
    if not isinstance(job, dict):
        raise BridgeError(f"{place} = {shown(job)}; must be an object of keys and values.")
    for key in job:
        if key not in _KEYS and (suggestion := nearest(key, _KEYS)):
            raise BridgeError(f"{place}: {shown(key)} is not a key of a job.{suggestion}")
    try:
        return _typed(place, {key: value for key, value in job.items() if value is not None})
    except ValueError as error:
        if isinstance(error, BridgeError):
            raise
        raise BridgeError(f"{place}.{error}.") from None


def _typed(place: str, job: dict[str, object]) -> ElastisimJob:
    kind = _kind(job.get("type"))
    numbers = ("walltime", *(_RIGID[1:] if kind == "rigid" else _ELASTIC))
    return ElastisimJob(
        place=place,
        type=kind,
        submit_time=field("submit_time", seconds, job),
        walltime=float(_unsigned(job.get("walltime"))),
        nodes=_nodes(kind, job),
        gpus_per_node=_gpus(kind, job),
        application_model=field("application_model", text, job),
        arguments=_as_texts("arguments", job.get("arguments", {})),
        attributes=_as_texts("attributes", job.get("attributes", {})),
        dependencies=_dependencies(job.get("dependencies", [])),
        passed_over=tuple(key for key in numbers if key in job and not _is_unsigned(job[key])),
        unknown=tuple(key for key in job if key not in _KEYS),
    )


def _dependencies(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(map(_is_unsigned, value)):
        rule = "must be a list of job ids, which count from 0 in the order of submission"
        raise ValueError(f"dependencies = {shown(value)}; {rule}")
    return tuple(dict.fromkeys(value))


def _check_dependencies(jobs: list[ElastisimJob]) -> None:
    """Raise for dependencies on unknown jobs, and for cycles."""
    for number, job in enumerate(jobs):
        for other in job.dependencies:
            if other >= len(jobs) or other == number:
                rule = "it is this job" if other == number else f"there are {len(jobs)} jobs"
                raise BridgeError(f"{job.place}.dependencies names job {other}; {rule}.")
    waiting = {number: {*job.dependencies} for number, job in enumerate(jobs)}
    order = TopologicalSorter(waiting)
    try:
        order.prepare()
    except CycleError as error:
        circle = " on ".join(map(str, error.args[1]))
        raise BridgeError(f"{jobs[error.args[1][0]].place}.dependencies: job {circle}: a circle.") from None


def _kind(value: object) -> JobType:
    if not isinstance(value, str):
        raise ValueError(f"type = {shown(value)}; must be one of {', '.join(_TYPES)}")  # noqa: TRY004
    for kind in _TYPES:
        if kind == value.lower():
            return kind
    raise ValueError(f"type = {shown(value)} is unknown.{suggest(value, _TYPES)}".rstrip("."))


def _is_unsigned(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_INTEGER


def _unsigned(value: object) -> int:
    return value if isinstance(value, int) and _is_unsigned(value) else 0


def _count(key: str, value: object) -> int:
    number = _unsigned(value)
    if number > _LARGEST_COUNT:
        raise ValueError(f"{key} = {shown(value)}; must be < 2^31")
    return number


def _nodes(kind: JobType, job: dict[str, object]) -> tuple[int, int]:
    keys = _RIGID[:1] * 2 if kind == "rigid" else _ELASTIC[:2]
    least, most = (_count(key, job.get(key)) for key in keys)
    for key, number in zip(keys, (least, most), strict=True):
        if number < 1:
            given = f" = {shown(job[key])}" if key in job else " is missing"
            raise ValueError(f"{key}{given}; a {kind} job needs an integer >= 1")
    if least > most:
        raise ValueError(f"{keys[0]} = {least}; must be <= {keys[1]} = {most}")
    return least, most


def _gpus(kind: JobType, job: dict[str, object]) -> tuple[int, int]:
    keys = _RIGID[1:] * 2 if kind == "rigid" else _ELASTIC[2:]
    least, most = (_count(key, job.get(key)) for key in keys)
    if least > most:
        raise ValueError(f"{keys[0]} = {least}; must be <= {keys[1]} = {most}")
    return least, most


def _as_texts(key: str, values: object) -> dict[str, str]:
    if not isinstance(values, dict):
        raise ValueError(f"{key} = {shown(values)}; must be an object of names and values")  # noqa: TRY004
    return {name: _as_text(f"{key}.{name}", value) for name, value in sorted(values.items())}


def _as_text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} = {shown(value)}; must be a text or a number")  # noqa: TRY004
    if isinstance(value, int) and -_LARGEST_INTEGER // 2 <= value < _LARGEST_INTEGER:
        return str(value)
    if not is_finite(value):
        raise ValueError(f"{key} = {shown(value)}; must be a text or a finite number")
    # Six decimals, as from std::to_string: 1.5e-7 becomes 0.
    return f"{float(value):.6f}"
