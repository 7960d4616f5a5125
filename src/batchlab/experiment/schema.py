"""Schema of an experiment's file: keys, types, and errors that state the path in the file."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from batchlab.core.declared import declared
from batchlab.core.vocabulary import ExecutorName  # noqa: TC001  # pydantic reads the annotations
from batchlab.errors import BatchlabError, ExperimentError, shown, suggest, written
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["OF_PASSES", "PLOTS", "Description", "Dispatchers", "Log", "Model", "Nodes", "checked", "within"]

Plot = Literal[
    "slowdown",
    "plain_slowdown",
    "wait",
    "turnaround",
    "allocation_efficiency",
    "queue_size",
    "utilisation",
    "load",
    "cpu_time",
    "cpu_time_by_queue_size",
    "memory",
]
"""Plots that compare results: functions of `batchlab.plot`, and `slowdown` without a threshold."""

PLOTS: tuple[Plot, ...] = get_args(Plot)

OF_PASSES = ("cpu_time", "cpu_time_by_queue_size", "memory")
"""Plots that need the record of scheduling passes."""

_Path = tuple[str | int, ...]


class Model(BaseModel):
    """A table of the file: unknown keys and conversions of types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Dispatchers(Model):
    """All pairs of schedulers and allocators."""

    schedulers: list[str] | dict[str, str]
    allocators: list[str] | dict[str, str]


class Running(Model):
    """How the runs are executed."""

    executor: ExecutorName | None = None
    workers: int | None = Field(default=None, ge=1)
    store: str | None = None


class Output(Model):
    """Files to write."""

    directory: str | None = None
    report: str | None = None
    baseline: str | None = None
    plots: list[Plot] | Literal["all"] | None = None


class Description(Model):
    """The whole file."""

    title: str = ""
    workloads: dict[str, Any] = Field(min_length=1)
    systems: dict[str, Any] = Field(min_length=1)
    policies: list[str] | dict[str, str] = []
    dispatchers: Dispatchers | None = None
    controls: list[str | list[str]] | dict[str, str | list[str]] | None = None
    seeds: list[int] = Field(default=[0], min_length=1)
    replications: int = Field(default=1, ge=1)
    events: str | dict[str, str] | None = None
    observers: list[str] = []
    power: str | list[str] = []
    failures: str | None = None
    options: dict[str, Any] = {}
    run: Running = Running()
    output: Output = Output()


_OF_READING: dict[str, Any] = dict.fromkeys(declared(ReadingOptions), (Any, None))
Log = create_model("Log", __base__=Model, path=(str, ...), **_OF_READING)
"""A workload read from a file, with the fields of `ReadingOptions`, which are checked by their own rules."""


class Nodes(Model):
    """A system of identical nodes."""

    nodes: int
    resources: dict[str, int]
    equivalence: dict[str, int] | None = None


_ModelType = TypeVar("_ModelType", bound=Model)
_TABLES: Mapping[str, type[Model]] = {
    "dispatchers": Dispatchers,
    "run": Running,
    "output": Output,
}
_RULES = {
    "greater_than_equal": "must be at least {ge}",
    "too_short": "is empty; name at least one",
    "dict_type": "must be a table of labels",
    "list_type": "must be a list",
    "model_type": "must be a table",
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "literal_error": "must be {expected}",
}


def checked(model: type[_ModelType], document: object, path: _Path = ()) -> _ModelType:
    """Check and convert a table of the file.

    Parameters
    ----------
    model
        The expected model.
    document
        The parsed table.
    path
        The position in the file.

    Raises
    ------
    ExperimentError
        With the path of the first error, the value, the rule, and the nearest valid key.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False)
        # A misspelt key is both unknown and missing; report the unknown one.
        first = min(problems, key=lambda problem: problem["type"] == "missing")
        # For union types, the last part of the location names the tried type; drop it.
        place = [part for part in first["loc"] if not isinstance(part, str) or "[" not in part]
        where, kind = written((*path, *place)), first["type"]
        if kind == "extra_forbidden":
            table = _TABLES.get(str(place[0]), model) if len(place) > 1 else model
            raise ExperimentError(
                f"{where}: no such key.{suggest(str(place[-1]), table.model_fields)}"
            ) from None
        if kind == "missing":
            raise ExperimentError(f"{where} is missing; add it.") from None
        rule = _RULES.get(kind, first["msg"]).format(**first.get("ctx", {}))
        raise ExperimentError(f"{where} = {shown(first['input'])}; {rule}.") from None


@contextmanager
def within(*path: str | int) -> Iterator[None]:
    """Prefix errors with the path of the value at fault."""
    try:
        yield
    except BatchlabError as error:
        raise ExperimentError(f"{written(path)}: {error}") from error
