"""Forecast the starts of the pending jobs of a dump, with their limits and reasons, as tables and text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from batchlab.core import text_tables
from batchlab.core.units import format_count, format_duration
from batchlab.errors import DumpError
from batchlab.slurm.dumps.causes import causes_of
from batchlab.workload.columns import TIME_LIMIT, time_limits

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

    from batchlab.forecast import Forecast
    from batchlab.simulation import Simulation
    from batchlab.slurm.dumps.state import LiveJob, LiveState
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["LiveForecast", "Outlook", "past_jobs", "with_past_jobs", "with_starts"]

_MINUTE = 60.0
_HORIZON = 7 * 86_400.0
_SCHEMA: dict[str, pl.DataType] = {
    "job_id": pl.Int64(),
    "slurm_id": pl.String(),
    "partition": pl.String(),
    "time_limit": pl.Float64(),
    "reason": pl.String(),
    "gate": pl.String(),
    "subject": pl.String(),
    "detail": pl.String(),
    "cause": pl.String(),
    "slurm_cause": pl.String(),
    "jobs_before": pl.Int64(),
    "core_hours_before": pl.Float64(),
    "planned_start": pl.Float64(),
    "largest_limit": pl.Float64(),
}


class Beginning(Protocol):
    """What an outlook needs of a cluster: the attributes of `LiveTranslation`."""

    @property
    def state(self) -> LiveState:
        """The state of the cluster."""

    @property
    def workload(self) -> Workload:
        """The jobs."""

    @property
    def records(self) -> tuple[LiveJob, ...]:
        """The record of each row."""

    @property
    def held(self) -> npt.NDArray[np.int64]:
        """Rows of the jobs that will not start."""

    @property
    def now(self) -> float:
        """The time of the dump."""

    @property
    def delay(self) -> float:
        """Seconds within which a job that could start does."""

    def with_jobs(self, jobs: pl.DataFrame) -> Workload:
        """Return a workload with other columns."""

    def simulation(self, workload: Workload | None = None, *, explain: bool = False) -> Simulation:
        """Return a simulation that begins now."""


class Outlook:
    """The outlook of the waiting jobs of a live cluster.

    Parameters
    ----------
    live
        The jobs, the machine and the policy.
    """

    def __init__(self, live: Beginning) -> None:
        self._live = live
        self._jobs = live.workload.jobs
        self._held = frozenset(live.held.tolist())
        self._waiting = [row for row, job in enumerate(live.records) if job.waits]

    def table(self, limits: Collection[int] | bool) -> pl.DataFrame:
        """Return a row for each job that waits; see `LiveTranslation.outlook`."""
        jobs, live = self._jobs, self._live
        before = self._before()
        planned = self._starts(live.workload, _HORIZON)
        causes = self._causes()
        seen: set[int] = set()
        numbers = jobs.select("job_id", "slurm_id", TIME_LIMIT).rows()
        rows = []
        for row in self._waiting:
            job = live.records[row]
            # The tasks of an array are alike: the first one tells.
            is_wanted = (limits if isinstance(limits, bool) else job.job_id in limits) and row in before
            largest = self._largest_limit(row) if is_wanted and job.job_id not in seen else None
            seen.add(job.job_id)
            start = planned[row]
            rows.append(
                (
                    *(numbers[row][0], numbers[row][1], ",".join(job.partitions) or None, numbers[row][2]),
                    *(job.reason, *causes[row], *before.get(row, (None, None))),
                    None if np.isnan(start) else max(float(start) - live.now, 0.0),
                    largest,
                )
            )
        return pl.DataFrame(rows, schema=_SCHEMA, orient="row")

    def _causes(self) -> dict[int, tuple[str | None, ...]]:
        """Return the gate of each waiting job, subject and detail, and the cause in words, Slurm's last."""
        live = self._live
        simulation = live.simulation(explain=True)
        simulation.run_until(live.now + live.delay)
        ids = self._jobs.select(pl.col("job_id").cast(pl.String), "slurm_id")
        waiting = {row: live.records[row] for row in self._waiting}
        found = causes_of(simulation.result(), waiting, dict(ids.iter_rows()))
        return {
            row: (each.gate, each.subject, each.detail, str(each), each.reason) for row, each in found.items()
        }

    def _is_eligible(self, row: int) -> bool:
        job = self._live.records[row]
        begins_later = (job.eligible_time or 0) > self._live.state.now
        return row not in self._held and not job.dependency and not begins_later

    def _before(self) -> dict[int, tuple[int, float]]:
        """Return how many eligible jobs, and core hours, stand before each eligible job.

        They have a higher priority, or the same and an earlier submission, and share a partition.
        """
        jobs = self._jobs
        priority, submit = jobs["priority"].to_list(), jobs["submit_time"].to_list()
        hours = (jobs["tasks"] * jobs["core"] * jobs["requested_time"] / 3600.0).to_list()
        eligible = [row for row in self._waiting if self._is_eligible(row)]
        eligible.sort(key=lambda row: (-priority[row], submit[row], row))
        # Jobs of one set of partitions are counted together: there are few sets.
        counts: dict[frozenset[str], tuple[int, float]] = {}
        found: dict[int, tuple[int, float]] = {}
        for row in eligible:
            own = frozenset(self._live.records[row].partitions)
            shared = [each for names, each in counts.items() if names & own or names == own]
            found[row] = sum(count for count, _ in shared), sum(hour for _, hour in shared)
            count, hour = counts.get(own, (0, 0.0))
            counts[own] = count + 1, hour + hours[row]
        return found

    def _largest_limit(self, row: int) -> float | None:
        """Return the largest time limit, whole minutes, with which a job would start now; None if none would.

        The limits are halved: the job starts with the returned one, and not with one that is a minute longer.
        """
        own = float(self._jobs["requested_time"][row])
        if self._starts_now(row, own):
            return own
        if not self._starts_now(row, _MINUTE):
            return None
        least, most = 1, int(own // _MINUTE) + 1
        while most - least > 1:
            middle = (least + most) // 2
            if self._starts_now(row, middle * _MINUTE):
                least = middle
            else:
                most = middle
        return least * _MINUTE

    def _starts_now(self, row: int, limit: float) -> bool:
        is_job = pl.int_range(pl.len()) == row
        names = ("run_time", "requested_time", TIME_LIMIT)
        columns = [pl.when(is_job).then(limit).otherwise(pl.col(name)).alias(name) for name in names]
        starts = self._starts(self._live.with_jobs(self._jobs.with_columns(columns)), self._live.delay)
        return bool(np.isfinite(starts[row]))

    def _starts(self, workload: Workload, seconds: float) -> npt.NDArray[np.float64]:
        """Return the starts of jobs in a simulation of the given seconds from now; NaN if later."""
        simulation = self._live.simulation(workload)
        simulation.run_until(self._live.now + seconds)
        return simulation.result().outcome.start_time


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
            ("running", format_count(len(state.running), "job")),
            ("waiting", format_count(tasks, "job", "jobs and tasks of arrays")),
            ("history", format_count(self.history, "job")),
            ("samples", f"{len(self.forecast.starts):,}"),
            ("policy", self.policy),
        ]
        blocks: list[text_tables.Block] = [text_tables.Facts(facts, "Starts of waiting jobs, from now on")]
        if self.table.height:
            more = self.table.height - _SHOWN
            note = f"{format_count(more, 'more job')} in the table" if more > 0 else ""
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
        names = ("slurm_id", "cause", "reason", "slurm_cause")
        for slurm_id, cause, reason, words in self.table.head(_SHOWN).select(names).iter_rows():
            own = reason if words == reason else f"{reason or 'no reason'} ({words})"
            found.setdefault(cause if words is None else f"{cause}; Slurm: {own}", []).append(slurm_id)
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
