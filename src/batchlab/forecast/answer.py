"""What a forecast says: tables, text, HTML and pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.core import text_tables
from batchlab.core.lazy import import_late
from batchlab.core.markup import card
from batchlab.core.units import format_count, format_duration
from batchlab.forecast.scores import sample_quantiles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from batchlab.core.random_streams import Floats, Integers
    from batchlab.workload import Workload
    from batchlab.workload.calendar_time import CalendarTime

__all__ = ["Forecast", "SubmissionForecast"]

_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """When the waiting jobs of a simulation start.

    Parameters
    ----------
    now
        The time of the forecast, seconds since the workload's origin.
    quantiles
        The levels.
    jobs
        One row per waiting job: ``job_id``, ``tasks``, ``waited`` (seconds so far), ``requested_time``,
        ``plan`` (the start if every job ran to its limit and no other arrived, seconds), and for each level
        the start, seconds, as ``start_0.1``. A start is infinite if the job does not start within the
        horizon, or ever.
    starts
        float64, shape (samples, jobs): the start of each job in each sample, seconds.
    past_weeks
        The number of past weeks whose jobs arrive again in the samples; 0 if no job arrives.
    clock
        The calendar of the run.
    """

    now: float
    quantiles: tuple[float, ...]
    jobs: pl.DataFrame
    starts: Floats
    past_weeks: int
    clock: CalendarTime

    def __repr__(self) -> str:
        return f"<Forecast of {format_count(self.jobs.height, 'waiting job')} at {self.now:,g} s>"

    @classmethod
    def of(
        cls,
        workload: Workload,
        clock: CalendarTime,
        rows: Integers,
        now: float,
        *,
        starts: Floats,
        plan: Floats,
        levels: Sequence[float],
        past_weeks: int,
    ) -> Forecast:
        """Make the table of samples.

        Parameters
        ----------
        workload
            The jobs.
        clock
            The calendar of the run.
        rows
            Rows of the waiting jobs.
        now
            The time of the forecast, seconds.
        starts
            float64, shape (samples, jobs): seconds.
        plan
            float64, shape (jobs,): seconds.
        levels
            The levels of the quantiles.
        past_weeks
            The number of past weeks whose jobs arrive again.
        """
        known = workload.jobs[rows.tolist()].select("job_id", "tasks", "submit_time", "requested_time")
        found = sample_quantiles(starts, levels)
        table = known.select(
            "job_id", "tasks", (now - pl.col("submit_time")).alias("waited"), "requested_time"
        ).with_columns(
            pl.Series("plan", plan, dtype=pl.Float64),
            *(
                pl.Series(column_of(level), values, dtype=pl.Float64)
                for level, values in zip(levels, found, strict=True)
            ),
        )
        return cls(now, tuple(levels), table, starts, past_weeks, clock)

    def chance(self, within: float) -> pl.DataFrame:
        """Return the chance of each job to start within a time.

        Parameters
        ----------
        within
            Seconds from the time of the forecast.

        Returns
        -------
        polars.DataFrame
            Columns ``job_id`` and ``chance``, from 0 to 1.
        """
        chance = (self.starts <= self.now + within).mean(axis=0) if len(self.starts) else np.empty(0)
        return self.jobs.select("job_id").with_columns(pl.Series("chance", chance, dtype=pl.Float64))

    def _rows(self) -> list[list[str]]:
        head = ["job", "tasks", "waited", *(f"{100 * level:g} %" for level in self.quantiles), "by limits"]
        columns = [*(column_of(level) for level in self.quantiles), "plan"]
        return [
            head,
            *(
                [
                    str(row["job_id"]),
                    f"{row['tasks']:,}",
                    format_duration(row["waited"]),
                    *(_after(row[name], self.now) for name in columns),
                ]
                for row in self.jobs.head(_SHOWN).iter_rows(named=True)
            ),
        ]

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("at", self.clock.written(self.now)),
            ("waiting", format_count(self.jobs.height, "job")),
            ("samples", f"{len(self.starts):,}"),
            ("arrivals", f"past weeks ({self.past_weeks})" if self.past_weeks else "none"),
        ]

    def blocks(self) -> list[text_tables.Block]:
        """Return the facts and the table of the text."""
        facts = text_tables.Facts(self._facts(), "Forecast of starts, from now on")
        if not self.jobs.height:
            return [facts]
        more = self.jobs.height - _SHOWN
        note = f"{format_count(more, 'more job')} in the table jobs" if more > 0 else ""
        return [facts, text_tables.Table(self._rows(), note=note)]

    def __str__(self) -> str:
        return text_tables.render(self.blocks())

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return card("Forecast of starts, from now on", self._facts(), head, rows)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the interval, the median and the plan by limits of each waiting job.

        Parameters
        ----------
        ax
            Axes to draw on. [default: new ones]
        """
        draw: Any = import_late("batchlab.plot.forecasts", "forecast")
        axes: Axes = draw(self, ax=ax)
        return axes


@dataclass(frozen=True, eq=False, repr=False)
class SubmissionForecast:
    """When a job would start if it were submitted now, by its size and time limit.

    Parameters
    ----------
    now
        The time of the forecast, seconds since the workload's origin.
    like
        The ``job_id`` of the job that the new one resembles in all other respects.
    quantiles
        The levels.
    table
        One row per size and limit: ``tasks``, ``requested_time`` (seconds), and for each level the wait until
        the start, seconds, as ``wait_0.1``; infinite if it never starts.
    clock
        The calendar of the run.
    """

    now: float
    like: int
    quantiles: tuple[float, ...]
    table: pl.DataFrame
    clock: CalendarTime

    def __repr__(self) -> str:
        jobs = format_count(self.table.height, "job")
        return f"<Forecast of {jobs} like {self.like} if submitted at {self.now:,g} s>"

    @classmethod
    def of(
        cls,
        clock: CalendarTime,
        now: float,
        like: int,
        cells: Sequence[tuple[int, float, Floats]],
        levels: Sequence[float],
    ) -> SubmissionForecast:
        """Make the table; each cell has a size, a limit, and starts of shape (samples, 1)."""
        rows = []
        for tasks, limit, starts in cells:
            waits = sample_quantiles(starts, levels)[:, 0] - now
            named = {f"wait_{level:g}": wait for level, wait in zip(levels, waits.tolist(), strict=True)}
            rows.append({"tasks": tasks, "requested_time": float(limit), **named})
        return cls(now, like, tuple(levels), pl.DataFrame(rows), clock)

    def _rows(self) -> list[list[str]]:
        head = ["tasks", "limit", *(f"{100 * level:g} %" for level in self.quantiles)]
        return [
            head,
            *(
                [f"{tasks:,}", format_duration(limit), *(_after(wait, 0.0) for wait in waits)]
                for tasks, limit, *waits in self.table.iter_rows()
            ),
        ]

    def blocks(self) -> list[text_tables.Block]:
        """Return the facts and the table of the text."""
        facts = text_tables.Facts(self._facts(), "Wait if submitted now")
        return [facts, text_tables.Table(self._rows(), labels=2)]

    def __str__(self) -> str:
        return text_tables.render(self.blocks())

    def _facts(self) -> list[tuple[str, str]]:
        return [("at", self.clock.written(self.now)), ("like job", str(self.like))]

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        return card("Wait if submitted now", self._facts(), head, rows)


def column_of(level: float) -> str:
    """Return the name of the column of starts at a level."""
    return f"start_{level:g}"


def _after(start: float, now: float) -> str:
    return format_duration(max(start - now, 0.0)) if np.isfinite(start) else "later"
