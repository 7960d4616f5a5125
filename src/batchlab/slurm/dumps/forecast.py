"""When the waiting jobs of a live cluster start: intervals, causes, positions, limits to start now."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core import text_tables
from batchlab.core.units import format_duration
from batchlab.errors import DumpError
from batchlab.workload.columns import time_limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.forecast import Forecast
    from batchlab.slurm.dumps.state import LiveState
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["LiveForecast", "past_jobs", "with_past_jobs", "with_starts"]

_TIMES = ("submit_time", "start_time", "end_time")
_NAMES = ("user", "job_name")


def past_jobs(history: Workload, now: float) -> pl.DataFrame:
    """Return the jobs of a log that ended before now, with times in seconds since 1970 UTC.

    Raises
    ------
    DumpError
        If the log has no starts and ends, or does not say when its time 0 was.
    """
    name = history.report.named("history")
    jobs, origin = history.jobs, history.header.unix_start_time
    missing = [each for each in ("start_time", "end_time") if each not in jobs.columns]
    if missing:
        rule = "must be a log of jobs that ran"
        raise DumpError(f"{name}: has no column {missing[0]}; {rule}, as of bl.read_sacct.")
    if origin is None:
        raise DumpError(
            f"{name}: its header has no UnixStartTime; must say when it begins. Use bl.read_sacct."
        )
    times = [(pl.col(each).cast(pl.Float64) + origin).alias(each) for each in _TIMES]
    jobs = jobs.with_columns(*times, time_limit=pl.Series(time_limits(jobs)))
    is_over = (pl.col("end_time") <= now) & (pl.col("start_time") >= pl.col("submit_time"))
    return jobs.filter(is_over & (pl.col("end_time") >= pl.col("start_time")))


def with_past_jobs(
    table: pl.DataFrame, past: pl.DataFrame, system: System, origin: float
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add past jobs after the jobs that run or wait.

    Parameters
    ----------
    table
        The columns of the jobs that run or wait.
    past
        The result of `past_jobs`.
    system
        The machine: its resources and accounts.
    origin
        The instant of time 0, seconds since 1970 UTC.

    Returns
    -------
    tuple
        The table of all jobs; and of the past ones ``job_id``, ``start_time`` and ``end_time``.
    """
    first = max(int(table["job_id"].max() or 0), 0) + 1 if table.height else 1  # type: ignore[arg-type]  # whole
    resources = list(dict.fromkeys(name for group in system.groups for name in group.resources))
    accounts = {each.name for each in system.accounts}
    named = [pl.col(each).cast(pl.String) for each in _NAMES if each in past.columns]
    if accounts and "account" in past.columns:
        known = pl.col("account").is_in(sorted(accounts))
        named.append(pl.when(known).then("account").alias("account"))
    added = past.select(
        (first + pl.int_range(pl.len(), dtype=pl.Int64)).alias("job_id"),
        *((pl.col(each) - origin).alias(each) for each in _TIMES),
        *(pl.col(each).cast(pl.Float64) for each in ("run_time", "requested_time", "time_limit")),
        pl.col("tasks").cast(pl.Int64),
        *(pl.col(each).cast(pl.Int64) for each in resources if each in past.columns),
        *named,
    )
    if "core" not in added.columns:
        added = added.with_columns(core=pl.lit(1, pl.Int64))
    joined = pl.concat([table, added.drop("start_time", "end_time")], how="diagonal")
    whole = [pl.col(each).fill_null(0) for each in (*resources, "tasks_per_node", "nice", "priority")]
    joined = joined.with_columns(*whole, pl.col("exclusive").fill_null(value=False))
    return joined, added.select("job_id", "start_time", "end_time")


_SHOWN = 50
_LONGEST_LIST = 24


@dataclass(frozen=True, eq=False)
class LiveForecast:
    """When the waiting jobs of a live cluster start.

    Parameters
    ----------
    state
        The state of the cluster.
    policy
        The policy of the simulations.
    history
        Number of past jobs from which run times are drawn.
    remarks
        Missing fields of the dump, and fields that the model does not honour.
    forecast
        The forecast of the simulation that begins now.
    table
        The columns of `LiveTranslation.outlook`, and for each level the start in seconds from now, as
        ``start_0.1``; null if a job does not start within the horizon, or ever.
    """

    state: LiveState
    policy: str
    history: int
    remarks: tuple[str, ...]
    forecast: Forecast
    table: pl.DataFrame

    def to_dict(self) -> dict[str, object]:
        """Return plain values, for JSON; an infinite time limit is ``"inf"``."""
        state = self.state
        jobs = [
            {name: "inf" if value == math.inf else value for name, value in row.items()}
            for row in self.table.iter_rows(named=True)
        ]
        return {
            "now": state.now,
            "files": [*state.files],
            "release": state.release,
            "policy": self.policy,
            "samples": len(self.forecast.starts),
            "history": self.history,
            "jobs": jobs,
            "remarks": [*self.remarks],
        }

    def blocks(self) -> list[text_tables.Block]:
        """Return the facts and tables of the text."""
        state = self.state
        tasks = sum(job.count for job in state.waiting)
        facts = [
            ("running", f"{len(state.running):,} jobs"),
            ("waiting", f"{tasks:,} jobs and tasks of arrays"),
            ("history", f"{self.history:,} jobs"),
            ("samples", f"{len(self.forecast.starts):,}"),
            ("policy", self.policy),
        ]
        blocks: list[text_tables.Block] = [text_tables.Facts(facts, "Starts of waiting jobs, from now on")]
        if self.table.height:
            more = self.table.height - _SHOWN
            note = f"{more:,} more jobs in the table" if more > 0 else ""
            causes = text_tables.Table(self._causes(), prose=True)
            blocks += [text_tables.Table(self._rows(), note=note), causes]
        return blocks

    def __str__(self) -> str:
        return text_tables.render(self.blocks())

    def _rows(self) -> list[list[str]]:
        levels = self.forecast.quantiles
        names = [*(f"start_{level:g}" for level in levels), "planned_start", "largest_limit"]
        head = [
            "job",
            "before",
            "core h",
            *(f"{100 * level:g} %" for level in levels),
            "by limits",
            "limit now",
        ]
        rows = [
            [
                row["slurm_id"],
                _count(row["jobs_before"]),
                _count(row["core_hours_before"]),
                *(_seconds(row[name]) for name in names),
            ]
            for row in self.table.head(_SHOWN).iter_rows(named=True)
        ]
        return [head, *rows]

    def _causes(self) -> list[list[str]]:
        found: dict[str, list[str]] = {}
        for slurm_id, cause in self.table.head(_SHOWN).select("slurm_id", "cause").iter_rows():
            found.setdefault(cause, []).append(slurm_id)
        return [["jobs", "cause"], *([_listed(jobs), cause] for cause, jobs in found.items())]


def with_starts(outlook: pl.DataFrame, forecast: Forecast) -> pl.DataFrame:
    """Add the starts of a forecast to an outlook, seconds from now."""
    names = [f"start_{level:g}" for level in forecast.quantiles]
    after = (
        pl.when(pl.col(name).is_finite()).then(pl.col(name) - forecast.now).alias(name) for name in names
    )
    starts = forecast.jobs.select("job_id", *after)
    return outlook.join(starts, on="job_id", how="left", maintain_order="left")


def _listed(jobs: Sequence[str]) -> str:
    text = ", ".join(jobs)
    return text if len(text) <= _LONGEST_LIST else f"{jobs[0]} and {len(jobs) - 1:,} more"


def _count(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else format_duration(value)
