"""Compare the waits of the same jobs under several configurations, with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.core.arguments import checked
from batchlab.core.text_tables import Table, render
from batchlab.core.units import format_count
from batchlab.errors import TwinError, one_line, shown
from batchlab.queueing.conversion import positive, whole
from batchlab.queueing.intervals import block_bootstrap, confidence_level
from batchlab.slurm.configuration.report import Differences, differences
from batchlab.slurm.twin.fit_answer import amount, amounts, unit_of, wrapped
from batchlab.slurm.twin.log import GROUPED_BY, STATISTICS, GroupedWaits, checked_name, groupings
from batchlab.slurm.twin.twin import waits_of
from batchlab.workload import requests
from batchlab.workload.run_events import logged_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import numpy.typing as npt

    from batchlab.queueing.intervals import Bootstrap
    from batchlab.result.result import Result
    from batchlab.slurm.twin.fit_answer import Unit
    from batchlab.slurm.twin.log import GroupedBy, Grouping
    from batchlab.slurm.twin.twin import Twin
    from batchlab.workload import Workload
    from batchlab.workload.event_stream import EventStream

    Floats = npt.NDArray[np.float64]

    Integers = npt.NDArray[np.int64]

__all__ = ["WhatIf", "what_if"]

_TOO_LARGE = ("never_fits", "lacks_resource")


def _reasons_of(result: Result) -> tuple[str, ...]:
    """Return why jobs of a run did not start, one line per reason.

    Parameters
    ----------
    result
        The run.

    Returns
    -------
    tuple of str
        For example ``20 jobs rejected, never_fits: a task asks for 4 of gpu, a node has at most 1``.
    """
    jobs = result.jobs.with_row_index("row").filter(pl.col("start_time").is_null())
    found = []
    for (state, reason), part in jobs.group_by("state", "reason", maintain_order=True):
        count = f"{format_count(part.height, 'job')} {state}"
        line = count if reason is None else f"{count}, {reason}"
        lacking = _lacking(result, part["row"].to_numpy()) if reason in _TOO_LARGE else []
        found.append(f"{line}: {', '.join(lacking)}" if lacking else line)
    return tuple(found)


def _lacking(result: Result, rows: np.ndarray) -> list[str]:
    """Return the resources of which a task requests more than any node has."""
    system = result.system
    workload = requests.on_system(result.workload, system)
    found = []
    for name, asked in zip(system.resources, requests.amounts(workload, system), strict=True):
        most = max((group.resources.get(name, 0) for group in system.groups), default=0)
        per_task = int(np.broadcast_to(asked, len(workload.jobs))[rows].max())
        if per_task > most:
            found.append(f"a task asks for {per_task:,} of {name}, a node has at most {most:,}")
    if found:
        return found
    tasks = int(workload.jobs["tasks"].to_numpy()[rows].max())
    return [f"up to {format_count(tasks, 'task')}, on {format_count(system.nodes, 'node')}"]


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
        return {name: _reasons_of(result) for name, result in self.results.items()}

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
    configurations = format_count(len(found.twins), "configuration")
    seeds = format_count(len(found.seeds), "seed")
    yield f"{format_count(found.jobs, 'job')} under {configurations}, {seeds} each"
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
            yield from wrapped(f"  {format_count(found.not_started[name], 'job')} did not start, {left}")
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
            yield f"{one_line(group, 50)}, {format_count(count, 'job')}"
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
        name = "(the log)" if jobs == count else f"(the log, {format_count(jobs, 'job')})"
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


@checked(TwinError)
def what_if(
    workload: Workload,
    twins: Iterable[Twin],
    *,
    seeds: Sequence[int] = (0,),
    block: float | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    events: Mapping[str, EventStream] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> WhatIf:
    """Run the same jobs under several configurations, and compare their waits.

    Parameters
    ----------
    workload
        The jobs. If their log has starts, logged waits are also returned.
    twins
        The configurations, with different names. The others are compared with the first.
    seeds
        Each configuration is run once per seed, which determines the phases of the controller's threads and
        random overheads. The waits of all runs are pooled.
    block, resamples, confidence
        Parameters of the intervals, as for `batchlab.queueing.block_bootstrap`: blocks of time are resampled
        with the jobs submitted in them, equally for all configurations. The intervals reflect the variability
        of the workload, not errors of the model.
    events
        External events, such as node outages, by the name of the configuration.
    progress
        Called after each run with the number of completed runs and the total.

    Returns
    -------
    WhatIf
        Mean, median and 95 % quantile of the waits, for all jobs and by partition, QOS, account and size, as
        far as the log has them.

    Raises
    ------
    TwinError
        If there are no jobs, a configuration cannot run them, no job starts under all configurations that
        start any, or names are not unique.
    QueueingError
        If a parameter of the intervals breaks its rule.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload, system = bl.generate.demo_workload(200), bl.generate.demo_system()
    >>> twins = [
    ...     bl.twin.Twin(name=name, system=system, policy=bl.Policy.parse(name))
    ...     for name in ("slurm", "slurm(backfill=false)")
    ... ]
    >>> found = bl.twin.what_if(workload, twins, resamples=100)
    >>> found.table.filter(by="all", statistic="mean")["difference"].to_list()[1] > 0
    True
    """
    named = _named(twins)
    if not seeds:
        raise TwinError("seeds is empty; give at least one.")
    # Check arguments before the runs, which take long.
    whole("resamples", resamples, 2)
    confidence_level(confidence)
    if block is not None:
        positive("block", block)
    log = checked_name(workload)
    waits, results = _run(workload, named, seeds, events or {}, progress)
    absent = {name: np.isnan(each).any(axis=0) for name, each in waits.items()}
    missing = {name: int(np.count_nonzero(each)) for name, each in absent.items()}
    # A configuration under which no job starts has no waits, and is excluded.
    compared_names = [name for name, each in absent.items() if not each.all()] or [*named]
    started = ~np.any([absent[name] for name in compared_names], axis=0)
    _check_started(log, started, missing)
    kept = {name: waits[name][:, started] for name in compared_names}
    compared = workload.filter(pl.lit(pl.Series(started)))
    grouped = groupings(compared)
    found = block_bootstrap(
        compared.jobs["submit_time"].to_numpy(),
        _statistic([[GroupedWaits(each, grouping) for each in kept.values()] for grouping in grouped]),
        block=block,
        resamples=resamples,
        confidence=confidence,
        seed=seeds[0],
    )
    return WhatIf(
        twins=named,
        table=_table(grouped, tuple(kept), found),
        jobs=len(compared),
        not_started=missing,
        seeds=tuple(seeds),
        mean_waits={name: tuple(kept[name].mean(axis=1).tolist()) if name in kept else () for name in named},
        confidence=found.confidence,
        block=found.block,
        resamples=found.resamples,
        results=results,
        log=_logged(compared, grouped),
    )


def _logged(workload: Workload, grouped: Sequence[Grouping]) -> pl.DataFrame | None:
    """Return the logged waits of each group of jobs; None if the log has no starts."""
    times = logged_times(workload.jobs)
    if times is None:
        return None
    waits = (times["start_time"] - workload.jobs["submit_time"]).to_numpy()
    known = np.isfinite(waits)
    if not known.any():
        return None
    rows = []
    for grouping in grouped:
        found = GroupedWaits(np.where(known, waits, 0.0)[None], grouping).statistics(known.astype(np.int64))
        counts = np.bincount(grouping.number[known], minlength=len(grouping.names))
        for place, name in enumerate(grouping.names):
            rows += [
                (grouping.by, name, int(counts[place]), statistic, float(found[place, column]))
                for column, statistic in enumerate(STATISTICS)
            ]
    return pl.DataFrame(rows, schema=["by", "group", "jobs", "statistic", "wait"], orient="row").fill_nan(
        None
    )


def _named(twins: Iterable[Twin]) -> dict[str, Twin]:
    given = [*twins]
    named = {each.name: each for each in given}
    if not given or len(named) < len(given):
        rule = "must be at least one, each with a name of its own"
        raise TwinError(f"twins = {shown([each.name for each in given])}; {rule}.")
    return named


def _run(
    workload: Workload,
    twins: Mapping[str, Twin],
    seeds: Sequence[int],
    events: Mapping[str, EventStream],
    progress: Callable[[int, int], object] | None,
) -> tuple[dict[str, Floats], dict[str, Result]]:
    """Return the waits of each configuration, shape (seeds, jobs), and its first result."""
    waits: dict[str, Floats] = {}
    results: dict[str, Result] = {}
    done = 0
    for name, twin in twins.items():
        rows = []
        for seed in seeds:
            result = twin.run(workload, seed=seed, events=events.get(name))
            results.setdefault(name, result)
            rows.append(waits_of(result, workload))
            done += 1
            if progress is not None:
                progress(done, len(twins) * len(seeds))
        waits[name] = np.stack(rows)
    return waits, results


def _check_started(log: str, started: npt.NDArray[np.bool_], missing: Mapping[str, int]) -> None:
    if not started.any():
        lost = [f"{count:,} do not under {name}" for name, count in missing.items() if count]
        which = f": {', '.join(lost)}" if lost else ""
        raise TwinError(
            f"{log}: none of {len(started):,} jobs starts under all configurations{which}. "
            "Their partitions must admit the jobs, and their nodes hold them; batchlab run says why not."
        )


def _statistic(grouped: Sequence[Sequence[GroupedWaits]]) -> Callable[[Integers], Floats]:
    """Return a function of the counts: all waits, and their differences from the first configuration."""

    def statistic(counts: Integers) -> Floats:
        blocks = []
        for waits in grouped:
            # Shape (configurations, groups, statistics).
            found = np.stack([each.statistics(counts) for each in waits])
            blocks.append(np.stack([found, found - found[0]]).reshape(2, -1))
        return np.concatenate(blocks, axis=1)

    return statistic


def _table(grouped: Sequence[Grouping], names: Sequence[str], found: Bootstrap) -> pl.DataFrame:
    """Create the rows in the order of the values of `_statistic`."""
    labels = [
        (grouping.by, group, name, int(count), statistic)
        for grouping in grouped
        for name in names
        for group, count in zip(
            grouping.names, np.bincount(grouping.number, minlength=len(grouping.names)), strict=True
        )
        for statistic in STATISTICS
    ]
    table = pl.DataFrame(
        labels, schema=["by", "group", "configuration", "jobs", "statistic"], orient="row"
    ).with_columns(
        pl.Series(f"{kind}{end}", values[place])
        for place, kind in enumerate(("wait", "difference"))
        for end, values in (("", found.estimate), ("_low", found.low), ("_high", found.high))
    )
    table = table.rename({"wait_low": "low", "wait_high": "high"}).fill_nan(None)
    apart = [name for name in table.columns if name.startswith("difference")]
    is_first = pl.col("configuration") == names[0]
    return table.with_columns(pl.when(~is_first).then(pl.col(each)).alias(each) for each in apart)
