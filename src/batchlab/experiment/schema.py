"""Schema of an experiment's file: its keys and their types."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Any, Literal, TypeVar, get_args

from batchlab.core import rules
from batchlab.core.declared import declared
from batchlab.core.form import Reader
from batchlab.core.vocabulary import ExecutorName
from batchlab.errors import BatchlabError, ExperimentError, written
from batchlab.workload.log_options import ReadingOptions

__all__ = ["OF_PASSES", "PLOTS", "Description", "Dispatchers", "Log", "Nodes", "checked", "within"]

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

_Kind = TypeVar("_Kind")
_Value = TypeVar("_Value")


def _listed(entry: rules.Rule[_Value], what: str) -> rules.Rule[list[_Value]]:
    return lambda value: [*rules.List(entry, what)(value)]


def _labelled(entry: rules.Rule[_Value], what: str) -> Callable[[object], dict[str, _Value]]:
    return lambda value: dict(rules.Table(rules.text, entry, what)(value))


def _either(first: Callable[[object], object], other: rules.Rule[object]) -> rules.Rule[object]:
    """Return the rule of a list or a text, or else of a table by label."""
    return lambda value: other(value) if isinstance(value, Mapping) else first(value)


def _texts(value: object) -> list[str]:
    if not isinstance(value, list):
        raise ValueError("must be a list of texts, or a table of texts by label")  # noqa: TRY004  # of a rule
    return _listed(rules.text, "texts")(value)


def _text_or_texts(value: object) -> str | list[str]:
    if not isinstance(value, str | list):
        raise ValueError("must be a text, or a list of texts")  # noqa: TRY004  # of a rule
    return value if isinstance(value, str) else _texts(value)


def _plots(value: object) -> list[str] | Literal["all"]:
    if isinstance(value, list):
        return _listed(rules.OneOf(PLOTS), "plots")(value)
    if value != "all":
        raise ValueError('must be a list of plots, or "all"')
    return "all"


def _table(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a table of labels")  # noqa: TRY004  # of a rule
    return dict(value)


def _filled_table(value: object) -> dict[str, Any]:
    if value == {}:
        raise ValueError("is empty; name at least one")
    return _table(value)


def _seeds(value: object) -> list[int]:
    if value == []:
        raise ValueError("is empty; name at least one")
    return _listed(rules.Whole(None), "whole numbers")(value)


_Text = Annotated[str, rules.text]
_Specs = Annotated[list[str] | dict[str, str], _either(_texts, _labelled(rules.text, "labels to texts"))]
_Controls = Annotated[
    list[str | list[str]] | dict[str, str | list[str]],
    _either(_listed(_text_or_texts, "controls"), _labelled(_text_or_texts, "labels to controls")),
]
_AMOUNTS = _labelled(rules.WHOLE, "resource names to whole numbers")
_Files = Annotated[str | dict[str, str], _either(rules.text, _labelled(rules.text, "labels to files"))]


@dataclass(frozen=True)
class Dispatchers:
    """All pairs of schedulers and allocators."""

    schedulers: _Specs
    allocators: _Specs


@dataclass(frozen=True)
class Running:
    """How the runs are executed."""

    executor: ExecutorName | None = None
    workers: Annotated[int, rules.COUNT] | None = None
    store: _Text | None = None


@dataclass(frozen=True)
class Output:
    """Files to write."""

    directory: _Text | None = None
    report: _Text | None = None
    baseline: _Text | None = None
    plots: Annotated[list[Plot] | Literal["all"], _plots] | None = None


@dataclass(frozen=True)
class Description:
    """The whole file."""

    workloads: Annotated[dict[str, Any], _filled_table]
    systems: Annotated[dict[str, Any], _filled_table]
    title: _Text = ""
    policies: _Specs = field(default_factory=list)
    dispatchers: Dispatchers | None = None
    controls: _Controls | None = None
    seeds: Annotated[list[int], _seeds] = field(default_factory=lambda: [0])
    replications: Annotated[int, rules.COUNT] = 1
    events: _Files | None = None
    observers: Annotated[list[str], _listed(rules.text, "observers")] = field(default_factory=list)
    power: Annotated[str | list[str], _text_or_texts] = field(default_factory=list)
    failures: _Text | None = None
    options: Annotated[dict[str, Any], _table] = field(default_factory=dict)
    run: Running = Running()
    output: Output = Output()


@dataclass(frozen=True)
class _File:
    """A file."""

    path: _Text


Log: Any = make_dataclass(
    "Log", [(name, Any, None) for name in declared(ReadingOptions)], bases=(_File,), frozen=True
)
"""A workload read from a file, with the fields of `ReadingOptions`, which are checked by their own rules."""
Log.__module__ = __name__


@dataclass(frozen=True)
class Nodes:
    """A system of identical nodes: arguments of `System.homogeneous`."""

    nodes: Annotated[int, rules.COUNT]
    resources: Annotated[dict[str, int], _AMOUNTS]
    equivalence: Annotated[dict[str, int], _AMOUNTS] | None = None


def checked(kind: type[_Kind], document: object, *path: str) -> _Kind:
    """Check and convert a table of the file.

    Parameters
    ----------
    kind
        The dataclass of its keys.
    document
        The parsed table.
    *path
        Its position in the file.

    Raises
    ------
    ExperimentError
        With the path of the first error, the value, the rule, and the nearest valid key.
    """
    return Reader(ExperimentError, "an experiment").build(kind, document, path)


@contextmanager
def within(*path: str | int) -> Iterator[None]:
    """Prefix errors with the path of the value at fault."""
    try:
        yield
    except BatchlabError as error:
        raise ExperimentError(f"{written(path)}: {error}") from error
