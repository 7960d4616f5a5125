"""The report of a reader: every job that was dropped, changed or odd, by reason and line."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import polars as pl

from batchlab.core.units import format_count
from batchlab.errors import WorkloadError
from batchlab.workload.reasons import none_kept, read_line

NOTES_SCHEMA = pl.Schema({"reason": pl.String(), "line": pl.Int64(), "job_id": pl.Int64()})
_SHOWN_LINES = 3


def _no_notes() -> pl.DataFrame:
    return pl.DataFrame(schema=NOTES_SCHEMA)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """The result of reading a source; ``str(report)`` is a readable summary.

    A workload keeps its report through all transforms: numbers and lines refer to the source.

    Parameters
    ----------
    source
        The path of the file, or a name of another source.
    read
        Jobs read: lines of a log that are neither blank nor comments, or rows of a table.
    kept
        Jobs kept. ``read - kept`` were dropped.
    dropped, mended, noted
        Tables with the columns ``reason``, ``line`` and ``job_id`` (null if unreadable), sorted by line: jobs
        that were dropped; values that were changed (a job may have several rows); and odd jobs that were kept
        unchanged, such as those with a repeated number. For a log, the first 2**20 rows of each reason.
    unit
        The unit of ``line``: ``"line"`` of a file, from 1, or ``"row"`` of a table, from 0.
    announced
        The number of records in the log's header.
    stopped_at
        The last line read, if ``max_jobs`` ended the reading.
    unlisted
        Number of rows by reason that are not in the tables.
    mended_jobs
        Number of jobs with a changed value; None: counted in ``mended``.
    skipped
        Number of log records that are no jobs, by kind, such as steps of jobs.
    options
        The options of `ReadingOptions` that differ from the reader's defaults.
    """

    source: str = "table"
    read: int = 0
    kept: int = 0
    dropped: pl.DataFrame = field(default_factory=_no_notes)
    mended: pl.DataFrame = field(default_factory=_no_notes)
    noted: pl.DataFrame = field(default_factory=_no_notes)
    unit: Literal["line", "row"] = "line"
    announced: int | None = None
    stopped_at: int | None = None
    unlisted: Mapping[str, int] = field(default_factory=dict)
    mended_jobs: int | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)

    def counts(self) -> dict[str, dict[str, int]]:
        """Count rows by reason, in descending order: ``{"dropped": {reason: count}, "mended": …}``."""
        return {name: self._counted(notes) for name, notes in self._tables()}

    def _counted(self, notes: pl.DataFrame) -> dict[str, int]:
        listed = notes.group_by("reason", maintain_order=True).len().rows()
        counts = {reason: count + self.unlisted.get(reason, 0) for reason, count in listed}
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def summary(self) -> str:
        """Return one line with the numbers of jobs read, dropped and mended."""
        mended = self.mended["line"].n_unique() if self.mended_jobs is None else self.mended_jobs
        return read_line(self.source, self.read, self.kept, mended)

    def check_kept(self) -> None:
        """Raise if jobs were read, and none was kept.

        Raises
        ------
        WorkloadError
            With the first line, and the numbers of dropped jobs by reason.
        """
        if self.read and not self.kept:
            first = next(iter(self.dropped["line"]), None)
            sign = ":" if self.unit == "line" else ": row "
            place = self.source if first is None else f"{self.source}{sign}{first}"
            raise WorkloadError(none_kept(place, self.read, self.counts()["dropped"]))

    def named(self, other: str = "workload") -> str:
        """Return the name of the file for messages; if the source is no file, return `other`."""
        return other if self.source == "table" else self.source

    def __str__(self) -> str:
        lines = [self.summary()]
        if self.stopped_at is not None:
            lines.append(f"  stopped by max_jobs after {self.unit} {self.stopped_at:,}")
        elif self.announced not in (None, self.read, self.read + sum(self.skipped.values())):
            lines.append(f"  the header announces {format_count(self.announced, 'record')}")
        for name, notes in self._tables():
            lines.extend(
                self._reason(name, notes, reason, count) for reason, count in self.counts()[name].items()
            )
        lines.extend(f"  {'skipped':<7} {count:>9,}  {what}" for what, count in self.skipped.items())
        return "\n".join(lines)

    def at_lines(self, lines: pl.Series) -> Self:
        """Convert the report of a table to one of the log; ``lines`` holds the line of each row."""
        places = {
            name: notes.with_columns(lines.gather(notes["line"]).cast(pl.Int64).alias("line"))
            for name, notes in self._tables()
        }
        return replace(
            self, dropped=places["dropped"], mended=places["mended"], noted=places["noted"], unit="line"
        )

    __repr__ = __str__

    def _tables(self) -> tuple[tuple[str, pl.DataFrame], ...]:
        return ("dropped", self.dropped), ("mended", self.mended), ("noted", self.noted)

    def _reason(self, name: str, notes: pl.DataFrame, reason: str, count: int) -> str:
        first = notes.lazy().filter(reason=reason).select("line", "job_id").head(_SHOWN_LINES).collect()
        # Rows without a line are identified by job number.
        column = "job_id" if first["line"].null_count() else "line"
        places = ", ".join(map(str, first[column].to_list())) + (", …" if count > _SHOWN_LINES else "")
        named = self.unit if column == "line" else "job"
        unit = named if count == 1 else f"{named}s"
        more = f"; {self.unlisted[reason]:,} of them not listed" if self.unlisted.get(reason) else ""
        return f"  {name:<7} {count:>9,}  {reason} ({unit} {places}{more})"


def read_out(notes: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Return the rows with an outcome from a table with the column ``outcome``."""
    return (notes.filter(outcome=outcome) if notes.height else notes)[NOTES_SCHEMA.names()]
