"""The state of reading a log, and its rejected lines."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import IO, Literal

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.logs.notes import Notes
from batchlab.workload.logs.reading import Reading
from batchlab.workload.source import text_of
from batchlab.workload.validation import NEXT_STEP

__all__ = ["Log", "opened"]


@dataclass(frozen=True)
class Log:
    """The state of reading a log: its name, the remarks on its lines or rows, and the reading options.

    `options` are those that only this reader has.
    """

    name: str
    notes: Notes
    reading: Reading
    unit: Literal["line", "row"] = "line"
    options: Mapping[str, object] = field(default_factory=dict)

    def place(self, number: int) -> str:
        """Return the position of a line or a row for a message."""
        return f"{self.name}:{number}" if self.unit == "line" else f"{self.name}: row {number}"

    def refuse_line(self, line: int, value: str, reason: str) -> None:
        """Drop a line, or raise."""
        if self.reading.invalid == "raise":
            raise WorkloadError(f"{self.place(line)}: {shown(value[:200])} {reason}. {NEXT_STEP}")
        self.notes.add("dropped", reason, pl.Series([line]))

    def refuse(
        self, records: pl.DataFrame, holds: pl.Expr, column: str, reason: str, *, is_usual: bool = False
    ) -> pl.DataFrame:
        """Drop the records that break a rule; with ``invalid="raise"``, raise unless the case is usual."""
        mask = records.select(holds.fill_null(value=False)).to_series()
        if mask.all():
            return records
        out = records.filter(~mask)
        if self.reading.invalid == "raise" and not is_usual:
            first = out.sort("line").head(1)
            text = first[f"{column}_text" if f"{column}_text" in out.columns else column]
            raise WorkloadError(
                f"{self.place(first['line'][0])}: {column} = {shown(text[0])}; job {first['logged_id'][0]} "
                f"{reason}. {NEXT_STEP}"
            )
        self.notes.add("dropped", reason, out["line"], out["base"])
        return records.filter(mask)


def opened(
    source: str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes], reading: Reading
) -> tuple[Log, str]:
    """Return a log before parsing, and its text.

    Raises
    ------
    WorkloadError
        If the source cannot be read.
    """
    name, text = text_of(source)
    return Log(name, Notes(), reading), text
