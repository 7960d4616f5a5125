"""What came of a what-if study: waits by group and configuration, as text of 80 columns and plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import one_line
from batchlab.twin.durations import amount, amounts, scaled
from batchlab.twin.groups import GROUPED_BY
from batchlab.twin.lines import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import polars as pl

    from batchlab.result.result import Result
    from batchlab.twin.twin import Twin

__all__ = ["WhatIf"]

_LABEL, _CELL, _LAST = 24, 10, 26
_MOST_GROUPS = 10
_TITLES = {"all": "waits", "size": "by size, processors"}


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The waits of the same jobs under several configurations; ``str(what_if)`` is for people.

    Parameters
    ----------
    twins
        What was run, by name; the others are compared with the first.
    table
        A row for each group of jobs, configuration and statistic: ``by`` ("all", "partition", "qos",
        "account", "size"), ``group``, ``configuration``, ``jobs``, ``statistic`` ("mean", "median", "p95"),
        ``wait``, ``low``, ``high`` (s), and ``difference``, ``difference_low``, ``difference_high`` (s): by
        how much it is above that of the first configuration; null for the first.
    jobs
        How many jobs were compared: those that started under all configurations and seeds.
    not_started
        How many jobs did not start, by configuration.
    seeds
        Of the runs under each configuration.
    mean_waits
        The mean wait of the compared jobs with each seed, seconds, by configuration.
    confidence, block, resamples
        Of the intervals: their level, the length of the blocks of time (s), and how often these were drawn.
    results
        The runs with the first seed, by configuration.
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

    @property
    def first(self) -> str:
        """The name of the configuration with which the others are compared."""
        return next(iter(self.twins))

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    __repr__ = __str__

    def to_dict(self) -> dict[str, object]:
        """Give all of it as plain values, ready for JSON."""
        return {
            "configurations": {
                name: {
                    "policy": str(twin.policy),
                    "nodes": twin.system.nodes,
                    "note": twin.system.note,
                    "not_started": self.not_started[name],
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
        }


def _lines(found: WhatIf) -> Iterator[str]:
    """Give the lines: what was run, then the waits of all jobs and of each group."""
    yield from _head(found)
    for by in GROUPED_BY:
        rows = found.table.filter(by=by)
        if not rows.is_empty():
            apart = len(found.twins) > 1
            yield from ("", _titles(_TITLES.get(by, f"by {by}"), apart=apart))
            yield from _groups(rows, named=by != "all", apart=apart)
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
        if len(found.seeds) > 1:
            yield f"  mean wait by seed: {amounts(found.mean_waits[name])}"
        if found.not_started[name]:
            yield from wrapped(
                f"  {found.not_started[name]:,} jobs did not start, and are left out for all configurations"
            )


def _titles(title: str, *, apart: bool) -> str:
    cells = "".join(f"{name:>{_CELL}}" for name in ("mean", "median", "95 %"))
    return f"{title:<{_LABEL}}{cells}{'mean − first' if apart else 'mean':>{_LAST}}"


def _groups(rows: pl.DataFrame, *, named: bool, apart: bool) -> Iterator[str]:
    groups = rows.unique("group", maintain_order=True)
    for group, count in groups.select("group", "jobs").head(_MOST_GROUPS).iter_rows():
        if named:
            yield f"{one_line(group, 50)}, {count:,} {'job' if count == 1 else 'jobs'}"
        of_group = rows.filter(group=group).partition_by("configuration", as_dict=True, maintain_order=True)
        for (name,), part in of_group.items():
            by_statistic = {row["statistic"]: row for row in part.iter_rows(named=True)}
            yield _line(str(name), by_statistic, apart=apart)
    if groups.height > _MOST_GROUPS:
        yield f"… and {groups.height - _MOST_GROUPS} more; --format json has all."


def _line(name: str, statistics: Mapping[str, Mapping[str, float | None]], *, apart: bool) -> str:
    written = "".join(f"{amount(statistics[each]['wait']):>{_CELL}}" for each in ("mean", "median", "p95"))
    columns = ("difference", "difference_low", "difference_high") if apart else ("wait", "low", "high")
    value, low, high = (statistics["mean"][each] for each in columns)
    last = "" if value is None or low is None or high is None else scaled(value, low, high)
    last = last if apart else last.removeprefix("+")
    return f"  {one_line(name, _LABEL - 4):<{_LABEL - 2}}{written}{last:>{_LAST}}".rstrip()
