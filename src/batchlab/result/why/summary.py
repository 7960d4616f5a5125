"""The waiting of all jobs at a glance: tables of its causes, of groups of jobs, over time, and of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import fsum
from textwrap import wrap
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core import markup
from batchlab.core.text_tables import Table, render
from batchlab.core.units import format_count, format_duration
from batchlab.result.recorded import TABLES
from batchlab.result.why.capacity import HOLDER_TITLES
from batchlab.result.why.split import (
    LIMIT_PREFIX,
    OWN_RUN,
    longest_waits,
    parts_of_waits,
    subject_of_gate,
    waited,
    waiting_time,
    words_of_gate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.core.vocabulary import WaitSplit
    from batchlab.result.why.wait import Waits

__all__ = ["WaitingSummary", "part_title", "summary"]

_PERIODS = 12
_LENGTHS = (*(60.0 * each for each in (1, 2, 5, 10, 15, 30)), *(3600.0 * each for each in (1, 2, 3, 6, 12)))
_DAY = 86_400.0
_DAYS = (1, 2, 7, 14, 30, 60, 90, 180, 365)
_SHOWN_GATES, _SHOWN_GROUPS, _SHOWN_JOBS = 12, 20, 5
_SHORT = {"running": "running", "before": "before", "overtook": "overtook", "unavailable": "unavailable"}
_SHORT |= {"own_run": "own runs", "idle": "idle", "other": "other"}
_USERS = ("user", "user_id")


def part_title(name: str, of: WaitSplit) -> str:
    """Return the name of a part of `Result.waiting_time` in texts and pictures."""
    if of == "holders":
        return "idle" if name == "idle" else HOLDER_TITLES[name]
    if of == "limits":
        return name.removeprefix(LIMIT_PREFIX)
    if name == OWN_RUN:
        return HOLDER_TITLES[OWN_RUN]
    return name.replace("_", " ").replace("resources ", "resources, ")


@dataclass(frozen=True, repr=False)
class WaitingSummary:
    """The waiting of all jobs. `print` shows it as text; notebooks show it as cards.

    Parameters
    ----------
    head
        Sentences.
    tables
        A title, the rows (the first with the names of the columns), a note, and the number of columns with
        labels.
    """

    head: str
    tables: tuple[tuple[str, Sequence[tuple[str, ...]], str, int], ...]

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        cards = [markup.card("Waiting", [("", self.head)])]
        cards += [
            markup.card(title.removesuffix(":"), [("", note)] if note else [], rows[0], rows[1:])
            for title, rows, note, _ in self.tables
        ]
        return markup.Html("".join(cards))

    def text(self, width: int | None = 80) -> str:
        """Write the tables as text, in lines of a width; None for lines of any length."""
        parts = [self.head if width is None else "\n".join(wrap(self.head, width))]
        for title, rows, note, labels in self.tables:
            lines = [title] if width is None else wrap(title, width)
            parts.append("\n".join([*lines, render([Table(rows, note=note, labels=labels)], width)]))
        return "\n\n".join(parts)


def summary(
    run: Waits,
    jobs: pl.DataFrame,
    by: str = "size",
    *,
    of: WaitSplit | None = None,
    every: float | None = None,
) -> WaitingSummary:
    """Tabulate the waiting of all jobs.

    Parameters
    ----------
    run
        The waits of the run.
    jobs
        The table of jobs of the result.
    by
        By what the jobs are grouped, as for `Result.waiting_time`.
    of
        The account by which groups and periods are split [default: gates if they were recorded].
    every
        The length of periods, seconds [default: chosen].

    Returns
    -------
    WaitingSummary
        Causes of the waits in all, by group and over time; and the longest waits.
    """
    waits = parts_of_waits(run)
    if not len(waits):
        none = "No job waited: all started when they were submitted." if len(jobs) else "The run has no jobs."
        return WaitingSummary(none, ())
    total = fsum(waits["wait"])
    explained = TABLES["gates"].has(run.result)
    chosen: WaitSplit = of or ("gates" if explained else "holders")
    by_group = waiting_time(run, jobs, by, of=chosen)
    over_time = waiting_time(run, jobs, None, of=chosen, every=every or _period(run))
    tables = [("Use of the machine while jobs waited:", _holders(run, jobs, total), "", 1)]
    if explained:
        tables.append(_gates(run, total))
    tables.append((f"The waiting by {_group_title(by)}:", *_groups(by_group, by, chosen, total), 1))
    tables.append(("The waiting over time:", _periods(run, over_time, chosen, total), "", 1))
    tables.append(("The longest waits:", _longest(run, waits, jobs), "", 1))
    return WaitingSummary(_head(waits, jobs, total, explained=explained), tuple(tables))


def _head(waits: pl.DataFrame, jobs: pl.DataFrame, total: float, *, explained: bool) -> str:
    times = f"{format_duration(total)} in total, {format_duration(total / len(waits))} on average"
    text = f"{len(waits):,} of {format_count(len(jobs), 'job')} waited, {times}."
    left = int(jobs["start_time"].gather(waits["row"]).null_count())
    if left:
        text += f" {left:,} of them never started."
    if not explained:
        text += " To record why they could not start, simulate with the option explain."
    return text


def _period(run: Waits) -> float:
    """Choose the length of periods: a round one, at most 12."""
    span = float(run.ends.max() - run.submit_times.min())
    lengths = (*_LENGTHS, *(_DAY * each for each in _DAYS))
    return next((each for each in lengths if each * _PERIODS >= span), span / _PERIODS)


def _share(part: float, total: float) -> str:
    return f"{part / total:.1%}" if total else ""


def _holders(run: Waits, jobs: pl.DataFrame, total: float) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("used by", "time", "share")]
    parts = waiting_time(run, jobs, None).drop("all", "jobs", "wait").row(0, named=True)
    for name, seconds in sorted(parts.items(), key=lambda part: -part[1]):
        if seconds:
            rows.append((part_title(name, "holders"), format_duration(seconds), _share(seconds, total)))
    return rows


def _gates(run: Waits, total: float) -> tuple[str, list[tuple[str, ...]], str, int]:
    """List the gates with their subjects, the longest first."""
    gates = run.result.gates
    until = pl.Series("until", run.ends[gates["row"].to_numpy()])
    end = pl.min_horizontal("end", "until")
    # Of jobs the first ones would say little.
    subject = pl.when(~pl.col("gate").is_in(["order", "would_delay", "promised"])).then(subject_of_gate())
    detail = pl.when(pl.col("gate") == "resources").then("detail")
    keys = "gate", subject.alias("subject"), detail.alias("detail")
    found = (
        gates.with_columns(until)
        .group_by(keys, maintain_order=True)
        .agg(pl.col("row").n_unique(), (end - pl.col("start")).clip(0).sum().alias("time"))
    )
    found = found.filter(pl.col("time") > 0).sort("time", descending=True, maintain_order=True)
    rows: list[tuple[str, ...]] = [("gate", "subject", "used by", "jobs", "time", "share")]
    for gate, about, by, count, time in found.head(_SHOWN_GATES).iter_rows():
        names = words_of_gate(gate, about, by)
        rows.append((*names, f"{count:,}", format_duration(time), _share(time, total)))
    more = len(found) - _SHOWN_GATES
    note = f"… {more:,} more, with less." if more > 0 else ""
    return "Why they could not start:", rows, note, 3


def _group_title(by: str) -> str:
    return "number of tasks" if by == "size" else by


def _parts(table: pl.DataFrame, of: WaitSplit) -> list[tuple[str, str]]:
    """Return the names and short titles of the parts that are not zero everywhere."""
    known = {"start_time", "end_time", "jobs", "wait", table.columns[table.columns.index("jobs") - 1]}
    names = [name for name in table.columns if name not in known and table[name].sum() > 0]
    return [(name, _SHORT.get(name, part_title(name, of))) for name in names]


def _groups(table: pl.DataFrame, by: str, of: WaitSplit, total: float) -> tuple[list[tuple[str, ...]], str]:
    parts = _parts(table, of)
    shown = table if by == "size" else table.sort("wait", descending=True, maintain_order=True)
    titles = "tasks, at most" if by == "size" else by
    rows = [(titles, "jobs", "time", "share", *(title for _, title in parts))]
    for row in shown.head(_SHOWN_GROUPS).iter_rows(named=True):
        label = f"{row[by]:,}" if by == "size" else "" if row[by] is None else str(row[by])
        rows.append((label, *_numbers(row, parts, total)))
    more = len(shown) - _SHOWN_GROUPS
    note = "Shares of causes are of the time of the row."
    return rows, f"… {more:,} more. {note}" if more > 0 else note


def _periods(run: Waits, table: pl.DataFrame, of: WaitSplit, total: float) -> list[tuple[str, ...]]:
    parts = _parts(table, of)
    rows = [("from", "jobs", "time", "share", *(title for _, title in parts))]
    at = partial(run.instant, seconds=False)
    rows += [(at(row["start_time"]), *_numbers(row, parts, total)) for row in table.iter_rows(named=True)]
    return rows


def _numbers(row: dict[str, float], parts: Sequence[tuple[str, str]], total: float) -> Iterator[str]:
    yield f"{row['jobs']:,}"
    yield format_duration(row["wait"])
    yield _share(row["wait"], total)
    yield from (f"{row[name] / row['wait']:.0%}" if row[name] else "" for name, _ in parts)


def _longest(run: Waits, waits: pl.DataFrame, jobs: pl.DataFrame) -> list[tuple[str, ...]]:
    user = next((name for name in _USERS if name in jobs.columns), None)
    rows: list[tuple[str, ...]] = [
        ("job", *(("user",) if user else ()), "tasks", "submitted", "waited", "largest part of the wait")
    ]
    longest = longest_waits(run).head(_SHOWN_JOBS).join(waits.drop("job_id", "wait"), on="row", how="left")
    names = [name for name in waits.columns if name not in {"job_id", "row", "wait"}]
    for part in longest.sort("wait", "row", descending=[True, False]).iter_rows(named=True):
        job = jobs.row(part["row"], named=True)
        most = max(names, key=lambda name: part[name])
        who = (str(job[user]),) if user else ()
        times = run.instant(job["submit_time"], seconds=False), waited(part)
        held = f"{part_title(most, 'holders')} {part[most] / part['wait']:.0%}"
        rows.append((str(part["job_id"]), *who, f"{job['tasks']:,}", *times, held))
    return rows
