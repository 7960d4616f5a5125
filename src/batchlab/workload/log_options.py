"""The options for reading job files: name, type, default and help, declared once.

Commands and experiment files derive their options from `ReadingOptions`; the readers of accounting logs have
the fields of `LogOptions` as keywords. Imports only the standard library.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from batchlab.vocabulary import InvalidAction, LogFormat, OverrunAction, ProcessorField

__all__ = [
    "REQUEUE_ACTIONS",
    "UNFINISHED_ACTIONS",
    "Help",
    "LogOptions",
    "ReadingOptions",
    "RequeueAction",
    "UnfinishedAction",
    "option_of",
]

RequeueAction = Literal["join", "each"]
REQUEUE_ACTIONS: tuple[RequeueAction, ...] = get_args(RequeueAction)
UnfinishedAction = Literal["drop", "keep"]
UNFINISHED_ACTIONS: tuple[UnfinishedAction, ...] = get_args(UnfinishedAction)


@dataclass(frozen=True)
class Help:
    """The help text of an option, the name of its value, and the default to show if it is not a value."""

    text: str
    metavar: str | None = None
    default: str | None = None


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
    processors: Annotated[ProcessorField, Help("What of a log is taken first as processors.")] = "requested"
    use_memory: Annotated[
        bool | None,
        Help(
            "Jobs of a log ask for memory too: mem, in kB.",
            default="for data sets, and for accounting logs on a slurm.conf that gives memory to jobs",
        ),
    ] = None
    log_events: Annotated[
        bool,
        Help(
            "Replay what happened to jobs in the log: those that were cancelled before they started are "
            "cancelled after the same wait, else they are jobs of 0 s; those that were cancelled, killed, "
            "requeued or suspended while they ran are so after the same run time, else they complete."
        ),
    ] = True
    timezone: Annotated[
        str | None,
        Help(
            "Time zone of the time stamps of a log, as Europe/Berlin.",
            "NAME",
            "UTC, or the mapping's one",
        ),
    ] = None
    time_format: Annotated[
        str | None,
        Help("Form of times in a log of Slurm, as SLURM_TIME_FORMAT.", "FORM", "ISO 8601 or %s"),
    ] = None
    requeues: Annotated[
        RequeueAction, Help("Records of a requeued job in an accounting log: one job, or a job each.")
    ] = "join"
    unfinished: Annotated[
        UnfinishedAction,
        Help("Jobs that wait or run at the end of a log: drop them, or keep the time that they ran."),
    ] = "drop"
    dependencies: Annotated[
        bool, Help("Jobs of a dump of sacct wait for the jobs that they depended on.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class ReadingOptions(LogOptions):
    """The options for reading any job file, shared by commands and experiments."""

    log_format: Annotated[LogFormat | None, Help("What the log is.", default="known by its content")] = None
    fields: Annotated[
        str | None,
        Help("Fields of a dump of sacct without a header, as in its --format: JobID,Submit,Start,…", "NAMES"),
    ] = None
    delimiter: Annotated[
        str | None, Help("End of a field in a dump of sacct.", "TEXT", "found in the header, or |")
    ] = None
    mapping: Annotated[
        str | None,
        Help(
            "What the columns of a data set hold: a name (batchlab traces list) or a TOML file.",
            "NAME|FILE",
            "found by the columns",
        ),
    ] = None
    unlimited: Annotated[
        float | None,
        Help("Time limit of jobs of a log without one, seconds.", "S", "a year, for plans only"),
    ] = None
    max_jobs: Annotated[int | None, Help("Read the first N jobs only.", "N")] = None

    @property
    def given(self) -> Mapping[str, Any]:
        """The options that differ from their defaults, by name."""
        known = {field.name: field.default for field in dataclasses.fields(ReadingOptions)}
        found = {name: getattr(self, name) for name in known}
        return {name: value for name, value in found.items() if value != known[name]}


def option_of(name: str) -> str:
    """Return the command-line spelling of an option of `ReadingOptions`."""
    return f"--{name.replace('_', '-')}"
