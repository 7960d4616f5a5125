"""Requests of the jobs of a data set: number of tasks, and amounts per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.workload.logs.log import Log
    from batchlab.workload.logs.notes import Notes
    from batchlab.workload.mappings.values import Reader

__all__ = ["sizes_of"]

_OTHER_FIELD = "{} unknown: {} taken"
_UNEVEN = "{} does not divide evenly among the tasks: rounded up for each"
# A quotient this close to a whole number is that number with a rounding error.
_LEAST, _RELATIVE = 1e-9, 1e-14


def sizes_of(reader: Reader, log: Log) -> list[pl.Series]:
    """Compute the requests of jobs.

    Parameters
    ----------
    reader
        The columns and the mapping.
    log
        The reading options; collects remarks on rows.

    Returns
    -------
    list
        ``tasks``; the amounts per task by resource; ``tasks_per_node`` and ``exclusive`` if the mapping has
        them; ``requested_processors``, ``requested_nodes``, ``requested_gpus`` and allocated amounts.
    """
    mapping, notes = reader.mapping, log.notes
    _note_unreadable(reader, notes)
    counts = {role: _count(reader, role, log) for role in ("nodes", "cores")}
    for role in ("tasks", "gpus"):
        counts[role] = reader.number(role) if reader.has(role) else None
    tasks = _tasks(reader, counts)
    sizes = [tasks.alias("tasks")]
    for name, column in mapping.amounts.items():
        role = next((key for key, value in mapping.columns.items() if value is column), name)
        if name == "mem" and not log.reading.use_memory:
            continue
        known = counts.get(role)
        amount = reader.amount(column, role) if known is None else known
        whole = _of_job(amount, reader.per(column), {**counts, "tasks": tasks})
        sizes.append(_of_task(name, whole, tasks, notes))
    if mapping.task_kind == "node":
        sizes.append(pl.repeat(1, len(tasks), dtype=pl.Int64, eager=True).alias("tasks_per_node"))
    if reader.has("exclusive"):
        sizes.append(reader.flag("exclusive").alias("exclusive"))
    return [*sizes, *_totals(reader, counts)]


def _tasks(reader: Reader, counts: dict[str, pl.Series | None]) -> pl.Series:
    role = {"instance": "tasks", "node": "nodes", "core": "cores", "gpu": "gpus"}.get(
        reader.mapping.task_kind
    )
    number = None if role is None else counts[role]
    if number is None:
        return pl.repeat(1.0, reader.table.height, dtype=pl.Float64, eager=True)
    # Jobs without GPUs have one task.
    return number.set((number < 1).fill_null(value=False), 1.0) if role == "gpus" else number


def _count(reader: Reader, role: str, log: Log) -> pl.Series | None:
    """Return the requested number, else the allocated one, or in reverse order; None without a column."""
    names = [role, f"allocated_{role}"]
    if log.reading.processors == "allocated":
        names.reverse()
    known = [name for name in names if reader.has(name)]
    if not known:
        return None
    first, *others = known
    number = _positive(reader.number(first))
    for other in others:
        more = _positive(reader.number(other))
        taken = number.is_null() & more.is_not_null()
        lines = pl.int_range(len(number), eager=True).filter(taken)
        log.notes.add("mended", _OTHER_FIELD.format(first, other), lines)
        number = number.fill_null(more)
    return number


def _positive(number: pl.Series) -> pl.Series:
    return number.set((number <= 0).fill_null(value=False), None)


def _of_job(amount: pl.Series, per: pl.Series, counts: Mapping[str, pl.Series | None]) -> pl.Series:
    """Multiply amounts per node, core or task by the number of these in the job."""
    for each, role in (("node", "nodes"), ("core", "cores"), ("task", "tasks")):
        number = counts[role]
        if number is not None:
            amount = amount.zip_with(per != each, amount * number)
    return amount


def _of_task(name: str, amount: pl.Series, tasks: pl.Series, notes: Notes) -> pl.Series:
    """Divide an amount among the tasks of its job, in whole numbers."""
    each = amount / tasks
    whole = each.round()
    is_whole = (each - whole).abs() <= _LEAST + _RELATIVE * each.abs()
    rounded = whole.zip_with(is_whole.fill_null(value=True), each.ceil())
    uneven = ~is_whole.fill_null(value=True)
    notes.add("mended", _UNEVEN.format(name), pl.int_range(len(each), eager=True).filter(uneven))
    return rounded.alias(name)


def _totals(reader: Reader, counts: dict[str, pl.Series | None]) -> list[pl.Series]:
    asked = {"cores": "requested_processors", "nodes": "requested_nodes", "gpus": "requested_gpus"}
    totals = {
        name: reader.number(role)
        for role, name in asked.items()
        if reader.has(role) and counts[role] is not None
    }
    given = {"allocated_cores": "allocated_processors", "allocated_nodes": "allocated_nodes"}
    totals |= {name: reader.number(role) for role, name in given.items() if reader.has(role)}
    return [
        number.fill_null(-1).ceil().cast(pl.Int64, strict=False).alias(name)
        for name, number in totals.items()
    ]


def _note_unreadable(reader: Reader, notes: Notes) -> None:
    """Add remarks on amounts, durations and limits that are no numbers."""
    lines = pl.int_range(reader.table.height, eager=True)
    for (_, role), column in reader.mapping.described():
        if reader.is_number(role):
            notes.add(
                "mended",
                f"{role} is no number: taken as unknown",
                lines.filter(reader.unreadable(role, column)),
            )
