"""The argument of every plot: one result, several, or groups of them under user-defined labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import stats

from batchlab.core.units import format_count
from batchlab.errors import Argument, ResultError, shown
from batchlab.options import RunOptions
from batchlab.plot.scales import clock_of
from batchlab.result.result import Result
from batchlab.result.table import jobs_table
from batchlab.result.timeline import steps
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from batchlab.workload.calendar_time import CalendarTime

__all__ = [
    "Estimate",
    "Group",
    "Jobs",
    "Results",
    "Workloads",
    "by_policy",
    "clock_of_groups",
    "estimate",
    "groups",
    "job_tables",
    "jobs_of",
    "single",
    "steps_of",
]


Results: TypeAlias = Result | Iterable[Result] | Mapping[str, Result | Iterable[Result]]
"""One result; several, of which those of one policy on the same jobs and system are its replications; or a
mapping of labels to results, or to the replications of one."""

_Source: TypeAlias = Result | Workload
Workloads: TypeAlias = _Source | Iterable[_Source] | Mapping[str, _Source | Iterable[_Source]]
"""The same with workloads, or with results, whose workloads are used."""

_FORMS = "must be a Result, several, or a mapping of labels to results"


@dataclass(frozen=True)
class Group:
    """A result and its replications, at least one, drawn as one."""

    label: str
    results: tuple[Result, ...]

    @cached_property
    def schedules(self) -> tuple[Result, ...]:
        """The results, but only the first if all have the same schedule, as under policies without chance.

        Pooled values and averages over them are the same, and need not be computed ten times.
        """
        first = self.results[0]
        return (
            self.results[:1] if all(_is_same_schedule(first, each) for each in self.results) else self.results
        )


@dataclass(frozen=True)
class Jobs:
    """The jobs of one or more workloads, drawn as one."""

    label: str
    workloads: tuple[Workload, ...]

    @property
    def tables(self) -> tuple[pl.DataFrame, ...]:
        """The tables of their jobs."""
        return tuple(workload.jobs for workload in self.workloads)


def groups(results: Results) -> tuple[Group, ...]:
    """Put results into labelled groups.

    In a sequence, results of one policy on the same jobs and system, with the same options except the seed,
    are replications of each other. Groups of one policy are named by their differences.

    Parameters
    ----------
    results
        One result, several, or a mapping of labels to a result or to several, its replications.

    Returns
    -------
    tuple of Group
        At least one, in the order given.

    Raises
    ------
    ResultError
        If there is no result, or something else is among them.
    """
    if isinstance(results, Mapping):
        found = tuple(Group(str(label), _each(value, Result)) for label, value in results.items())
    else:
        gathered = _gathered(_each(results, Result), _is_replication)
        heads = [each[0] for each in gathered]
        labels = _told_apart([str(head.policy) for head in heads], heads, _RESULT_FACETS)
        found = tuple(Group(label, tuple(each)) for label, each in zip(labels, gathered, strict=True))
    if not found:
        raise ResultError(f"results is empty; {_FORMS}.")
    return found


def by_policy(results: Results) -> tuple[Group, ...]:
    """Put results into groups by policy alone, for any runs; a mapping's labels are kept.

    Raises
    ------
    ResultError
        If there is no result, or something else is among them.
    """
    if isinstance(results, Mapping):
        return groups(results)
    gathered = _gathered(_each(results, Result), lambda one, other: str(one.policy) == str(other.policy))
    return tuple(Group(str(each[0].policy), tuple(each)) for each in gathered)


def steps_of(result: Result, amounts: dict[str, pl.Expr] | None = None) -> pl.DataFrame:
    """Add up the changes in a run, instant by instant; see `batchlab.result.timeline.steps`."""
    return steps(jobs_of(result), amounts, result.interruptions, result.resizes)


def jobs_of(result: Result) -> pl.DataFrame:
    """Return the table of jobs without their nodes, which take longer and more memory than all the rest."""
    return jobs_table(result.workload, result.system, result.outcome)


def clock_of_groups(found: Sequence[Group]) -> CalendarTime | None:
    """Return the clock that all results share; None if they have none, or several."""
    return clock_of(result for group in found for result in group.results)


def single(results: Results) -> Result:
    """Return the only result, for plots that show no more than one.

    Parameters
    ----------
    results
        In any of the forms; of a single group, the first replication is returned.

    Returns
    -------
    Result
        The result.

    Raises
    ------
    ResultError
        If there are several groups.
    """
    found = groups(results)
    if len(found) > 1:
        labels = ", ".join(group.label for group in found)
        raise ResultError(
            f"results: {len(found)} groups ({labels}); this plot shows one. Pass ",
            Argument("policy", python="one result"),
            ".",
        )
    return found[0].results[0]


def job_tables(workloads: Workloads) -> tuple[Jobs, ...]:
    """Put workloads, or those of results, into labelled groups, without duplicates.

    Parameters
    ----------
    workloads
        Workloads or results, in any of the forms.

    Returns
    -------
    tuple of Jobs
        At least one, in the order given.

    Raises
    ------
    ResultError
        If there is none, or something else is among them.
    """
    if isinstance(workloads, Mapping):
        found = tuple(Jobs(str(label), _workloads(value)) for label, value in workloads.items())
    else:
        gathered = [each[0] for each in _gathered(_workloads(workloads), _is_same)]
        labels = _told_apart([_name(workload) for workload in gathered], gathered, _WORKLOAD_FACETS)
        found = tuple(Jobs(label, (each,)) for label, each in zip(labels, gathered, strict=True))
    if not found:
        raise ResultError(f"workloads is empty; {_FORMS}, or the same of workloads.")
    return found


def _workloads(value: Workloads) -> tuple[Workload, ...]:
    sources = _each(value, Result, Workload)
    return tuple(each.workload if isinstance(each, Result) else each for each in sources)


def _each(value: object, *kinds: type) -> tuple:  # type: ignore[type-arg]  # of the kinds that are checked
    if isinstance(value, kinds):
        return (value,)
    if not isinstance(value, Iterable) or isinstance(value, str | bytes):
        raise ResultError(f"results = {shown(value)}; {_FORMS}.")
    found = tuple(value)
    for each in found:
        if not isinstance(each, kinds):
            raise ResultError(f"results holds {shown(each)}; {_FORMS}.")
    if not found:
        raise ResultError(f"results holds an empty group; {_FORMS}.")
    return found


def _gathered(items: Sequence[_Source], alike: Callable[..., bool]) -> list[list]:  # type: ignore[type-arg]
    found: list[list[_Source]] = []
    for item in items:
        home = next((group for group in found if alike(group[0], item)), None)
        if home is None:
            found.append([item])
        else:
            home.append(item)
    return found


def _is_replication(one: Result, other: Result) -> bool:
    return (
        str(one.policy) == str(other.policy)
        and one.system == other.system
        and _options(one) == _options(other)
        and _is_same(one.workload, other.workload)
    )


def _is_same_schedule(one: Result, other: Result) -> bool:
    return one is other or (
        one.system == other.system
        and _is_same(one.workload, other.workload)
        and all(
            np.array_equal(getattr(one.outcome, name), getattr(other.outcome, name), equal_nan=True)
            for name in ("state", "start_time", "end_time", "allocated")
        )
    )


def _is_same(one: Workload, other: Workload) -> bool:
    return one is other or (one.resources == other.resources and one.jobs.equals(other.jobs))


def _options(result: Result) -> dict[str, object]:
    """Return the options that must agree between replications."""
    return {name: value for name, value in result.options.schedule_options.items() if name != "seed"}


def _option_facet(name: str) -> Callable[[Result], str]:
    return lambda result: f"{name}={getattr(result.options, name)}"


def _name(workload: Workload) -> str:
    return PurePath(workload.report.source).name.partition(".swf")[0] or "workload"


_RESULT_FACETS: tuple[Callable[[Result], str], ...] = (
    lambda result: result.system.name or format_count(result.system.nodes, "node"),
    *(_option_facet(name) for name in RunOptions().schedule_options if name != "seed"),
    lambda result: format_count(len(result.workload), "job"),
)
_WORKLOAD_FACETS: tuple[Callable[[Workload], str], ...] = (
    lambda workload: format_count(len(workload), "job"),
)


def _told_apart(
    names: Sequence[str], items: Sequence[_Source], facets: Sequence[Callable[..., str]]
) -> list[str]:
    """Add to names that several items share the differences of these, or a number if there are none."""
    labels: list[str] = []
    for name, item in zip(names, items, strict=True):
        twins = [other for other_name, other in zip(names, items, strict=True) if other_name == name]
        telling = [facet(item) for facet in facets if len({facet(twin) for twin in twins}) > 1]
        label = f"{name} ({', '.join(telling)})" if telling else name
        repeated = sum(label in (earlier, earlier.rpartition(" #")[0]) for earlier in labels)
        labels.append(f"{label} #{repeated + 1}" if repeated else label)
    return labels


_LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean over replications, and half the width of its 95 % confidence interval, if there is one."""

    mean: float
    half_width: float | None
    count: int


def estimate(values: Sequence[float | None]) -> Estimate | None:
    """Compute the mean, with its confidence interval by Student's t if there are several values.

    Parameters
    ----------
    values
        One per replication; None and values that are not finite are ignored.

    Returns
    -------
    Estimate or None
        None if no value is left.
    """
    numbers = np.array([value for value in values if value is not None and math.isfinite(value)], np.float64)
    if not len(numbers):
        return None
    mean, count = float(numbers.mean()), len(numbers)
    if count == 1:
        return Estimate(mean, None, count)
    # The mean of equal numbers may be rounded, and would then seem to differ from them.
    error = float(numbers.std(ddof=1)) / math.sqrt(count) if np.ptp(numbers) else 0.0
    return Estimate(mean, float(stats.t.ppf(0.5 + _LEVEL / 2, count - 1)) * error, count)
