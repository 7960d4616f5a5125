"""Checks of the columns ``dependency`` and ``begin_time``."""

from collections.abc import Callable

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload import dependency_text
from batchlab.workload.arrays import ARRAY_ID, ARRAY_INDEX
from batchlab.workload.dependency_text import Dependency, Target

__all__: list[str] = []

DEPENDENCY, BEGIN_TIME = "dependency", "begin_time"
_LARGEST_TIME = 2**53


def with_dependency(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the syntax of ``dependency``, and that ``begin_time`` holds times."""
    if DEPENDENCY in table.columns:
        dtype = table.schema[DEPENDENCY]
        if dtype not in (pl.String, pl.Null):
            raise WorkloadError(f"{source}: column {DEPENDENCY!r} is of the kind {dtype}; must be text.")
        text = pl.col(DEPENDENCY).cast(pl.String).str.strip_chars()
        table = table.with_columns(text.replace("", None).alias(DEPENDENCY))
        for row, given in enumerate(table[DEPENDENCY]):
            if given is not None and dependency_text.parse(given) is None:
                raise _error(source, row, given, dependency_text.RULE)
    return _with_begin_time(table, source) if BEGIN_TIME in table.columns else table


def _with_begin_time(table: pl.DataFrame, source: str) -> pl.DataFrame:
    given = table[BEGIN_TIME]
    if not (given.dtype.is_numeric() or given.dtype in (pl.String, pl.Null)):
        raise WorkloadError(f"{source}: column {BEGIN_TIME!r} is of the kind {given.dtype}; must be seconds.")
    if given.dtype == pl.String:
        given = given.str.strip_chars().replace("", None)
    times = given.cast(pl.Float64, strict=False)
    sound = times.is_between(0, _LARGEST_TIME).fill_null(value=False) | given.is_null()
    for row in (~sound).arg_true().head(1):
        raise WorkloadError(
            f"{source}: row {row}: {BEGIN_TIME} = {shown(given[row])}; must be a number of seconds from 0 to "
            "2^53, or missing."
        )
    # Replace a negative zero, which would be a second representation of zero.
    positive = pl.when(pl.col(BEGIN_TIME) == 0).then(0.0).otherwise(pl.col(BEGIN_TIME))
    return table.with_columns(times.alias(BEGIN_TIME)).with_columns(positive.alias(BEGIN_TIME))


def check_names(names: pl.Series, jobs: pl.DataFrame, rows: pl.Series, source: str) -> None:
    """Raise if a dependency is on an unknown or ambiguous job; ``names`` holds the known numbers."""
    counts = dict(names.alias("name").value_counts(name="count").iter_rows())
    for row, text in zip(rows, jobs[DEPENDENCY], strict=True):
        for target in targets_of(text):
            count = counts.get(target.job)
            if count != 1:
                rule = f"{count} jobs have this number" if count else "there is no such job"
                raise _error(source, row, text, f"{target.job} must be the job_id of one job, but {rule}")


def check_tasks(jobs: pl.DataFrame, source: str) -> None:
    """Raise if a dependency names a task that its array does not have."""
    tasks = tasks_in(jobs)
    there = names_in(jobs)
    for row, text in enumerate(jobs[DEPENDENCY]):
        for target in targets_of(text):
            if target.task is not None and target.job in there and (target.job, target.task) not in tasks:
                number = jobs["job_id"][row]
                raise WorkloadError(
                    f"{source}: job {number}: {DEPENDENCY} = {shown(text)}; job {target.job} has no task of "
                    f"index {target.task}."
                )


def targets_of(text: str | None) -> list[Target]:
    """Return the targets of a checked text."""
    dependency = dependency_text.parse(text) if text else None
    return [target for term in dependency.terms for target in term.targets] if dependency else []


def tasks_in(jobs: pl.DataFrame) -> dict[tuple[int, int], int]:
    """Return the row of each task, by its array and index."""
    if ARRAY_ID not in jobs.columns:
        return {}
    rows = enumerate(jobs.select(ARRAY_ID, ARRAY_INDEX).iter_rows())
    return {(array, index): row for row, (array, index) in rows if array is not None}


def names_in(jobs: pl.DataFrame) -> set[int]:
    """Return the numbers of jobs and arrays in the table."""
    return {*jobs["job_id"]} | {array for array, _ in tasks_in(jobs)}


def without_missing(jobs: pl.DataFrame) -> pl.DataFrame:
    """Remove dependencies on jobs that are not in the table."""
    return jobs.with_columns(kept_among(jobs[DEPENDENCY], jobs)) if DEPENDENCY in jobs.columns else jobs


def kept_among(texts: pl.Series, jobs: pl.DataFrame) -> pl.Series:
    """Remove from dependency texts the targets that are not in a table."""
    names, tasks = names_in(jobs), tasks_in(jobs)

    def is_there(target: Target) -> bool:
        return target.job in names if target.task is None else (target.job, target.task) in tasks

    return pl.Series(DEPENDENCY, [_kept(text, is_there) if text else None for text in texts], pl.String)


def _kept(text: str, is_there: Callable[[Target], bool]) -> str | None:
    dependency = dependency_text.parse(text)
    if dependency is None or all(map(is_there, targets_of(text))):
        return text
    terms = [
        term._replace(targets=tuple(filter(is_there, term.targets)))
        for term in dependency.terms
        if not term.targets or any(map(is_there, term.targets))
    ]
    return str(Dependency(tuple(terms), dependency.is_any)) if terms else None


def _error(source: str, row: int, text: str, rule: str) -> WorkloadError:
    return WorkloadError(f"{source}: row {row}: {DEPENDENCY} = {shown(text)}; {rule}.")
