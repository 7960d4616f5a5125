"""Job arrays: parse the column ``array`` and expand its rows into tasks."""

import re
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.columns import stripped, wrong_kind

if TYPE_CHECKING:
    from collections.abc import Sequence


ARRAY = "array"
ARRAY_ID, ARRAY_INDEX, ARRAY_LIMIT = "array_id", "array_index", "array_limit"
TASK_COLUMNS = (ARRAY_ID, ARRAY_INDEX, ARRAY_LIMIT)
# The largest MaxArraySize that Slurm accepts.
_LARGEST_INDEX = 4_000_000
_LARGEST_LIMIT = 999_999_999
_LARGEST_NUMBER = 2**63 - 1
_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_RULE = "must be like '0-9', '1,3,7', '0-15:4' or '0-99%2', with indices from 0 to 4000000"


def with_arrays(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the column ``array``, or the task columns of a table that is already expanded."""
    given = [name for name in TASK_COLUMNS if name in table.columns]
    if ARRAY in table.columns:
        if given:
            raise WorkloadError(f"{source}: columns {ARRAY!r} and {given[0]!r}; a table has one of them.")
        dtype = table.schema[ARRAY]
        if not (dtype in (pl.String, pl.Null) or dtype.is_integer()):
            raise wrong_kind(source, ARRAY, dtype, "be text")
        table = table.with_columns(stripped(ARRAY))
        for row, text in enumerate(table[ARRAY]):
            if text and indices_of(text) is None:
                raise WorkloadError(f"{source}: row {row}: {ARRAY} = {shown(text)}; {_RULE}.")
    return _with_tasks(table, source) if given else table


def indices_of(text: str) -> tuple[list[int], int | None] | None:
    """Return the sorted indices of an array text and its limit; None if the syntax is invalid."""
    items, _, limit = text.replace(" ", "").partition("%")
    if ("%" in text and not re.fullmatch(r"0*[1-9]\d{0,8}", limit)) or not items:
        return None
    indices: set[int] = set()
    for item in items.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            return None
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not (first <= last <= _LARGEST_INDEX and step):
            return None
        indices.update(range(first, last + 1, step))
    return sorted(indices), int(limit) if limit else None


def _with_tasks(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the task columns of a table that is already expanded."""
    for name in TASK_COLUMNS:
        if name not in table.columns:
            if name != ARRAY_LIMIT:
                raise WorkloadError(f"{source}: no column {name!r}; a task of an array needs it.")
            table = table.with_columns(pl.lit(None, pl.Int64).alias(name))
        dtype = table.schema[name]
        if not (dtype.is_integer() or dtype == pl.Null):
            raise wrong_kind(source, name, dtype, "be whole numbers or missing")
    table = table.with_columns(pl.col(name).cast(pl.Int64) for name in TASK_COLUMNS)
    tasks = table.with_row_index("row").filter(pl.col(ARRAY_ID).is_not_null())
    _refuse(tasks, ARRAY_INDEX, ~pl.col(ARRAY_INDEX).is_between(0, _LARGEST_INDEX), "must be >= 0", source)
    repeated = pl.struct(ARRAY_ID, ARRAY_INDEX).is_duplicated()
    _refuse(tasks, ARRAY_INDEX, repeated, "must be there once in its array", source)
    unlike = pl.col(ARRAY_LIMIT).n_unique().over(ARRAY_ID) > 1
    wrong = unlike | ~pl.col(ARRAY_LIMIT).fill_null(1).is_between(1, _LARGEST_LIMIT)
    _refuse(tasks, ARRAY_LIMIT, wrong, "must be >= 1, and the same for all tasks of an array", source)
    return table


def _refuse(tasks: pl.DataFrame, name: str, wrong: pl.Expr, rule: str, source: str) -> None:
    for row, value in tasks.filter(wrong.fill_null(value=True)).select("row", name).head(1).iter_rows():
        raise WorkloadError(f"{source}: row {row}: {name} = {shown(value)}; {rule}.")


def expanded(jobs: pl.DataFrame, source: str) -> pl.DataFrame:
    """Replace each row with an array by one row per task.

    The first task keeps the number of its array; the others get numbers above all existing ones, row by row.
    """
    if ARRAY not in jobs.columns:
        return jobs
    rows: list[int] = []
    numbers: list[int] = []
    tasks: list[tuple[int | None, int | None, int | None]] = []
    own = jobs["job_id"].to_list()
    shared = pl.col(ARRAY).is_not_null() & pl.col("job_id").is_duplicated()
    for number, text in jobs.filter(shared).select("job_id", ARRAY).head(1).iter_rows():
        raise WorkloadError(
            f"{source}: job {number}: {ARRAY} = {shown(text)}; must be the only job of its number."
        )
    following = max(own, default=0) + 1
    for row, (number, text) in enumerate(zip(own, jobs[ARRAY], strict=True)):
        found = indices_of(text) if text else None
        indices: Sequence[int | None] = found[0] if found else [None]
        limit = found[1] if found else None
        more = len(indices) - 1
        rows += [row] * len(indices)
        numbers += [number, *range(following, following + more)]
        following += more
        array = number if text else None
        tasks += [(array, index, limit) for index in indices]
    if following > _LARGEST_NUMBER:
        raise WorkloadError(f"{source}: {ARRAY}: no numbers are left for tasks above job {max(own)}.")
    made = pl.DataFrame(tasks, schema=dict.fromkeys(TASK_COLUMNS, pl.Int64), orient="row")
    return jobs[rows].drop(ARRAY).with_columns(pl.Series("job_id", numbers, pl.Int64), *made.get_columns())


def places(jobs: pl.DataFrame) -> tuple[list[tuple[int | None, int]], list[int]]:
    """Return the limited array (or None) and the index of each row, and the limits. Empty without limits."""
    if ARRAY_LIMIT not in jobs.columns or not jobs[ARRAY_LIMIT].count():
        return [], []
    arrays: dict[int, int] = {}
    limits: list[int] = []
    found: list[tuple[int | None, int]] = []
    for array, index, limit in jobs.select(TASK_COLUMNS).iter_rows():
        if array is None or limit is None:
            found.append((None, 0))
            continue
        if array not in arrays:
            arrays[array] = len(limits)
            limits.append(limit)
        found.append((arrays[array], index))
    return found, limits
