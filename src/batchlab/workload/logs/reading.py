"""The state of reading an accounting log: the options that all readers share, and remarks on its lines."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self, TypedDict, TypeVar, get_type_hints

import polars as pl

from batchlab.core.declared import declared
from batchlab.core.rules import is_finite
from batchlab.core.vocabulary import InvalidAction, OverrunAction, ProcessorField
from batchlab.errors import WorkloadError, shown
from batchlab.workload.log_options import LONGEST, LogOptions, RequeueAction, UnfinishedAction, check_reading
from batchlab.workload.report import NOTES_SCHEMA, Report
from batchlab.workload.source import LogSource, text_of
from batchlab.workload.validation import NEXT_STEP

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

    def with_those_of(self, report: Report) -> list[pl.DataFrame]:
        """Return the remarks ``dropped``, ``mended`` and ``noted``, with those on the table of jobs."""
        both = (
            (self.table("dropped"), report.dropped),
            (self.table("mended"), report.mended),
            (self.table("noted"), report.noted),
        )
        return [pl.concat(tables).sort("line", maintain_order=True) for tables in both]

    def first_line(self, outcome: str) -> int:
        """Return the first line with a remark of an outcome; 1 if there is none."""
        lines = self.table(outcome)["line"].drop_nulls()
        return int(lines[0]) if len(lines) else 1

    def table(self, outcome: str) -> pl.DataFrame:
        """Return the remarks of an outcome, sorted by line."""
        together = pl.concat(self._parts).filter(outcome=outcome).select(NOTES_SCHEMA.names())
        return together.sort("line", maintain_order=True)


YEAR = 365 * 86_400.0
"""Seconds; the time that Slurm's backfill assumes for a job without a time limit."""

_Reader = TypeVar("_Reader", bound=Callable[..., Any])


class LogKeywords(TypedDict, total=False):
    """The keywords of all readers of accounting logs; `Reading` holds their defaults."""

    timezone: str
    overrun: OverrunAction
    invalid: InvalidAction
    processors: ProcessorField
    use_memory: bool
    log_events: bool
    unlimited: float | Mapping[str, float]


class GwfKeywords(LogKeywords, total=False):
    """The keywords of `read_gwf`; each line of its logs is a job."""

    unfinished: UnfinishedAction


class AccountingKeywords(GwfKeywords, total=False):
    """The keywords of the readers of batch system logs."""

    requeues: RequeueAction
    node_names: bool


class JobcompKeywords(LogKeywords, total=False):
    """The keywords of `read_jobcomp`, which only reads finished jobs."""

    time_format: str | None
    requeues: RequeueAction
    partition_limits: Mapping[str, float]
    node_names: bool


class SacctKeywords(AccountingKeywords, total=False):
    """The keywords of `read_sacct`."""

    time_format: str | None
    partition_limits: Mapping[str, float]
    dependencies: bool


@dataclass(frozen=True, kw_only=True)
class Reading(LogOptions):
    """The arguments of `read_sacct` (described there), checked. The defaults are those of accounting logs."""

    timezone: str = "UTC"
    overrun: OverrunAction = "keep"
    use_memory: bool = False
    unlimited: float | Mapping[str, float] = YEAR
    partition_limits: Mapping[str, float] = field(default_factory=dict)
    node_names: bool = False

    def __post_init__(self) -> None:
        check_reading({name: getattr(self, name) for name in declared(LogOptions)})
        values = self.unlimited.values() if isinstance(self.unlimited, Mapping) else [self.unlimited]
        _check_seconds(
            "unlimited", values, "a number of seconds from 0 to 2^53, or one for each of some partitions"
        )
        rule = "numbers of seconds from 0 to 2^53 by partition"
        if not isinstance(self.partition_limits, Mapping):
            raise WorkloadError(f"partition_limits = {shown(self.partition_limits)}; must be {rule}.")
        _check_seconds("partition_limits", self.partition_limits.values(), rule)

    @property
    def options(self) -> Mapping[str, object]:
        """The options shared with `ReadingOptions` that differ from their defaults here."""
        usual = Reading()
        names = [each.name for each in fields(LogOptions)]
        names += [] if isinstance(self.unlimited, Mapping) else ["unlimited"]
        return {name: getattr(self, name) for name in names if getattr(self, name) != getattr(usual, name)}

    @classmethod
    def of(cls, reader: Callable[..., Any], keywords: Mapping[str, Any], **fixed: object) -> Self:
        """Return the arguments passed to a reader.

        Parameters
        ----------
        reader
            A function with the decorator `takes`.
        keywords
            The keyword arguments of the call.
        fixed
            Arguments that the reader does not accept, and that its logs determine.

        Raises
        ------
        TypeError
            If the reader does not accept a keyword.
        """
        known = inspect.signature(reader).parameters
        for name in keywords:
            if name not in known:
                raise TypeError(f"{reader.__name__}() got an unexpected keyword argument {name!r}")
        return cls(**keywords, **fixed)  # type: ignore[arg-type]  # checked against `takes`


def takes(keywords: type) -> Callable[[_Reader], _Reader]:
    """Show the keywords that ``**keywords`` stands for, with their defaults, in the signature of a reader.

    Parameters
    ----------
    keywords
        The typed dictionary of the keywords.
    """
    usual = Reading()
    defaults = {each.name: getattr(usual, each.name) for each in fields(Reading)}
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kind)
        for name, kind in get_type_hints(keywords).items()
    ]

    def with_signature(reader: _Reader) -> _Reader:
        own = inspect.signature(reader)
        named = [each for each in own.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        vars(reader)["__signature__"] = own.replace(parameters=[*named, *more])
        return reader

    return with_signature


def _check_seconds(name: str, values: Iterable[float], rule: str) -> None:
    for value in values:
        if not is_finite(value) or not 0 <= value <= LONGEST:
            raise WorkloadError(f"{name} = {shown(value)}; must be {rule}.")


@dataclass(frozen=True)
class OpenLog:
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


def opened(source: LogSource, reading: Reading) -> tuple[OpenLog, str]:
    """Return a log before parsing, and its text.

    Raises
    ------
    WorkloadError
        If the source cannot be read.
    """
    name, text = text_of(source)
    return OpenLog(name, Notes(), reading), text
