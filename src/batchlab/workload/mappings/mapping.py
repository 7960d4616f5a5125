"""Column mappings: the meaning of a data set's columns by role, their units, and their source."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, NoReturn, Self

import polars as pl

from batchlab.core import rules
from batchlab.core.declared import Help
from batchlab.core.documents import DocumentReader
from batchlab.core.form import Reader, check_fields, reduced
from batchlab.errors import WorkloadError, shown, suggest, written
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.logs.clock import check_zone
from batchlab.workload.logs.outcomes import KNOWN_STATES

Kind = Literal["identifier", "instant", "duration", "count", "memory", "text", "flag"]

CLOCK = "clock"
"""The unit of durations like ``[days-]hours:minutes:seconds``, or ``1 days 02:00:00`` of pandas."""
SLURM = "slurm"
"""The unit of memory in Slurm's syntax: ``4Gn`` per node, ``2000Mc`` per core, ``16G`` per job."""

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_KIBIBYTES = {
    "B": 1 / 1024,
    **{f"{letter}B": 1000.0**power / 1024 for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1024.0 ** (power - 1) for power, letter in enumerate("KMGT", 1)},
}
UNITS: dict[Kind, dict[str, float]] = {
    "instant": _SECONDS,
    "duration": {**_SECONDS, CLOCK: 1.0},
    "count": {"one": 1.0, "percent": 1e-2, "milli": 1e-3},
    "memory": {**_KIBIBYTES, SLURM: 1.0},
}
"""By kind, the factor of each unit: to seconds, to a number, to KiB. The first unit is the default."""


class Role(NamedTuple):
    """The meaning of a column: its kind and a description."""

    kind: Kind
    text: str


ROLES: dict[str, Role] = {
    "job_id": Role("identifier", "The number or the name of the job. Jobs are numbered by rows without it"),
    "submit": Role("instant", "When the job was submitted"),
    "eligible": Role("instant", "When the job could start first, if that was later"),
    "start": Role("instant", "When the job started"),
    "end": Role("instant", "When the job ended"),
    "wait": Role("duration", "From the submission to the start, instead of `start`"),
    "run_time": Role("duration", "From the start to the end; taken if one of the two instants is missing"),
    "limit": Role("duration", "The time limit that the job asked for"),
    "tasks": Role("count", "Equal parts of the job, each on one node"),
    "nodes": Role("count", "Nodes that the job asked for"),
    "cores": Role("count", "Cores that the job asked for"),
    "gpus": Role("count", "GPUs that the job asked for"),
    "memory": Role("memory", "Memory that the job asked for"),
    "allocated_nodes": Role("count", "Nodes that the job was given; taken if `nodes` is unknown"),
    "allocated_cores": Role("count", "Cores that the job was given; taken if `cores` is unknown"),
    "exclusive": Role("flag", "Whether the job takes whole nodes"),
    "state": Role("text", "The state in which the job ended"),
    "component_of": Role("identifier", "The job that has this row and others as its components"),
    "user": Role("text", "The user who submitted the job"),
    "group": Role("text", "The group of the user"),
    "account": Role("text", "The account or project of the job"),
    "partition": Role("text", "The partition of the job"),
    "queue": Role("text", "The queue of the job"),
    "qos": Role("text", "The quality of service of the job"),
    "job_name": Role("text", "The name that the user gave the job"),
}
"""The possible roles of a column."""

KINDS: dict[str, Kind] = {name: role.kind for name, role in ROLES.items()}


_TASKS = ("instance", "node", "core", "gpu", "job")
# The role that a mapping must have for each kind of task.
_TASK_COLUMN = {"instance": "tasks", "node": "nodes", "core": "cores", "gpu": "gpus"}
_RESOURCE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RESOURCE_OF = {"cores": "core", "gpus": "gpu", "memory": "mem"}
_FORMATS = ("csv", "parquet", "json", "swf", "pbs")

# The names of the workload's columns.
_OF_WORKLOADS = {
    *("job_id", "submit_time", "run_time", "requested_time", "time_limit", "tasks", "tasks_per_node"),
    *("exclusive", "logged_id", "eligible_time", "start_time", "end_time", "logged_wait_time"),
    *("status", "state", "attempts", "requested_processors", "requested_nodes", "requested_gpus"),
    *("allocated_processors", "allocated_nodes", "cancelled_after", "run_events", "suspended_time"),
    *("depends_on", "dependency", "begin_time", "array", "node_group", "constraint", "user", "group"),
    *("account", "partition", "queue", "qos", "job_name"),
}

Value = str | int | float


def _names(value: object) -> tuple[str, ...]:
    names = (value,) if isinstance(value, str) else rules.List(rules.text, "names")(value)
    if not names or not all(names):
        raise ValueError("must name a column")
    return tuple(dict.fromkeys(names))


def _value(value: object) -> Value:
    if isinstance(value, str):
        return value
    whole = rules.whole_of(value)
    number = rules.number_of(value) if whole is None else whole
    if number is None:
        raise ValueError("must be a text or a number")
    return number


def _expression(value: object) -> str:
    _groups(value)
    return rules.text(value)


def _groups(value: object) -> int:
    """Return the number of groups in a regular expression of polars."""
    try:
        return len(pl.Series([""]).str.extract_groups(rules.text(value)).struct.fields)
    except UNREADABLE:
        raise ValueError("must be a regular expression") from None


def _pattern(value: object) -> str:
    if _groups(value) != 1:
        raise ValueError("must have one group in parentheses: what it finds is the value")
    return rules.text(value)


def _zone(value: object) -> str:
    name = rules.text(value)
    try:
        check_zone(name)
    except WorkloadError:
        raise ValueError("must be a name of the IANA's list, as 'UTC' or 'Europe/Berlin'") from None
    return name


def _time_format(value: object) -> str:
    letters = rules.text(value)
    try:
        pl.Series(["1"]).str.to_datetime(letters, strict=False)
    except UNREADABLE:
        letters = ""
    if "%" not in letters:
        rule = "must be a date and a time in the letters of strftime, as '%d.%m.%Y %H:%M:%S'"
        raise ValueError(rule) from None
    return letters


def _separator(value: object) -> str:
    if len(rules.text(value).encode()) != 1 or value in ("\r", "\n"):
        raise ValueError("must be one character, as ',' or '\\t'")
    return rules.text(value)


_Text = Annotated[str, rules.text]
_Names = Annotated[tuple[str, ...], _names]
_Values = Annotated[tuple[Value, ...], rules.List(_value, "texts and numbers")]


@dataclass(frozen=True)
class Column:
    """Where a value of a job stands, and how it is written. In a file, a text stands for its name alone."""

    column: Annotated[
        _Names,
        Help(
            "Its name in the data set, or a list: of several columns the first that is known is taken. In "
            "JSON a path: `attempts/first/detail`"
        ),
    ] = ()
    unit: Annotated[
        _Text | None,
        Help(
            "Of times `s`, `ms`, `us`, `ns`, `min`, `h`, `d`, of durations also `clock`; of memory `B`, "
            "`kB`, `KiB`, …, `TiB`, or `slurm`; of counts `one`, `percent`, `milli`"
        ),
    ] = None
    per: Annotated[
        Literal["job", "node", "core", "task"], Help("Whose amount it is: `job`, `node`, `core` or `task`")
    ] = "job"
    missing: Annotated[_Values, Help("Values that stand for unknown")] = ()
    unlimited: Annotated[_Values, Help("Values of a limit that stand for no limit")] = ()
    pattern: Annotated[
        Annotated[str, _pattern] | None, Help("A regular expression, whose group is the value")
    ] = None
    times: Annotated[_Text | None, Help("Another column by which the number is multiplied")] = None
    values: Annotated[_Values, Help("The values of `exclusive` that mean yes")] = ()
    always: Annotated[bool, Help("For `exclusive = true`: all jobs take whole nodes")] = False

    def __post_init__(self) -> None:
        check_fields(self, WorkloadError)

    @staticmethod
    def in_full(given: object) -> object:
        """Return the table for which a name, a list of names, or true stands."""
        if isinstance(given, str | list):
            return {"column": given}
        return {"always": True} if given is True else given


@dataclass(frozen=True)
class File:
    """Format of the file."""

    format: Annotated[
        Literal["csv", "parquet", "json", "swf", "pbs"] | None,
        Help(
            "`csv`, `parquet`, `json` (lines, or one list), `swf` (fields between blanks) or `pbs`; known by "
            "the content"
        ),
    ] = None
    separator: Annotated[
        Annotated[str, _separator] | None, Help("Between the fields of CSV; known by the first line")
    ] = None
    names: Annotated[_Names | None, Help("The names of the columns of a file without them")] = None

    def __post_init__(self) -> None:
        check_fields(self, WorkloadError)


@dataclass(frozen=True)
class Times:
    """Format of time stamps."""

    zone: Annotated[Annotated[str, _zone], Help("The time zone of time stamps that do not say theirs")] = (
        "UTC"
    )
    format: Annotated[
        Annotated[str, _time_format] | None,
        Help("The time stamps, in the letters of strftime; ISO 8601 is known"),
    ] = None
    relative: Annotated[bool, Help("Whether numbers count from an origin that is not 1970 UTC")] = False

    def __post_init__(self) -> None:
        check_fields(self, WorkloadError)


@dataclass(frozen=True)
class Attempts:
    """The attempts of a job, as a list in its row (JSON, Parquet)."""

    column: Annotated[_Text, Help("The list of the attempts")]
    start: Annotated[_Text, Help("When an attempt started")]
    end: Annotated[_Text, Help("When it ended")]

    def __post_init__(self) -> None:
        check_fields(self, WorkloadError)


@dataclass(frozen=True)
class LogMapping:
    """The meaning of the columns of a data set or a custom log.

    Read from a TOML file with `--mapping FILE`, or one of the mappings that ``batchlab traces list`` shows.
    The keys of the file are the fields of this class.
    """

    name: Annotated[_Text, Help("The name for `--mapping`")] = ""
    summary: Annotated[_Text, Help("The machine, and when the jobs ran")] = ""
    good_for: Annotated[_Text, Help("Contents that other data sets lack, and gaps of this one")] = ""
    source: Annotated[_Text, Help("Where the columns and their units are described")] = ""
    licence: Annotated[_Text, Help("On which terms the data set is published")] = ""
    machine: Annotated[
        _Text, Help("A ready machine, or a file beside the mapping, unless `--system` is given")
    ] = ""
    missing: Annotated[_Values, Help("Values of all columns that stand for unknown")] = ()
    task: Annotated[
        Literal["instance", "node", "core", "gpu", "job"] | None,
        Help(
            "What a task of a job is: one of `tasks` (`instance`), a `node`, a `core`, a `gpu`, the `job`. "
            "Default: the first of these that has a column"
        ),
    ] = None
    columns: Annotated[Mapping[str, Column], Help("Columns by role: see below")] = field(default_factory=dict)
    resources: Annotated[
        Mapping[str, Column], Help("Other resources that jobs ask for, by the names that systems have")
    ] = field(default_factory=dict)
    keep: Annotated[_Names | None, Help("Columns that are kept under their own names")] = None
    states: Annotated[
        Annotated[Mapping[str, str], rules.Table(rules.text, rules.text, "words to states")],
        Help("The state of Slurm for each word or number of the column of states"),
    ] = field(default_factory=dict)
    matches: Annotated[
        Annotated[Mapping[str, str], rules.Table(rules.text, _expression, "columns to patterns")],
        Help("Columns that tell this data set from like ones, and regular expressions of their values"),
    ] = field(default_factory=dict)
    file: Annotated[File, Help("How the file is written")] = File()
    times: Annotated[Times, Help("How instants are written")] = Times()
    attempts: Annotated[Attempts | None, Help("The list of attempts in the row of a job")] = None

    def __post_init__(self) -> None:
        check_fields(self, WorkloadError)
        _check(self)

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)

    @classmethod
    def of(cls, document: Mapping[str, object]) -> Self:
        """Create a mapping from a dictionary with the keys of the file, and check it.

        Raises
        ------
        WorkloadError
            If a key or a value is invalid; the message has its position in the document and the rule.
        """
        return Reader(WorkloadError, "a mapping").build(cls, document)

    @property
    def task_kind(self) -> str:
        """The kind of a task, as specified or derived from the columns."""
        if self.task is not None:
            return self.task
        return next((task for task, role in _TASK_COLUMN.items() if role in self.columns), "job")

    @property
    def amounts(self) -> dict[str, Column]:
        """The columns of requests per task, by resource name."""
        own = {name: self.columns[role] for role, name in _RESOURCE_OF.items() if role in self.columns}
        if self.task_kind == "core":
            # A task is a processor, so its number of cores is 1.
            own.pop("core", None)
        return {**own, **self.resources}

    def described(self) -> Iterator[tuple[tuple[str, str], Column]]:
        """Yield all columns with their paths in the mapping."""
        for table, columns in (("columns", self.columns), ("resources", self.resources)):
            for role, column in columns.items():
                yield (table, role), column


def mapping_of_file(path: str | os.PathLike[str]) -> LogMapping:
    """Read a mapping from a TOML file.

    Raises
    ------
    WorkloadError
        If the file cannot be read, or a key or a value is invalid.
    """
    name = os.fspath(path)
    reader = DocumentReader(WorkloadError, "mapping", 1)
    try:
        mapping = LogMapping.of(reader.toml(reader.text(reader.content(name))))
    except WorkloadError as error:
        raise reader.named(name, error) from None
    machine = Path(name).parent / mapping.machine
    if mapping.machine and machine.is_file():
        mapping = replace(mapping, machine=str(machine))
    return mapping if mapping.name else replace(mapping, name=Path(name).stem)


def _refusal(way: tuple[int | str, ...], value: object, rule: str) -> WorkloadError:
    return WorkloadError(f"{written(way)} = {shown(value)}; {rule}.")


def _refuse(way: tuple[int | str, ...], value: object, rule: str) -> NoReturn:
    raise _refusal(way, value, rule)


def _check(mapping: LogMapping) -> None:
    """Check rules between keys."""
    _check_names(mapping)
    for state, word in mapping.states.items():
        if word not in KNOWN_STATES:
            rule = f"must be a state of Slurm.{suggest(word, KNOWN_STATES)}".rstrip(".")
            _refuse(("states", state), word, rule)
    for way, column in mapping.described():
        _check_column(mapping, way, column)
    if mapping.file.format != "pbs":
        _check_needed(mapping)


def _check_names(mapping: LogMapping) -> None:
    """Check the roles and the names of resources and of kept columns."""
    for role in mapping.columns:
        if role not in ROLES:
            rule = f"columns.{role}: no job has that.{suggest(role, ROLES)}"
            raise WorkloadError(f"{rule} Put other columns under keep.")
    for name in mapping.resources:
        if not _RESOURCE.fullmatch(name):
            _refuse(("resources", name), name, "must be a name of letters, digits and _")
        if name in _RESOURCE_OF.values():
            role = next(role for role, resource in _RESOURCE_OF.items() if resource == name)
            _refuse(("resources", name), name, f"is columns.{role} in a mapping; write it there")
        if name in ROLES or name in _OF_WORKLOADS:
            _refuse(("resources", name), name, "is no resource but a column of jobs; choose another name")
    for name in mapping.keep or ():
        if name in _OF_WORKLOADS or name in mapping.amounts:
            _refuse(("keep",), name, "is a column of workloads; leave it out")


def _check_column(mapping: LogMapping, way: tuple[str, str], column: Column) -> None:
    kind: Kind = KINDS.get(way[1], "count")
    known = UNITS.get(kind, {})
    if column.unit is not None and column.unit not in known:
        rule = f"must be a unit.{suggest(column.unit, known)}".rstrip(".") if known else "it has no unit"
        _refuse((*way, "unit"), column.unit, rule)
    if not column.column and not (column.always and kind == "flag"):
        raise WorkloadError(
            f"{written(way)} names no column; write it as a text, or as a table with `column`."
        )
    if column.times is not None and kind not in ("count", "memory"):
        _refuse((*way, "times"), column.times, "only amounts are multiplied")
    if column.unlimited and way[1] != "limit":
        _refuse((*way, "unlimited"), list(column.unlimited), "only a limit can be unlimited")
    for per, role in (("node", "nodes"), ("core", "cores"), ("task", "tasks")):
        if column.per == per and role not in mapping.columns:
            _refuse((*way, "per"), per, f"needs columns.{role}, which is missing")
    if kind == "flag" and column.column and not column.values:
        raise WorkloadError(f"{written(way)}.values is missing; list the values that mean yes.")


def _check_needed(mapping: LogMapping) -> None:
    has = mapping.columns.keys()
    if "submit" not in has:
        raise WorkloadError("columns.submit is missing; a job needs the instant of its submission.")
    begins = "start" in has or "wait" in has
    if "run_time" not in has and not (begins and "end" in has) and mapping.attempts is None:
        raise WorkloadError(
            "columns.run_time is missing; a job needs it, or `start` and `end`, or a table [attempts]."
        )
    needed = _TASK_COLUMN.get(mapping.task_kind)
    if needed is not None and needed not in has:
        _refuse(("task",), mapping.task, f"needs columns.{needed}, which is missing")
    if mapping.task is None and mapping.task_kind == "job" and not mapping.resources:
        raise WorkloadError(
            "columns.cores is missing; say how large jobs are by cores, nodes, gpus or tasks, "
            'or write task = "job" if each takes one processor.'
        )
    if mapping.file.format == "swf" and mapping.file.names is None:
        raise WorkloadError("file.names is missing; the fields of SWF have no names of their own.")
