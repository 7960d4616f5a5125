"""Archives: arrays, tables and documents in one compressed file, which is written completely or not at all.

A ZIP file of ``.npy``, ``.parquet`` and ``.json`` members, so that other programs can read it too. The time
of writing is not in it: same content, same bytes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.application.files import application_of, document_of, has_skeletons
from batchlab.core.outputs import atomic_write
from batchlab.result.outcome import Outcome
from batchlab.result.table import PASS_COSTS
from batchlab.system import formats
from batchlab.workload.header import Header
from batchlab.workload.report import Report
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from batchlab.policy.policy import Policy
    from batchlab.result.course import RunRecord
    from batchlab.workload.event_stream import EventStream

__all__ = [
    "FORMAT",
    "NAME",
    "DamagedArchiveError",
    "compact",
    "group",
    "is_whole",
    "members_of",
    "outcome_of",
    "read_archive",
    "read_document",
    "record_members",
    "table_digest",
    "workload_members",
    "workload_of",
    "write_archive",
    "write_members",
]


# Higher levels take three times as long and save a tenth.
_LEVEL = 1
# What a ZIP file says of the system on which a member was made, and the member's permissions there.
_UNIX, _READABLE = 3, 0o644
# What zipfile and the readers of members raise at a flipped bit: it may say "encrypted", or "another method".
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    pl.exceptions.PolarsError,
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


class DamagedArchiveError(Exception):
    """An archive is missing, or not as it was written."""


def write_archive(path: Path, members: Mapping[str, object]) -> None:
    """Write an archive.

    Parameters
    ----------
    path
        The file; missing parent directories are created.
    members
        NumPy arrays, polars data frames, and anything else as a JSON document, by name.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        write_members(file, members)


def write_members(file: IO[bytes], members: Mapping[str, object]) -> None:
    """Write an archive into an open file; see `write_archive`."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in members.items():
            _write_member(archive, name, value)
        archive.comment = _list_digest(archive)


def read_archive(path: Path) -> dict[str, Any]:
    """Read an archive: members by name, as they were given to `write_archive`.

    Raises
    ------
    DamagedArchiveError
        If the file is missing, or not as it was written.
    """
    with _opened(path) as archive:
        return {name.rpartition(".")[0]: _read_member(archive, name) for name in archive.namelist()}


def read_document(path: Path, name: str) -> Any:  # noqa: ANN401  # JSON
    """Read one document of an archive and no other member; it raises the errors of `read_archive`."""
    with _opened(path) as archive:
        return _read_member(archive, f"{name}.json")


def is_whole(path: Path) -> bool:
    """Return whether an archive exists and every member is as it was written, by the checksums."""
    try:
        with _opened(path) as archive:
            return bool(archive.namelist()) and archive.testzip() is None
    except DamagedArchiveError:
        return False


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.comment != _list_digest(archive):
                raise DamagedArchiveError("its list of members is not as it was written")
            yield archive
    except OSError as error:
        raise DamagedArchiveError(error.strerror or str(error)) from error
    except _DAMAGE as error:
        raise DamagedArchiveError(str(error)) from error


def compact(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the smallest unsigned integer type that holds it; other arrays made contiguous."""
    if values.dtype.kind in "iu" and (not values.size or values.min() >= 0):
        values = values.astype(np.min_scalar_type(int(values.max(initial=0))))
    return np.ascontiguousarray(values)


def table_digest(table: pl.DataFrame) -> str:
    """Hash the names, kinds and values of a table's columns.

    Returns
    -------
    str
        64 hexadecimal digits, the same on every platform.
    """
    digest = hashlib.sha256(str(table.height).encode())
    for column in table.rechunk().iter_columns():
        digest.update(f"\0{column.name}\0{column.dtype}\0".encode())
        if column.dtype.is_numeric() and not column.has_nulls():
            values = column.to_numpy()
            digest.update(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).data)
        else:
            digest.update(repr(column.to_list()).encode())
    return digest.hexdigest()


def _write_member(archive: zipfile.ZipFile, name: str, value: object) -> None:
    content = io.BytesIO()
    compression = zipfile.ZIP_DEFLATED
    if isinstance(value, np.ndarray):
        suffix = "npy"
        np.lib.format.write_array(content, value, allow_pickle=False)
    elif isinstance(value, pl.DataFrame):
        # Parquet is compressed already.
        suffix, compression = "parquet", zipfile.ZIP_STORED
        value.write_parquet(content)
    else:
        suffix = "json"
        content.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    with content.getbuffer() as view:
        archive.writestr(_entry(f"{name}.{suffix}"), view, compression, _LEVEL)


def _list_digest(archive: zipfile.ZipFile) -> bytes:
    """Hash the names of the members: a ZIP file has checksums of the members, but none of their list."""
    return hashlib.sha256("\0".join(archive.namelist()).encode()).hexdigest()[:16].encode()


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a member without the time and the operating system: same content, same bytes."""
    entry = zipfile.ZipInfo(name)
    entry.create_system = _UNIX
    entry.external_attr = _READABLE << 16
    return entry


def _read_member(archive: zipfile.ZipFile, name: str) -> object:
    content = io.BytesIO(archive.read(name))
    if name.endswith(".npy"):
        return np.lib.format.read_array(content, allow_pickle=False)
    if name.endswith(".parquet"):
        return pl.read_parquet(content)
    return json.load(content)


# The table `dispatch` in archives.
_PASSES = "passes"
# The member with the types of the columns: in archives integers are as small as their values allow.
_KINDS = "kinds"
# The tables and the types of columns in archives of earlier builds, which lack this member.
_EARLIER_TABLES = (
    *("waiting", "reasons", "interruptions", "short_runs", "resizes", "task_times", "sensed", "usage"),
    *("power_states", "closures", "rates", "key_events", "ranks", "messages", "links"),
)
_EARLIER_KINDS: Mapping[str, Any] = {
    "state": np.uint8,
    "reason": np.uint8,
    "waiting/reason": np.uint32,
    "reasons/reason": np.uint32,
    "start_time": np.float64,
    "end_time": np.float64,
    "requested_time": np.float64,
    "time_limit": np.float64,
    "application_time": np.float64,
    "allocated": np.int64,
    "range_offsets": np.int64,
    "range_first": np.uint32,
    "range_count": np.uint32,
    "range_tasks": np.uint32,
    "placement_offsets": np.int64,
    "placement_nodes": np.uint32,
    "placement_tasks": np.uint32,
    "queue_length": np.uint64,
    "started": np.uint64,
    "row": np.uint32,
    "host": np.uint32,
    "task": np.uint32,
    "power_states/node": np.uint32,
    "power_states/state": np.uint16,
    "closures/node": np.uint32,
    "rates/control": np.uint32,
    "key_events/event": np.uint8,
    "key_events/row": np.int64,
    "key_events/present": np.uint64,
    "key_events/served": np.uint64,
    "ranks/offsets": np.int64,
    "ranks/nodes": np.uint32,
    "messages/kind": np.uint32,
    "messages/messages": np.uint64,
    "messages/hops": np.uint64,
    "messages/max_hops": np.uint32,
}


def members_of(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as members, without the costs of passes, which differ from run to run.

    Parameters
    ----------
    outcome
        The outcome of a run.

    Returns
    -------
    dict
        NumPy arrays by the names of their fields, those of groups as ``group/name``, of passes as
        ``passes/name``; and lists of names. Not ``now``.
    """
    values = {field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome)}
    found: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    for table, columns in outcome.tables.items():
        # What passes cost, no other run has.
        left = PASS_COSTS if table == "dispatch" else ()
        prefix = _PASSES if table == "dispatch" else table
        found |= {f"{prefix}/{name}": column for name, column in columns.items() if name not in left}
    arrays = {name: value for name, value in found.items() if isinstance(value, np.ndarray)}
    members = {name: compact(value) if name in arrays else value for name, value in found.items()}
    if outcome.sensing_links:
        members["sensing_links"] = list(outcome.sensing_links)
    return members | {_KINDS: {name: value.dtype.name for name, value in arrays.items()}}


def outcome_of(members: Mapping[str, Any]) -> Outcome:
    """Make an outcome from its members.

    Parameters
    ----------
    members
        Those of `members_of`, and ``now``; tables and documents among them are ignored.

    Returns
    -------
    Outcome
        Without the costs of passes, unless ``passes/…`` has them.
    """
    kinds = members.get(_KINDS) or _earlier_kinds(members)
    columns = {name: members[name].astype(kind, copy=False) for name, kind in kinds.items()}
    own: dict[str, Any] = {name: value for name, value in columns.items() if "/" not in name}
    names = dict.fromkeys(_prefixes(columns))
    tables: dict[str, dict[str, Any]] = {name: group(columns, name) for name in names}
    for name, columns_of in tables.items():
        # Numbers of this table refer to these texts.
        if f"{name}/names" in members:
            columns_of["names"] = members[f"{name}/names"]
    if _PASSES in tables:
        costs = {name: members[f"{_PASSES}/{name}"] for name in PASS_COSTS if f"{_PASSES}/{name}" in members}
        tables["dispatch"] = tables.pop(_PASSES) | costs
    sensing_links = tuple(members.get("sensing_links", ()))
    return Outcome(**own, now=members["now"], sensing_links=sensing_links, tables=tables)


def _prefixes(names: Iterable[str]) -> Iterator[str]:
    return (name.partition("/")[0] for name in names if "/" in name)


def _earlier_kinds(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the kinds of the columns in an archive of an earlier build."""
    known = {*_EARLIER_TABLES, _PASSES}
    return {
        name: _EARLIER_KINDS.get(name, _EARLIER_KINDS.get(name.rpartition("/")[2], value.dtype))
        for name, value in members.items()
        if isinstance(value, np.ndarray) and ("/" not in name or name.partition("/")[0] in known)
    }


def group(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the members of a group, by their names without that of the group."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in members.items() if key.startswith(prefix)}


_TABLES = ("dropped", "mended", "noted")
_FACTS = ("source", "read", "kept", "unit", "announced", "stopped_at", "unlisted", "mended_jobs", "skipped")


def workload_members(workload: Workload) -> dict[str, Any]:
    """Return a workload as members, without its skeletons, which are functions.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    dict
        ``workload``, a document; ``jobs``, their table; ``report/dropped`` and similar, if not empty.
    """
    report = workload.report
    applications = {
        name: document_of(each) for name, each in workload.applications.items() if not has_skeletons(each)
    }
    document = {
        "header": workload.header.lines,
        "resources": workload.resources,
        "applications": applications,
        "report": {name: getattr(report, name) for name in _FACTS},
    }
    tables = {f"report/{name}": getattr(report, name) for name in _TABLES}
    filled = {name: table for name, table in tables.items() if not table.is_empty()}
    return {"workload": document, "jobs": workload.jobs, **filled}


def workload_of(members: Mapping[str, Any]) -> Workload:
    """Make a workload from its members.

    Parameters
    ----------
    members
        Those of `workload_members`; others are ignored.
    """
    document = members["workload"]
    tables = {name: members[f"report/{name}"] for name in _TABLES if f"report/{name}" in members}
    return Workload(
        members["jobs"],
        Header(tuple(document["header"])),
        Report(**document["report"], **tables),
        resources=tuple(document["resources"]),
        applications={name: application_of(each) for name, each in document["applications"].items()},
    )


NAME = "result.zip"
FORMAT = 1


def record_members(
    served: RunRecord,
    policy: Policy,
    external_events: EventStream | None,
    observations: Mapping[str, pl.DataFrame],
    observers: Sequence[str],
) -> dict[str, Any]:
    """Return a result as members of an archive, for `batchlab.read_result`.

    Parameters
    ----------
    served, policy, external_events, observations, observers
        The fields of a result.

    Returns
    -------
    dict
        ``run``, a document (format, policy, options, system, observers, the time of the last event), the
        members of workload and outcome, the costs of passes as ``passes/…``, ``observations/…`` and
        ``external_events``.
    """
    system, outcome = served.system, served.outcome
    run = {
        "format": FORMAT,
        "policy": str(policy),
        "is_named": policy.is_named,
        "options": served.options.to_dict(),
        "observers": [*observers],
        "now": outcome.now,
        # A platform is described by its own files or code.
        "system": None if system.platform else json.loads(formats.json_text(system)),
        "external_events": None if external_events is None else external_events.to_dicts(),
    }
    passes = outcome.tables.get("dispatch")
    costs = {} if passes is None else {f"passes/{name}": passes[name] for name in PASS_COSTS}
    observed = {f"observations/{name}": table for name, table in observations.items()}
    return {"run": run, **workload_members(served.workload), **members_of(outcome), **costs, **observed}
