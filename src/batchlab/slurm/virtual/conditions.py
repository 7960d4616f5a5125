"""Conditions for the start of jobs as options of ``sbatch``: dependencies, begin times, arrays."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from batchlab.slurm.virtual.job_options import ArrayTask
from batchlab.slurm.virtual.table import CORES, LIMIT, SUBMIT
from batchlab.workload import dependencies
from batchlab.workload.arrays import ARRAY_ID, TASK_COLUMNS
from batchlab.workload.columns import attribute_in
from batchlab.workload.dependencies import BEGIN_TIME, DEPENDENCY, DEPENDS_ON, JOB_NAME, targets_of
from batchlab.workload.run_events import CANCELLED_AFTER

if TYPE_CHECKING:
    import polars as pl

    from batchlab.slurm.virtual.job_options import HandedOn

__all__ = ["CONDITIONS", "begin_option", "hand_on_conditions"]

CONDITIONS = (*TASK_COLUMNS, BEGIN_TIME, DEPENDENCY, CANCELLED_AFTER, "user", JOB_NAME)
"""The columns of conditions that have the same name in a simulation."""


def begin_option(instant: float) -> str:
    """Return the option for a begin time: a UNIX time, rounded up to whole seconds."""
    return f"--begin={datetime.fromtimestamp(math.ceil(instant), UTC):%Y-%m-%dT%H:%M:%S}"


def hand_on_conditions(found: HandedOn, table: pl.DataFrame) -> None:
    """Add the conditions of jobs.

    Parameters
    ----------
    found
        Collects the columns. Most options depend on earlier submissions, and are created later.
    table
        The jobs, as from `table_of`.
    """
    first: Any = table["submit_time"].min()
    if BEGIN_TIME in table.columns and table[BEGIN_TIME].count():
        begins = table[BEGIN_TIME].to_list()
        found.add(BEGIN_TIME, [None if at is None else max(0.0, math.ceil(at - first)) for at in begins])
    if CANCELLED_AFTER in table.columns and table[CANCELLED_AFTER].count():
        found.add(CANCELLED_AFTER, table[CANCELLED_AFTER].to_list())
    _dependencies(found, table)
    _arrays(found, table)


def _arrays(found: HandedOn, table: pl.DataFrame) -> None:
    """Add the tasks of arrays; tasks with equal requests and submit times are submitted as one array."""
    if ARRAY_ID not in table.columns or not table[ARRAY_ID].count():
        return
    places = table.select(TASK_COLUMNS).rows()
    nothing: list[object] = [None] * len(table)
    told = [found.columns.get(name, nothing) for name in (BEGIN_TIME, DEPENDENCY, "partition", "constraint")]
    asked = zip(*(table[name] for name in (SUBMIT, LIMIT, "tasks", CORES)), *told, strict=True)
    kinds: dict[int, set[object]] = {}
    for (array, *_), each, options in zip(places, asked, found.options, strict=True):
        if array is not None:
            kinds.setdefault(array, set()).add((*each, *options))
    unlike = {array for array, each in kinds.items() if len(each) > 1}
    count = sum(array in unlike for array, *_ in places)
    found.leave(ARRAY_ID, count, "tasks of one array differ in what they ask for")
    found.tasks = [
        None if array is None else ArrayTask(array, place, most, array not in unlike)
        for array, place, most in places
    ]
    whole = [(None, None, None) if place[0] in unlike else place for place in places]
    for name, values in zip(TASK_COLUMNS, zip(*whole, strict=True), strict=True):
        found.add(name, values)


def _dependencies(found: HandedOn, table: pl.DataFrame) -> None:
    """Add dependencies on jobs that are submitted earlier, as one text per job."""
    names = [name for name in (DEPENDS_ON, DEPENDENCY) if name in table.columns and table[name].count()]
    if not names:
        return
    lists = table[DEPENDS_ON].to_list() if DEPENDS_ON in names else [None] * len(table)
    texts = table[DEPENDENCY].to_list() if DEPENDENCY in names else [None] * len(table)
    pairs = [*zip(lists, texts, strict=True)]
    mixed = sum(bool(others) and dependencies.ANY in (text or "") for others, text in pairs)
    found.leave(DEPENDS_ON, mixed, "sbatch does not combine it with alternatives in dependency")
    joined = [_joined(others, text) for others, text in pairs]
    found.add(DEPENDENCY, joined)
    found.leave(DEPENDENCY, _naming_later_jobs(table, joined), "it names jobs that are not submitted before")
    if any(dependencies.SINGLETON in (text or "") for text in joined):
        _name_singletons(found, table)


def _joined(others: list[int] | None, text: str | None) -> str | None:
    if not others or dependencies.ANY in (text or ""):
        return text
    return dependencies.ALL.join(filter(None, (":".join(["afterok", *map(str, others)]), text)))


def _naming_later_jobs(table: pl.DataFrame, texts: list[str | None]) -> int:
    submitted: set[int] = set()
    count = 0
    for number, text in zip(table["job_id"].to_list(), texts, strict=True):
        count += any(target.job not in submitted for target in targets_of(text))
        submitted.add(number)
    return count


def _name_singletons(found: HandedOn, table: pl.DataFrame) -> None:
    """Name jobs by user and name: Slurm compares both, and has one user for all jobs."""
    users, names = attribute_in(table, "user").to_list(), table[JOB_NAME].to_list()
    pairs = [*zip(users, names, strict=True)]
    numbers = {pair: number for number, pair in enumerate(dict.fromkeys(pairs))}
    found.add("user", users)
    found.add(JOB_NAME, names, ([f"--job-name=name{numbers[pair]}"] for pair in pairs))
