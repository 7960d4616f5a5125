"""Bundles: one file with a run and no names of people, which another installation can repeat.

A bundle is the archive that `batchlab.read_result` reads, of an anonymised workload, with the versions that
made the run and a description of the fault.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.errors import Argument, ResultError
from batchlab.policy.load import RecordedPolicy, policy_of
from batchlab.result.archive import DamagedArchiveError, read_archive, record_members, write_members
from batchlab.result.manifest import described_system, versions
from batchlab.result.read import result_of
from batchlab.simulation import simulate
from batchlab.workload.anonymisation import anonymise
from batchlab.workload.columns import is_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

    from batchlab.result.result import Result
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["Bundle", "named_by", "read_bundle", "write_bundle"]

# The columns of a schedule: what a repetition must give again.
_SCHEDULE = ("state", "submit_time", "start_time", "end_time", "nodes")


@dataclass(frozen=True, eq=False)
class Bundle:
    """A run in a bundle.

    Parameters
    ----------
    result
        The recorded result, with anonymised jobs.
    versions
        The versions of batchlab, Python, NumPy and polars that wrote the bundle.
    note
        The description of the fault.
    kept
        Text columns of the jobs that were not anonymised, because the machine refers to their names.
    """

    result: Result
    versions: Mapping[str, str]
    note: str = ""
    kept: tuple[str, ...] = ()

    def repeat(self, policy: str | None = None) -> pl.DataFrame:
        """Simulate the run again, and list the jobs with another schedule.

        Parameters
        ----------
        policy
            A policy in place of the recorded one. Policies written in Python are not part of a bundle and
            must be passed: ``"my_policy.py:Mine"``.

        Returns
        -------
        polars.DataFrame
            One row per job with another state, submission, start, end or other nodes: ``job_id``, these
            columns as recorded, and as simulated now with the suffix ``_now``. Empty if all jobs agree.

        Raises
        ------
        ResultError
            If the policy is known by name only.
        """
        recorded = self.result
        chosen = recorded.policy if policy is None else policy_of(policy)
        if isinstance(chosen, RecordedPolicy):
            rule = "was written in Python, which a bundle does not contain"
            raise ResultError(f"policy {chosen} {rule}. Pass it: ", Argument("policy", "'FILE.py:NAME'"), ".")
        again = simulate(
            recorded.workload,
            recorded.system,
            chosen,
            options=recorded.options,
            events=recorded.external_events,
        )
        return _differing(recorded.jobs, again.jobs)


@checked(ResultError)
def write_bundle(
    result: Result, path: str | PathLike[str], *, note: str = "", overwrite: bool = False
) -> Bundle:
    """Write a run to one file, for a report of a fault.

    Names of users, groups, accounts, jobs and hosts in the jobs are replaced by numbers, as by
    `Workload.anonymise`. The description of the machine stays as it is, and so do columns of the jobs that
    contain one of its names, such as accounts with shares.

    Parameters
    ----------
    result
        The result, also one that was read by `batchlab.read_result`.
    path
        The file.
    note
        The description of the fault: which job is wrong, and why.
    overwrite
        True to replace a file that batchlab did not write.

    Returns
    -------
    Bundle
        The contents of the file.

    Raises
    ------
    ResultError
        If the machine is a platform, which is not part of results, or the file cannot be written.
    OutputError
        If the file is an input, or batchlab did not write it.

    Examples
    --------
    >>> import batchlab as bl
    >>> from batchlab.generate import demo_system, demo_workload
    >>> result = bl.simulate(demo_workload(50), demo_system(), "easy")
    >>> bundle = bl.report.write_bundle(result, "fault.zip", note="job 7 starts too late")
    >>> bl.report.read_bundle("fault.zip").repeat().height
    0
    """
    if result.system.platform is not None:
        rule = "a bundle does not contain platforms"
        raise ResultError(f"system = {result.system}; {rule}. Send its file and manifest.json of the run.")
    kept = named_by(result.system, result.workload)
    anonymous = replace(result, workload=anonymise(result.workload, keep=kept), observations={})
    about = {"versions": versions(), "note": note, "kept": [*kept]}
    policy, events = anonymous.policy, anonymous.external_events
    members = record_members(anonymous.run_record, policy, events, {}, anonymous.observers)
    members["bundle"] = about
    try:
        read = *result.workload.sources, *source_of(result, result.system, result.external_events)
        with output(path, "wb", inputs=read, overwrite=overwrite) as file:
            write_members(file, members)
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}. Choose another file.") from error
    return Bundle(anonymous, versions(), note, kept)


@checked(ResultError)
def read_bundle(path: str | PathLike[str]) -> Bundle:
    """Read a bundle that `write_bundle` wrote.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    ResultError
        If the file is missing, damaged, no bundle, or of a newer format.
    """
    file = Path(path)
    try:
        members = read_archive(file)
    except DamagedArchiveError as error:
        rule = "Write it again: batchlab bundle make DIR --out FILE"
        raise ResultError(f"{file}: cannot be read: {error}. {rule}.") from error
    if "bundle" not in members:
        raise ResultError(f"{file}: is no bundle. Write one: batchlab bundle make DIR --out FILE.")
    about = members["bundle"]
    result = remember_source(result_of(members, file), file)
    return Bundle(result, about["versions"], about["note"], tuple(about["kept"]))


def named_by(system: System, workload: Workload) -> tuple[str, ...]:
    """Return the text columns of the jobs with a name that the description of the machine contains.

    Without these names, the jobs would not run on the machine as before.
    """
    known = {*_texts(json.loads(json.dumps(described_system(system), default=str)))}
    return tuple(
        column.name
        for column in workload.jobs.iter_columns()
        if is_text(column.dtype) and known.intersection(column.cast(pl.String).drop_nulls().unique())
    )


def _texts(document: object) -> Iterator[str]:
    if isinstance(document, str):
        yield document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield key
            yield from _texts(value)
    elif isinstance(document, list):
        for each in document:
            yield from _texts(each)


def _differing(recorded: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs with another schedule; both tables have the same jobs in the same order."""
    columns = [recorded["job_id"], *(recorded[name] for name in _SCHEDULE)]
    beside = pl.DataFrame([*columns, *(now[name].alias(f"{name}_now") for name in _SCHEDULE)])
    other = [pl.col(name).ne_missing(pl.col(f"{name}_now")) for name in _SCHEDULE]
    return beside.filter(pl.any_horizontal(other))
