"""Column mappings: the meaning of a data set's columns by role, their units, and their source."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, NoReturn

import polars as pl
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from batchlab.core.documents import DocumentReader
from batchlab.errors import WorkloadError, shown, suggest, written
from batchlab.workload.columns import UNREADABLE
from batchlab.workload.logs.clock import check_zone
from batchlab.workload.logs.outcomes import KNOWN_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


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


class _Model(BaseModel):
    """A table in a mapping: unknown keys are errors, and values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _names(value: object) -> object:
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(dict.fromkeys(value))
    return (value,) if isinstance(value, str) else _listed(value)


def _listed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _some(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not all(value):
        raise ValueError("must name a column")
    return value


def _expression(value: str) -> str:
    _groups(value)
    return value


def _groups(value: str) -> int:
    """Return the number of groups in a regular expression of polars."""
    try:
        return len(pl.Series([""]).str.extract_groups(value).struct.fields)
    except UNREADABLE:
        raise ValueError("must be a regular expression") from None


def _pattern(value: str) -> str:
    if _groups(value) != 1:
        raise ValueError("must have one group in parentheses: what it finds is the value")
    return value


def _zone(value: str) -> str:
    try:
        check_zone(value)
    except WorkloadError:
        raise ValueError("must be a name of the IANA's list, as 'UTC' or 'Europe/Berlin'") from None
    return value


def _time_format(value: str) -> str:
    try:
        pl.Series(["1"]).str.to_datetime(value, strict=False)
    except UNREADABLE:
        value = ""
    if "%" not in value:
        rule = "must be a date and a time in the letters of strftime, as '%d.%m.%Y %H:%M:%S'"
        raise ValueError(rule) from None
    return value


def _separator(value: str) -> str:
    if len(value.encode()) != 1 or value in "\r\n":
        raise ValueError("must be one character, as ',' or '\\t'")
    return value


_Names = Annotated[tuple[str, ...], BeforeValidator(_names), AfterValidator(_some)]
_Values = Annotated[tuple[Value, ...], BeforeValidator(_listed)]
_Pattern = Annotated[str, AfterValidator(_pattern)]
_Form = Annotated[str, AfterValidator(_expression)]
_Format = Annotated[str, AfterValidator(_time_format)]


def _as_table(value: object) -> object:
    return (
        {"column": value} if isinstance(value, str | list) else {"always": value} if value is True else value
    )


class _Column(_Model):
    column: _Names = Field(
        default=(),
        description="Its name in the data set, or a list: of several columns the first that is known is "
        "taken. In JSON a path: `attempts/first/detail`",
    )
    unit: str | None = Field(
        default=None,
        description="Of times `s`, `ms`, `us`, `ns`, `min`, `h`, `d`, of durations also `clock`; of memory "
        "`B`, `kB`, `KiB`, …, `TiB`, or `slurm`; of counts `one`, `percent`, `milli`",
    )
    per: Literal["job", "node", "core", "task"] = Field(
        default="job", description="Whose amount it is: `job`, `node`, `core` or `task`"
    )
    missing: _Values = Field(default=(), description="Values that stand for unknown")
    unlimited: _Values = Field(default=(), description="Values of a limit that stand for no limit")
    pattern: _Pattern | None = Field(
        default=None, description="A regular expression, whose group is the value"
    )
    times: str | None = Field(default=None, description="Another column by which the number is multiplied")
    values: _Values = Field(default=(), description="The values of `exclusive` that mean yes")
    always: bool = Field(default=False, description="For `exclusive = true`: all jobs take whole nodes")


Column = Annotated[_Column, BeforeValidator(_as_table)]


class File(_Model):
    """Format of the file."""

    format: Literal["csv", "parquet", "json", "swf", "pbs"] | None = Field(
        default=None,
        description="`csv`, `parquet`, `json` (lines, or one list), `swf` (fields between blanks) or `pbs`; "
        "known by the content",
    )
    separator: Annotated[str, AfterValidator(_separator)] | None = Field(
        default=None, description="Between the fields of CSV; known by the first line"
    )
    names: _Names | None = Field(default=None, description="The names of the columns of a file without them")


class Times(_Model):
    """Format of time stamps."""

    zone: Annotated[str, AfterValidator(_zone)] = Field(
        default="UTC", description="The time zone of time stamps that do not say theirs"
    )
    format: _Format | None = Field(
        default=None, description="The time stamps, in the letters of strftime; ISO 8601 is known"
    )
    relative: bool = Field(
        default=False, description="Whether numbers count from an origin that is not 1970 UTC"
    )


class Attempts(_Model):
    """The attempts of a job, as a list in its row (JSON, Parquet)."""

    column: str = Field(description="The list of the attempts")
    start: str = Field(description="When an attempt started")
    end: str = Field(description="When it ended")


class LogMapping(_Model):
    """The meaning of the columns of a data set or a custom log.

    Read from a TOML file with `--mapping FILE`, or one of the mappings that ``batchlab traces list`` shows.
    The keys of the file are the fields of this class.
    """

    name: str = Field(default="", description="The name for `--mapping`")
    summary: str = Field(default="", description="The machine, and when the jobs ran")
    good_for: str = Field(default="", description="Contents that other data sets lack, and gaps of this one")
    source: str = Field(default="", description="Where the columns and their units are described")
    licence: str = Field(default="", description="On which terms the data set is published")
    machine: str = Field(
        default="", description="A ready machine, or a file beside the mapping, unless `--system` is given"
    )
    missing: _Values = Field(default=(), description="Values of all columns that stand for unknown")
    task: Literal["instance", "node", "core", "gpu", "job"] | None = Field(
        default=None,
        description="What a task of a job is: one of `tasks` (`instance`), a `node`, a `core`, a `gpu`, the "
        "`job`. Default: the first of these that has a column",
    )
    columns: dict[str, Column] = Field(default_factory=dict, description="Columns by role: see below")
    resources: dict[str, Column] = Field(
        default_factory=dict, description="Other resources that jobs ask for, by the names that systems have"
    )
    keep: _Names | None = Field(default=None, description="Columns that are kept under their own names")
    states: dict[str, str] = Field(
        default_factory=dict, description="The state of Slurm for each word or number of the column of states"
    )
    matches: dict[str, _Form] = Field(
        default_factory=dict,
        description="Columns that tell this data set from like ones, and regular expressions of their values",
    )
    file: File = Field(default_factory=File, description="How the file is written")
    times: Times = Field(default_factory=Times, description="How instants are written")
    attempts: Attempts | None = Field(default=None, description="The list of attempts in the row of a job")

    @classmethod
    def of(cls, document: Mapping[str, object]) -> LogMapping:
        """Create a mapping from a dictionary with the keys of the file, and check it.

        Raises
        ------
        WorkloadError
            If a key or a value is invalid; the message has its position in the document and the rule.
        """
        return mapping_of_document(document)

    @property
    def task_kind(self) -> str:
        """The kind of a task, as specified or derived from the columns."""
        if self.task is not None:
            return self.task
        return next((task for task, role in _TASK_COLUMN.items() if role in self.columns), "job")

    @property
    def amounts(self) -> dict[str, _Column]:
        """The columns of requests per task, by resource name."""
        own = {name: self.columns[role] for role, name in _RESOURCE_OF.items() if role in self.columns}
        if self.task_kind == "core":
            # A task is a processor, so its number of cores is 1.
            own.pop("core", None)
        return {**own, **self.resources}

    def described(self) -> Iterator[tuple[tuple[str, str], _Column]]:
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
        mapping = mapping_of_document(reader.toml(reader.text(reader.content(name))))
    except WorkloadError as error:
        raise reader.named(name, error) from None
    machine = Path(name).parent / mapping.machine
    if mapping.machine and machine.is_file():
        mapping = mapping.model_copy(update={"machine": str(machine)})
    return mapping if mapping.name else mapping.model_copy(update={"name": Path(name).stem})


def mapping_of_document(document: Mapping[str, object]) -> LogMapping:
    """Create a mapping from a parsed document, and check it.

    Raises
    ------
    WorkloadError
        If a key or a value is invalid; the message has its position in the document and the rule.
    """
    try:
        mapping = LogMapping.model_validate(dict(document))
    except ValidationError as error:
        raise _explained(error) from None
    _check(mapping)
    return mapping


_KEYS: dict[tuple[str, ...], type[BaseModel]] = {
    (): LogMapping,
    ("file",): File,
    ("times",): Times,
    ("attempts",): Attempts,
}


def _explained(error: ValidationError) -> WorkloadError:
    problems = error.errors(include_url=False, include_context=False)
    # A misspelt key causes two errors, unknown and missing; report the unknown key.
    first = min(problems, key=lambda problem: problem["type"] == "missing")
    way = tuple(part for part in first["loc"] if part != "[key]")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "extra_forbidden":
        model = _KEYS.get(tuple(str(part) for part in way[:-1]), _Column)
        known = suggest(str(way[-1]), model.model_fields).rstrip(".")
        return WorkloadError(f"{written(way)}: is not a key of a mapping.{known}{more}.")
    if first["type"] == "missing":
        return WorkloadError(f"{written(way)} is missing{more}; add it.")
    rule = first["msg"].removeprefix("Value error, ")
    rule = rule[:1].lower() + rule[1:]
    return _refusal(way, first["input"], rule.replace("input should be", "must be") + more)


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


def _check_column(mapping: LogMapping, way: tuple[str, str], column: _Column) -> None:
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
