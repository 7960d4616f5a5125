"""The results of a what-if study: waits by group and configuration, as a text report and plain values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core.text_tables import Table, render
from batchlab.errors import one_line
from batchlab.slurm.configuration.differences import Differences, differences
from batchlab.slurm.twin.durations import amount, amounts, unit_of
from batchlab.slurm.twin.groups import GROUPED_BY
from batchlab.slurm.twin.lines import wrapped
from batchlab.slurm.twin.not_started import reasons_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.result.result import Result
    from batchlab.slurm.twin.durations import Unit
    from batchlab.slurm.twin.groups import GroupedBy
    from batchlab.slurm.twin.twin import Twin

__all__ = ["WhatIf"]

_WIDTH, _LABEL, _CELL, _LAST = 80, 21, 12, 23
_LONGEST = 40
_MOST_GROUPS = 10
_STATISTICS = {"mean": "mean", "median": "median", "p95": "95 %"}
_TITLES = {"all": "waits", "size": "by size, processors"}


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The waits of the same jobs under several configurations; ``str(what_if)`` is a readable summary.

    Parameters
    ----------
    twins
        The twins by name; the others are compared with the first.
    table
        A row for each group of jobs, configuration and statistic: ``by`` ("all", "partition", "qos",
        "account", "size"), ``group``, ``configuration``, ``jobs``, ``statistic`` ("mean", "median", "p95"),
        ``wait``, ``low``, ``high`` (s), and ``difference``, ``difference_low``, ``difference_high`` (s): the
        excess over the first configuration; null for the first.
    jobs
        Number of compared jobs: those that started with all seeds and configurations. A configuration under
        which no job starts is excluded, and has no rows in the table.
    not_started
        Number of jobs that did not start, by configuration.
    seeds
        Seeds of the runs under each configuration.
    mean_waits
        The mean wait of the compared jobs per seed, seconds, by configuration; empty if no job starts.
    confidence, block, resamples
        Parameters of the intervals: level, length of the time blocks (s), and number of resamples.
    results
        The results with the first seed, by configuration.
    log
        The logged waits of the compared jobs: ``by``, ``group``, ``jobs`` (with a logged start),
        ``statistic``, ``wait`` (s); None if the log has no starts.
    """

    twins: Mapping[str, Twin]
    table: pl.DataFrame
    jobs: int
    not_started: Mapping[str, int]
    seeds: tuple[int, ...]
    mean_waits: Mapping[str, tuple[float, ...]]
    confidence: float
    block: float
    resamples: int
    results: Mapping[str, Result]
    log: pl.DataFrame | None = None

    @cached_property
    def differences(self) -> Differences:
        """The differences in keys and values between the configurations that were read from files."""
        read = {name: twin.configuration for name, twin in self.twins.items()}
        return differences({name: each for name, each in read.items() if each is not None})

    @property
    def grouped_by(self) -> tuple[GroupedBy, ...]:
        """The groupings to show: all jobs, and attributes with more than one group."""
        counts = dict(self.table.group_by("by").agg(pl.col("group").n_unique()).iter_rows())
        return tuple(by for by in GROUPED_BY if by == "all" or counts.get(by, 0) > 1)

    @property
    def first(self) -> str:
        """The reference configuration: the first under which jobs start."""
        return next((name for name, waits in self.mean_waits.items() if waits), next(iter(self.twins)))

    @cached_property
    def reasons(self) -> Mapping[str, tuple[str, ...]]:
        """The reasons why jobs did not start, by configuration, with the first seed."""
        return {name: reasons_of(result) for name, result in self.results.items()}

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    def to_dict(self) -> dict[str, object]:
        """Return a JSON-compatible dictionary."""
        return {
            "configurations": {
                name: {
                    "policy": str(twin.policy),
                    "nodes": twin.system.nodes,
                    "note": twin.system.note,
                    "not_started": self.not_started[name],
                    "reasons": list(self.reasons[name]),
                    "mean_waits": list(self.mean_waits[name]),
                }
                for name, twin in self.twins.items()
            },
            "jobs": self.jobs,
            "seeds": list(self.seeds),
            "confidence": self.confidence,
            "block": self.block,
            "resamples": self.resamples,
            "waits": self.table.to_dicts(),
            "log": None if self.log is None else self.log.to_dicts(),
            "differences": {
                key: dict(zip(self.twins, values, strict=False))
                for key, values in self.differences.keys.items()
            },
        }


def _lines(found: WhatIf) -> Iterator[str]:
    """Yield the lines: configurations, their differences, and the waits of all jobs and of each group."""
    yield from _head(found)
    yield from _differences(found)
    for by in found.grouped_by:
        yield ""
        yield from _groups(found, by)
    yield ""
    yield from wrapped(
        f"Intervals hold {100 * found.confidence:g} %: {found.resamples:,} resamples of blocks of "
        f"{amount(found.block)}, the same under all configurations."
    )


def _head(found: WhatIf) -> Iterator[str]:
    runs = f"{len(found.seeds)} {'seed' if len(found.seeds) == 1 else 'seeds'} each"
    count = len(found.twins)
    yield f"{found.jobs:,} jobs under {count} configuration{'s' * (count != 1)}, {runs}"
    for name, twin in found.twins.items():
        yield ""
        yield from wrapped(f"{name}: {twin.policy}")
        if twin.system.note:
            yield from wrapped(f"  {twin.system.note}")
        if twin.delays:
            yield from wrapped(f"  overheads: {twin.delays}")
        waits = found.mean_waits[name]
        if len(found.seeds) > 1 and waits:
            yield f"  mean wait by seed: {amounts(waits)}"
        if found.not_started[name]:
            left = "and are left out for all configurations" if waits else "none did: there are no waits"
            yield from wrapped(f"  {_jobs(found.not_started[name])} did not start, {left}")
            for reason in found.reasons[name]:
                yield from wrapped(f"  {reason}")


def _differences(found: WhatIf) -> Iterator[str]:
    """Yield a table of the keys in which configurations differ, within 80 columns."""
    apart = found.differences
    if len(found.twins) < 2:  # noqa: PLR2004  # it takes two
        return
    if apart.keys:
        names = [name for name, twin in found.twins.items() if twin.configuration is not None]
        rows = [["key", *(one_line(name, _LONGEST) for name in names)]]
        for key, values in apart.keys.items():
            rows.append([one_line(key, _LONGEST), *(one_line(each, _LONGEST) or "–" for each in values)])
        yield ""
        yield from render([Table(rows)], _WIDTH).splitlines()
    if apart.without_effect:
        plural = "s differ" if apart.without_effect > 1 else " differs"
        further = "further key" if apart.keys else "key"
        yield from ([] if apart.keys else [""])
        yield f"{apart.without_effect:,} {further}{plural}, without effect."


def _groups(found: WhatIf, by: GroupedBy) -> Iterator[str]:
    """Yield the waits of each group and configuration; each column has one unit."""
    table = found.table.filter(by=by)
    groups = table.unique("group", maintain_order=True).select("group", "jobs")
    shown = table.filter(pl.col("group").is_in(groups["group"].head(_MOST_GROUPS).implode()))
    apart = table["configuration"].n_unique() > 1
    units = {name: unit_of(shown.filter(statistic=name)["wait"]) for name in _STATISTICS}
    means = shown.filter(statistic="mean")
    last = unit_of([*means["difference_low"], *means["difference_high"]]) if apart else units["mean"]
    cells = "".join(f"{f'{title}, {units[name].name}':>{_CELL}}" for name, title in _STATISTICS.items())
    ends = f"{'mean − first' if apart else 'mean'}, {last.name}"
    yield f"{_TITLES.get(by, f'by {by}'):<{_LABEL}}{cells}{ends:>{_LAST}}"
    for group, count in groups.head(_MOST_GROUPS).iter_rows():
        if by != "all":
            yield f"{one_line(group, 50)}, {_jobs(count)}"
        yield from _of_log(found, by, group, count, units)
        of_group = shown.filter(group=group).partition_by("configuration", as_dict=True, maintain_order=True)
        for (name,), part in of_group.items():
            by_statistic = {row["statistic"]: row for row in part.iter_rows(named=True)}
            yield _line(str(name), by_statistic, units, last, apart=apart)
    if groups.height > _MOST_GROUPS:
        yield f"… and {groups.height - _MOST_GROUPS} more; --format json has all."


def _of_log(found: WhatIf, by: GroupedBy, group: str, count: int, units: Mapping[str, Unit]) -> Iterator[str]:
    """Yield the logged waits, if the log has starts."""
    rows = [] if found.log is None else found.log.filter(by=by, group=group).to_dicts()
    waits = {row["statistic"]: row["wait"] for row in rows if row["jobs"]}
    if waits:
        jobs = rows[0]["jobs"]
        name = "(the log)" if jobs == count else f"(the log, {_jobs(jobs)})"
        yield f"  {name:<{_LABEL - 2}}{_waits(waits, units)}"


def _line(
    name: str,
    statistics: Mapping[str, Mapping[str, float | None]],
    units: Mapping[str, Unit],
    last: Unit,
    *,
    apart: bool,
) -> str:
    waits = {statistic: row["wait"] for statistic, row in statistics.items()}
    columns = ("difference", "difference_low", "difference_high") if apart else ("wait", "low", "high")
    value, low, high = (statistics["mean"][each] for each in columns)
    write = last.difference if apart else last.interval
    written = "" if value is None or low is None or high is None else write(value, low, high)
    return f"  {one_line(name, _LABEL - 4):<{_LABEL - 2}}{_waits(waits, units)}{written:>{_LAST}}".rstrip()


def _waits(waits: Mapping[str, float | None], units: Mapping[str, Unit]) -> str:
    return "".join(f"{unit.plain(waits[name]):>{_CELL}}" for name, unit in units.items())


def _jobs(count: int) -> str:
    return f"{count:,} {'job' if count == 1 else 'jobs'}"
