"""The options for reading job files: name, type, default and help, declared once.

Commands and experiment files derive their options from `ReadingOptions`; the readers of accounting logs have
the fields of `LogOptions` as keywords. Importing it is cheap.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from batchlab.core.declared import Declared, Help, declared, one_of
from batchlab.core.rules import is_finite, is_whole
from batchlab.core.vocabulary import InvalidAction, LogFormat, OverrunAction, ProcessorField
from batchlab.errors import WorkloadError, shown, suggest

RequeueAction = Literal["join", "each"]
UnfinishedAction = Literal["drop", "keep"]
LONGEST = 2.0**53
"""Seconds; the longest time limit."""


@dataclass(frozen=True, kw_only=True)
class LogOptions:
    """The options of log readers. None: the default of the reader, or of the system."""

    overrun: Annotated[
        OverrunAction | None,
        Help(
            "Run time above requested time: extend the request, cut the run, keep both.",
            default="keep for accounting logs and data sets, extend for others",
        ),
    ] = None
    invalid: Annotated[InvalidAction, Help("Jobs that break a rule: drop them, or stop.")] = "drop"
    processors: Annotated[
        ProcessorField, Help("Processors of a job: requested or allocated; the other if missing.")
    ] = "requested"
    use_memory: Annotated[
        bool | None,
        Help(
            "Jobs of a log request memory: mem, in kB.",
            default="for data sets, and for accounting logs on a slurm.conf that gives memory to jobs",
        ),
    ] = None
    log_events: Annotated[
        bool,
        Help(
            "Replay cancellations, kills, requeues and suspensions of the log: of waiting jobs "
            "after the same wait, of running jobs after the same run time. Otherwise jobs "
            "complete."
        ),
    ] = True
    timezone: Annotated[
        str | None,
        Help(
            "Time zone of the time stamps of a log, such as Europe/Berlin.",
            "NAME",
            "UTC, or the mapping's one",
            tables="is about other formats than SWF",
        ),
    ] = None
    time_format: Annotated[
        str | None,
        Help(
            "Format of times in a Slurm log, as SLURM_TIME_FORMAT.",
            "FORM",
            "ISO 8601 or %s",
            tables="is about other formats than SWF",
        ),
    ] = None
    requeues: Annotated[
        RequeueAction,
        Help(
            "Records of a requeued job in an accounting log: one job, or a job each.",
            tables="is about other formats than SWF",
        ),
    ] = "join"
    unfinished: Annotated[
        UnfinishedAction,
        Help(
            "Jobs that wait or run at the end of a log: drop them, or keep the time that they ran.",
            tables="is about other formats than SWF",
        ),
    ] = "drop"
    dependencies: Annotated[
        bool,
        Help(
            "Jobs of a dump of sacct wait for the jobs that they depended on.",
            tables="is about other formats than SWF",
        ),
    ] = False


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(LogOptions):
    """The options for reading any job file, shared by commands and experiments."""

    log_format: Annotated[LogFormat | None, Help("Format of the log.", default="known by its content")] = None
    fields: Annotated[
        str | None,
        Help(
            "Fields of a sacct dump without a header, as in sacct --format: JobID,Submit,Start,…",
            "NAMES",
            tables="is about other formats than SWF",
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        Help(
            "Field delimiter of a sacct dump.",
            "TEXT",
            "found in the header, or |",
            tables="is about other formats than SWF",
        ),
    ] = None
    mapping: Annotated[
        str | None,
        Help(
            "Mapping of the columns of a data set: a name (batchlab traces list) or a TOML file.",
            "NAME|FILE",
            "found by the columns",
            tables="is about other formats than SWF",
        ),
    ] = None
    unlimited: Annotated[
        float | None,
        Help(
            "Time limit of jobs without one, seconds.",
            "S",
            "a year, for plans only",
            tables="is about other formats than SWF",
        ),
    ] = None
    max_jobs: Annotated[
        int | None, Help("Read the first N jobs only.", "N", tables="cuts the table of jobs")
    ] = None

    def __post_init__(self) -> None:
        check_reading({name: getattr(self, name) for name in declared(ReadingOptions)})

    @property
    def given(self) -> Mapping[str, Any]:
        """The options that differ from their defaults, by name."""
        known = declared(ReadingOptions)
        found = {name: getattr(self, name) for name in known}
        return {name: value for name, value in found.items() if value != known[name].default}


class ReadingArguments(TypedDict, total=False):
    """The options of `ReadingOptions` as keyword arguments."""

    overrun: OverrunAction | None
    invalid: InvalidAction
    processors: ProcessorField
    use_memory: bool | None
    log_events: bool
    timezone: str | None
    time_format: str | None
    requeues: RequeueAction
    unfinished: UnfinishedAction
    dependencies: bool
    log_format: LogFormat | None
    fields: str | None
    delimiter: str | None
    mapping: str | None
    unlimited: float | None
    max_jobs: int | None


def check_reading(options: Mapping[str, object]) -> None:
    """Refuse options that `ReadingOptions` does not have, and values that break the rule of their option.

    Raises
    ------
    WorkloadError
        At the first; the message begins with the name of the option.
    """
    for name, value in options.items():
        check_reading_option(name, value)


def check_reading_option(name: str, value: object) -> None:
    """Refuse an option as `check_reading` does."""
    option = declared(ReadingOptions).get(name)
    if option is None:
        raise WorkloadError(f"{name}: no such option of reading.{suggest(name, declared(ReadingOptions))}")
    if value is None and type(None) in option.kinds:
        return
    rule = _broken_rule(option, value)
    if rule is not None:
        raise WorkloadError(f"{name} = {shown(value)}; {rule}.")
    if name == "timezone":
        from batchlab.workload.logs.clock import check_zone  # noqa: PLC0415  # it needs polars

        check_zone(str(value))


def _broken_rule(option: Declared, value: object) -> str | None:
    """Return the rule that a value breaks, by the types of the option; None if it breaks none."""
    if option.choices:
        return None if value in option.choices else one_of(option.choices)
    if option.is_switch:
        return None if isinstance(value, bool) else "must be true or false"
    if str in option.kinds:
        return None if isinstance(value, str) and value else "must be a text that is not empty"
    if int in option.kinds:
        return None if is_whole(value) and value >= 0 else "must be a whole number >= 0"
    in_range = is_finite(value) and 0 <= value <= LONGEST
    return None if in_range else "must be a number of seconds from 0 to 2^53"
