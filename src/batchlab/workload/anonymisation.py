"""Anonymisation of logs: replace names of users, groups, accounts, jobs and hosts by numbers."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import overload

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.columns import is_text
from batchlab.workload.header import Header
from batchlab.workload.logs.node_events import names_of
from batchlab.workload.workload import Workload

# Columns that identify no person: texts of the workload itself, and names defined by a system description.
_KEPT = (
    *("state", "logged_id", "logged_reason", "dependency", "logged_dependency", "array", "node_group"),
    *("qos", "queue", "partition", "constraint", "application", "job_type", "run_events"),
)
_NUMBERS = {"user_id": "user_id", "cancelled_by": "user_id", "group_id": "group_id"}
_HOSTS = ("node_list", "node_names")
_WORDS = {"job_name": "job"}
_HOST = "node"
_FIELDS = (
    *("Version", "UnixStartTime", "TimeZone", "TimeZoneString", "MaxJobs", "MaxRecords", "MaxNodes"),
    *("MaxProcs", "MaxRuntime", "MaxMemory", "MaxQueues", "Queue", "MaxPartitions", "Partition", "Processor"),
)
_DIGITS = re.compile(r"(\d+)")


@overload
def anonymise(
    workload: Workload,
    *,
    seed: int = ...,
    keep_order: bool = ...,
    keep: Collection[str] = ...,
    shift: float = ...,
) -> Workload: ...


@overload
def anonymise(
    workload: Sequence[Workload],
    *,
    seed: int = ...,
    keep_order: bool = ...,
    keep: Collection[str] = ...,
    shift: float = ...,
) -> list[Workload]: ...


@checked(WorkloadError)
def anonymise(
    workload: Workload | Sequence[Workload],
    *,
    seed: int = 0,
    keep_order: bool = False,
    keep: Collection[str] = (),
    shift: float = 0.0,
) -> Workload | list[Workload]:
    """Replace all names by numbers; equal names get equal numbers.

    All text columns are replaced, such as ``user``, ``group``, ``account``, ``job_name``, ``reservation`` and
    paths, by words like ``user7``; hosts in ``node_list`` and ``node_names`` by words like ``node12``; and
    positive values of ``user_id``, ``group_id`` and ``cancelled_by`` by other numbers. Columns that the
    workload or a system description refers to are kept: ``state``, ``logged_id``, ``logged_reason``,
    dependencies, ``qos``, ``queue``, ``partition``, ``node_group``, ``constraint`` and applications. The
    header keeps only the fields for the machine size, the queues and the time stamps. The report loses its
    source.

    Parameters
    ----------
    workload
        A workload, or several, such as the months of a log, which then share one numbering of names.
    seed
        Seed of the random order in which names are numbered. Names cannot be derived from it.
    keep_order
        Number the names in sorted order instead (hosts in order of their numbers), so that neighbouring hosts
        stay neighbours.
    keep
        Columns to leave unchanged.
    shift
        Seconds to add to ``header.unix_start_time``; whole weeks keep hours and weekdays.

    Returns
    -------
    Workload or list
        One workload or a list, as passed. Times, requests and outcomes of jobs are unchanged.

    Raises
    ------
    WorkloadError
        If an argument breaks a rule.

    Examples
    --------
    >>> jobs = {"submit_time": [0, 1], "run_time": [5, 5], "tasks": [1, 1], "user": ["bob", "ann"]}
    >>> anonymise(Workload.from_table(jobs), keep_order=True).jobs["user"].to_list()
    ['user2', 'user1']
    """
    several = [workload] if isinstance(workload, Workload) else list(workload)
    _check(several, seed, keep, shift)
    tables = [each.jobs for each in several]
    for place, kind in enumerate(_kinds(tables, keep)):
        random = None if keep_order else np.random.default_rng([seed, place])
        tables = _replaced(tables, kind, _columns_of(tables, kind, keep), random)
    made = [
        replace(
            each,
            jobs=jobs,
            header=_header(each.header, shift),
            report=replace(each.report, source="anonymised"),
        )
        for each, jobs in zip(several, tables, strict=True)
    ]
    return made[0] if isinstance(workload, Workload) else made


def _check(workloads: Sequence[Workload], seed: int, keep: Collection[str], shift: float) -> None:
    rules.check(WorkloadError, "seed", seed, rules.SEED)
    rules.check(WorkloadError, "shift", shift, rules.FINITE_SECONDS)
    known = {name for each in workloads for name in each.jobs.columns}
    for name in [keep] if isinstance(keep, str) else keep:
        if name not in known:
            raise WorkloadError(f"keep: {shown(name)} is no column.{suggest(str(name), known)}")


def _kinds(tables: Sequence[pl.DataFrame], keep: Collection[str]) -> list[str]:
    """Return the kinds of names, each with a numbering of its own: text columns, users, groups, hosts."""
    kinds = []
    for name in dict.fromkeys(name for table in tables for name in table.columns):
        if name in keep or name in _KEPT:
            continue
        if name in _HOSTS:
            kinds.append(_HOST)
        elif name in _NUMBERS:
            kinds.append(_NUMBERS[name])
        elif any(
            name in table.columns and table.schema[name] != pl.Null and is_text(table.schema[name])
            for table in tables
        ):
            kinds.append(name)
    return list(dict.fromkeys(kinds))


def _columns_of(tables: Sequence[pl.DataFrame], kind: str, keep: Collection[str]) -> list[str]:
    """Return the columns that hold names of a kind."""
    if kind == _HOST:
        columns = list(_HOSTS)
    elif kind in _NUMBERS:
        columns = [name for name, of in _NUMBERS.items() if of == kind]
    else:
        columns = [kind]
    return [name for name in columns if name not in keep and any(name in table.columns for table in tables)]


def _replaced(
    tables: Sequence[pl.DataFrame], kind: str, columns: Sequence[str], random: np.random.Generator | None
) -> list[pl.DataFrame]:
    """Replace the names of a kind by numbers, consistently in all tables."""
    lists = [_names(table[name]) for table in tables for name in columns if name in table.columns]
    names = sorted(pl.concat(lists).drop_nulls().unique().to_list(), key=_natural)
    numbers = range(1, len(names) + 1) if random is None else (random.permutation(len(names)) + 1).tolist()
    known = dict(zip(names, numbers, strict=True))
    return [
        table.with_columns(_numbered(table[name], kind, known) for name in columns if name in table.columns)
        for table in tables
    ]


def _natural(name: str) -> tuple[object, ...]:
    """Return a sort key with natural order: n2 before n10."""
    parts = _DIGITS.split(name)
    return (*((int(part), part) if index % 2 else part for index, part in enumerate(parts)),)


def _names(column: pl.Series) -> pl.Series:
    """Return the names in a column, as text."""
    if column.name == "node_list":
        return names_of(column.unique()).explode().rename("names")
    if column.dtype == pl.List(pl.String):
        return column.explode().unique().rename("names")
    if column.dtype.is_integer():
        column = column.set(column <= 0, None)
    return column.cast(pl.String).unique().rename("names")


def _numbered(column: pl.Series, kind: str, known: Mapping[str, int]) -> pl.Series:
    """Replace the names of a column by their numbers."""
    if kind in _NUMBERS:
        new = {int(name): number for name, number in known.items()}
        return column.replace_strict(new, default=column, return_dtype=column.dtype).alias(column.name)
    words = {name: f"{_WORDS.get(kind, kind)}{number}" for name, number in known.items()}
    if column.name == "node_list":
        lists = names_of(column).list.eval(pl.element().replace_strict(words, default=None))
        return lists.list.join(",", ignore_nulls=True).alias(column.name)
    if column.dtype == pl.List(pl.String):
        return column.list.eval(pl.element().replace_strict(words, default=None)).alias(column.name)
    text = column.cast(pl.String)
    return text.replace_strict(words, default=None, return_dtype=pl.String).alias(column.name)


def _header(header: Header, shift: float) -> Header:
    """Keep only the fields for the machine size, the queues and the start of the log."""
    known = {label.lower() for label in _FIELDS}
    fields = {label: list(values) for label, values in header.fields.items() if label.lower() in known}
    kept = Header.from_fields(fields)
    start = kept.unix_start_time
    return kept if start is None or not shift else kept.with_start_time(start + shift)
