"""What a reader did: every job that was dropped, mended or odd, by reason and line."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Self

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.read_line import none_kept, read_line

__all__ = ["Report"]

NOTES_SCHEMA = pl.Schema({"reason": pl.String(), "line": pl.Int64(), "job_id": pl.Int64()})
_SHOWN_LINES = 3


def _no_notes() -> pl.DataFrame:
    return pl.DataFrame(schema=NOTES_SCHEMA)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What was read, and what became of it; ``str(report)`` is for people.

    A workload keeps the report of its reading through all transforms: the numbers and lines are those of the
    source.

    Parameters
    ----------
    source
        The file's path, or a word for what is no file.
    read
        Jobs read: lines of a log that are neither blank nor comments, or rows of a table.
    kept
        Jobs kept. ``read - kept`` were dropped.
    dropped, mended, noted
        Tables with the columns ``reason``, ``line`` and ``job_id`` (null where it could not be read), in the
        order of lines: jobs left out; values changed (a job may have several rows); jobs kept as they are
        although odd, such as those with a repeated number. Of a log, the first 2**20 of each reason.
    unit
        What ``line`` counts: ``"line"`` of a file, from 1, or ``"row"`` of a table, from 0.
    announced
        The number of records that the log's header announces.
    stopped_at
        The last line read, where ``max_jobs`` ended the reading.
    unlisted
        By reason, how many more there were than the tables list.
    mended_jobs
        Jobs with a changed value; None counts them in ``mended``.
    skipped
        By what they are, such as steps of jobs, how many records of a log are no jobs.
    options
        How the source was read: the options of `ReadingOptions` that differ from the reader's defaults.
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
        """Count the notes: ``{"dropped": {reason: count}, "mended": …, "noted": …}``, frequent ones first."""
        return {name: self._counted(notes) for name, notes in self._tables()}

    def _counted(self, notes: pl.DataFrame) -> dict[str, int]:
        listed = notes.group_by("reason", maintain_order=True).len().rows()
        counts = {reason: count + self.unlisted.get(reason, 0) for reason, count in listed}
        return dict(sorted(counts.items(), key=lambda item: -item[1]))

    def summary(self) -> str:
        """Say in one line how many jobs were read, dropped and mended."""
        mended = self.mended["line"].n_unique() if self.mended_jobs is None else self.mended_jobs
        return read_line(self.source, self.read, self.kept, mended)

    def check_kept(self) -> None:
        """Refuse a source of which jobs were read, and none kept.

        Raises
        ------
        WorkloadError
            With the first line, and for which reasons how many jobs were dropped.
        """
        if self.read and not self.kept:
            first = next(iter(self.dropped["line"]), None)
            sign = ":" if self.unit == "line" else ": row "
            place = self.source if first is None else f"{self.source}{sign}{first}"
            raise WorkloadError(none_kept(place, self.read, self.counts()["dropped"]))

    def named(self, other: str = "workload") -> str:
        """Give the file that was read, for messages; of what was read of no file, the other name."""
        return other if self.source == "table" else self.source

    def __str__(self) -> str:
        lines = [self.summary()]
        if self.stopped_at is not None:
            lines.append(f"  stopped by max_jobs after {self.unit} {self.stopped_at:,}")
        elif self.announced not in (None, self.read, self.read + sum(self.skipped.values())):
            lines.append(f"  the header announces {self.announced:,} records")
        for name, notes in self._tables():
            lines.extend(
                self._reason(name, notes, reason, count) for reason, count in self.counts()[name].items()
            )
        lines.extend(f"  {'skipped':<7} {count:>9,}  {what}" for what, count in self.skipped.items())
        return "\n".join(lines)

    def at_lines(self, lines: pl.Series) -> Self:
        """Give the report of a table as one of the log whose ``lines`` its rows were read from."""
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
        # What was left out of a run is known by its number.
        column = "job_id" if first["line"].null_count() else "line"
        places = ", ".join(map(str, first[column].to_list())) + (", …" if count > _SHOWN_LINES else "")
        named = self.unit if column == "line" else "job"
        unit = named if count == 1 else f"{named}s"
        more = f"; {self.unlisted[reason]:,} of them not listed" if self.unlisted.get(reason) else ""
        return f"  {name:<7} {count:>9,}  {reason} ({unit} {places}{more})"


def read_out(notes: pl.DataFrame, outcome: str) -> pl.DataFrame:
    """Take the notes with an outcome out of a table that also has the column ``outcome``."""
    return (notes.filter(outcome=outcome) if notes.height else notes)[NOTES_SCHEMA.names()]
