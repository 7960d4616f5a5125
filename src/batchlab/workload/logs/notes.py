"""Remarks on the lines of a log, collected while jobs are created."""

import polars as pl

from batchlab.workload.report import NOTES_SCHEMA

__all__ = ["COMPONENT", "NEVER_STARTED", "Notes"]

NEVER_STARTED = "ended before it started: run_time 0 taken"
COMPONENT = "component of a job of several: a job by itself, which may start at another time"

_SCHEMA = {**NOTES_SCHEMA, "outcome": pl.String()}


class Notes:
    """Collects remarks on jobs for a report, and counts lines that are no jobs."""

    def __init__(self) -> None:
        self._parts: list[pl.DataFrame] = [pl.DataFrame(schema=_SCHEMA)]
        self.skipped: dict[str, int] = {}

    def add(self, outcome: str, reason: str, lines: pl.Series, job_id: pl.Series | None = None) -> None:
        """Add a remark on several lines; ``outcome`` is ``dropped``, ``mended`` or ``noted``."""
        if not len(lines):
            return
        numbers = pl.repeat(None, len(lines), dtype=pl.Int64, eager=True) if job_id is None else job_id
        table = pl.DataFrame({"line": lines.cast(pl.Int64), "job_id": numbers.cast(pl.Int64)})
        self._parts.append(
            table.select(pl.lit(reason).alias("reason"), "line", "job_id", pl.lit(outcome).alias("outcome"))
        )

    def skip(self, what: str, count: int) -> None:
        """Count lines that are no jobs."""
        if count:
            self.skipped[what] = self.skipped.get(what, 0) + count

    def first_line(self, outcome: str) -> int:
        """Return the first line with a remark of an outcome; 1 if there is none."""
        lines = self.table(outcome)["line"].drop_nulls()
        return int(lines[0]) if len(lines) else 1

    def table(self, outcome: str) -> pl.DataFrame:
        """Return the remarks of an outcome, sorted by line."""
        together = pl.concat(self._parts).filter(outcome=outcome).select(NOTES_SCHEMA.names())
        return together.sort("line", maintain_order=True)
