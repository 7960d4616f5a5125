"""Reading results from the folders that `Result.write` made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.core.arguments import checked
from batchlab.core.outputs import remember_source
from batchlab.errors import BatchlabError, ResultError, shown
from batchlab.options import RunOptions
from batchlab.policy.load import recorded_policy
from batchlab.result.archive import (
    FORMAT,
    NAME,
    DamagedArchiveError,
    group,
    outcome_of,
    read_archive,
    workload_of,
)
from batchlab.result.manifest import described_system, file_identity
from batchlab.result.result import Result
from batchlab.system import formats, read_system
from batchlab.workload import EventStream

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from batchlab.system import System

__all__ = ["read_result", "result_of"]


@checked(ResultError)
def read_result(directory: str | PathLike[str], *, system: System | None = None) -> Result:
    """Read a result that was written to a folder, by `Result.write` or ``--out``.

    Parameters
    ----------
    directory
        The folder.
    system
        The system of the run; needed if it had a platform whose file is missing, or which was described by
        calls.

    Returns
    -------
    Result
        With the same tables, metrics and warnings. Python objects are known by name only: a policy that was
        written in Python can be named and plotted, not run again, and user-written skeletons are missing
        from the workload. The duration of the simulation itself is unknown.

    Raises
    ------
    ResultError
        If the folder has no such result, it is not as it was written, or the system is another one.

    Examples
    --------
    >>> import batchlab as bl
    >>> from batchlab.generate import demo_system, demo_workload
    >>> result = bl.simulate(demo_workload(50), demo_system(), "easy")
    >>> bl.read_result(result.write("out")).jobs.equals(result.jobs)
    True
    """
    folder = Path(directory)
    found = result_of(_members(folder), folder / NAME, system)
    return remember_source(found, folder / NAME)


def result_of(members: Mapping[str, Any], path: Path, system: System | None = None) -> Result:
    """Make a result from the members of its archive.

    Parameters
    ----------
    members
        Those of `record_members`; others are ignored.
    path
        The archive, for errors. Its folder has the manifest, which is read for runs on platforms.
    system
        As for `read_result`.

    Raises
    ------
    ResultError
        As for `read_result`.
    """
    run = members.get("run", {"format": None})
    if run["format"] != FORMAT:
        rule = f"this version reads {FORMAT}; read it with the one that wrote it, or run it again"
        raise ResultError(f"{path}: of format {shown(run['format'])}; {rule}.")
    events = run["external_events"]
    return Result(
        workload_of(members),
        _system(path.parent, run["system"], system),
        recorded_policy(run["policy"], is_named=run["is_named"]),
        outcome_of({**members, "now": run["now"]}),
        options=_options(path, run["options"]),
        external_events=None if events is None else EventStream(events),
        observations=group(members, "observations"),
        # Earlier files of this format lack them.
        observers=tuple(run.get("observers", ())),
    )


def _members(folder: Path) -> dict[str, Any]:
    path = folder / NAME
    if not path.exists():
        rule = "results are read from this file, and it is missing; --stream and older versions write none. "
        raise ResultError(f"{path}: {rule}Run it again with --out {folder}, without --stream.")
    if not _is_of_the_run(path):
        rule = "is of another run than manifest.json, which was written later or not to its end"
        raise ResultError(f"{path}: {rule}. Run it again with --out {folder}, without --stream.")
    try:
        return read_archive(path)
    except DamagedArchiveError as error:
        raise ResultError(f"{path}: cannot be read: {error}. Run it again with --out {folder}.") from error


def _is_of_the_run(path: Path) -> bool:
    """Return whether the manifest, if there is one, is of the same run."""
    if not path.with_name("manifest.json").exists():
        return True
    written = _manifest(path.parent)["outputs"].get(NAME)
    return written is not None and file_identity(path) == {"path": str(path), **written}


def _manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest: dict[str, Any] = json.loads(path.read_text("utf-8"))
        lacks = {"outputs", "inputs", "system"} - manifest.keys()
    except (OSError, ValueError, AttributeError) as error:
        raise ResultError(f"{path}: cannot be read: {error}. Run it again with --out {folder}.") from error
    if lacks:
        raise ResultError(f"{path}: lacks {', '.join(sorted(lacks))}. Run it again with --out {folder}.")
    return manifest


# Options of earlier builds, which changed no schedule: gates took the place of reasons.
_GONE_OPTIONS = {"reasons"}


def _options(path: Path, values: Mapping[str, Any]) -> RunOptions:
    try:
        return RunOptions.from_dict({name: values[name] for name in values.keys() - _GONE_OPTIONS})
    except BatchlabError as error:
        rule = "An option that was written in Python cannot be read back"
        raise ResultError(f"{path}: {error} {rule}.") from error


def _system(folder: Path, document: dict[str, object] | None, given: System | None) -> System:
    """Return the system: the one described in the record, the one given, or the one of the original file."""
    if document is not None:
        return formats.system(document)
    manifest = _manifest(folder)
    found = given or _of_file(manifest["inputs"].get("system"))
    if found is None:
        rule = "its file is not where it was, or no longer the same. Pass system="
        raise ResultError(f"{folder}: was run on a platform; {rule}.")
    # JSON has lists instead of tuples.
    if json.loads(json.dumps(described_system(found))) != manifest["system"]:
        rule = "is not the one of this run, by manifest.json; pass that one"
        raise ResultError(f"system = {shown(found)}; {rule}.")
    return found


def _of_file(written: Mapping[str, object] | None) -> System | None:
    if written is None or not Path(str(written["path"])).is_file():
        return None
    path = Path(str(written["path"]))
    return read_system(path) if file_identity(path) == written else None
