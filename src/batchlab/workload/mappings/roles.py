"""Roles of the columns of a data set, and the units of their values."""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["CLOCK", "KINDS", "ROLES", "SLURM", "UNITS", "Kind", "Role"]

Kind = Literal["identifier", "instant", "duration", "count", "memory", "text", "flag"]

CLOCK = "clock"
"""The unit of durations like ``[days-]hours:minutes:seconds``, or ``1 days 02:00:00`` of pandas."""
SLURM = "slurm"
"""The unit of memory in Slurm's syntax: ``4Gn`` per node, ``2000Mc`` per core, ``16G`` per job."""

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_KIBIBYTES = {
    "B": 1 / 1024,
    **{f"{letter}B": 1000.0**power / 1024 for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1024.0 ** (power - 1) for power, letter in enumerate("KMGT", 1)},
}
UNITS: dict[Kind, dict[str, float]] = {
    "instant": _SECONDS,
    "duration": {**_SECONDS, CLOCK: 1.0},
    "count": {"one": 1.0, "percent": 1e-2, "milli": 1e-3},
    "memory": {**_KIBIBYTES, SLURM: 1.0},
}
"""By kind, the factor of each unit: to seconds, to a number, to KiB. The first unit is the default."""


class Role(NamedTuple):
    """The meaning of a column: its kind and a description."""

    kind: Kind
    text: str


ROLES: dict[str, Role] = {
    "job_id": Role("identifier", "The number or the name of the job. Jobs are numbered by rows without it"),
    "submit": Role("instant", "When the job was submitted"),
    "eligible": Role("instant", "When the job could start first, if that was later"),
    "start": Role("instant", "When the job started"),
    "end": Role("instant", "When the job ended"),
    "wait": Role("duration", "From the submission to the start, instead of `start`"),
    "run_time": Role("duration", "From the start to the end; taken if one of the two instants is missing"),
    "limit": Role("duration", "The time limit that the job asked for"),
    "tasks": Role("count", "Equal parts of the job, each on one node"),
    "nodes": Role("count", "Nodes that the job asked for"),
    "cores": Role("count", "Cores that the job asked for"),
    "gpus": Role("count", "GPUs that the job asked for"),
    "memory": Role("memory", "Memory that the job asked for"),
    "allocated_nodes": Role("count", "Nodes that the job was given; taken if `nodes` is unknown"),
    "allocated_cores": Role("count", "Cores that the job was given; taken if `cores` is unknown"),
    "exclusive": Role("flag", "Whether the job takes whole nodes"),
    "state": Role("text", "The state in which the job ended"),
    "component_of": Role("identifier", "The job that has this row and others as its components"),
    "user": Role("text", "The user who submitted the job"),
    "group": Role("text", "The group of the user"),
    "account": Role("text", "The account or project of the job"),
    "partition": Role("text", "The partition of the job"),
    "queue": Role("text", "The queue of the job"),
    "qos": Role("text", "The quality of service of the job"),
    "job_name": Role("text", "The name that the user gave the job"),
}
"""The possible roles of a column."""

KINDS: dict[str, Kind] = {name: role.kind for name, role in ROLES.items()}
