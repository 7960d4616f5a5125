"""Read and write applications as files in ElastiSim's JSON format, which batchlab also uses."""

import json
import os
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar

from batchlab._kernel import Formula
from batchlab.application import tasks
from batchlab.application.application import Application, Phase, Stage
from batchlab.core.arguments import checked
from batchlab.core.documents import DocumentReader
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.errors import ApplicationError, shown, suggest

__all__ = ["application_of", "document_of", "has_skeletons", "read_application", "write_application"]

_DOCUMENTS = DocumentReader(ApplicationError, "application", most=64, numbers="amounts go up to 1e308")
_PARTS = ("on_init", "on_reconfiguration", "on_expansion", "phases")
_STAGE = ("iterations", "tasks")
_PHASE = ("iterations", "scheduling_point", "evolving_request", "barrier", "tasks")
_COMMON = {"name": "name", "iterations": "iterations", "synchronized": "synchronized"}
_WORK = {
    "flops": "flops",
    "computation_pattern": "computation_pattern",
    "bytes": "bytes",
    "communication_pattern": "communication_pattern",
}
_TRANSFER = {"bytes": "bytes", "pattern": "pattern", "async": "asynchronous"}
_WAIT = {"delay": "seconds", "pattern": "pattern"}
# Values that ElastiSim accepts for these fields; it ignores other values.
_LENIENT: Mapping[str, Callable[[object], bool]] = {
    "name": lambda value: isinstance(value, str),
    "synchronized": lambda value: isinstance(value, bool),
    "coupled": lambda value: isinstance(value, bool),
    "async": lambda value: isinstance(value, bool),
    "barrier": lambda value: isinstance(value, bool),
    "scheduling_point": lambda value: isinstance(value, bool),
    "evolving_request": lambda value: isinstance(value, str),
}


_Made = TypeVar("_Made")


class _Kind(NamedTuple):
    """A type of task in the file: its class, the names of its fields, a required field, implied values."""

    make: Callable[..., tasks.Task]
    fields: Mapping[str, str]
    needed: str | None = None
    says: Mapping[str, object] = {}


# Fields that require another field.
_OF = {"computation_pattern": "flops", "communication_pattern": "bytes"}
_BURST = {"storage": "burst_buffer"}
_CACHE = {"storage": "cache"}
KINDS: Mapping[str, _Kind] = {
    "cpu": _Kind(tasks.Compute, {**_WORK, "coupled": "coupled"}),
    "gpu": _Kind(tasks.Gpu, _WORK),
    "pfs_read": _Kind(tasks.Read, _TRANSFER, "bytes"),
    "pfs_write": _Kind(tasks.Write, _TRANSFER, "bytes"),
    "bb_read": _Kind(tasks.Read, _TRANSFER, "bytes", _BURST),
    "bb_write": _Kind(tasks.Write, _TRANSFER, "bytes", _BURST),
    "cache_read": _Kind(tasks.Read, _TRANSFER, "bytes", _CACHE),
    "cache_write": _Kind(tasks.Write, _TRANSFER, "bytes", _CACHE),
    "idle": _Kind(tasks.Idle, _WAIT, "delay"),
    "busy_wait": _Kind(tasks.BusyWait, _WAIT, "delay"),
    "delay": _Kind(tasks.Delay, {"delay": "seconds"}, "delay"),
    "sequence": _Kind(tasks.Sequence, {"tasks": "tasks"}),
}


@checked(ApplicationError)
def read_application(
    path: str | os.PathLike[str], *, lenient: bool = False, unknown: list[str] | None = None
) -> Application:
    """Read an application in ElastiSim's JSON format.

    Parameters
    ----------
    path
        The file; docs/applications.md describes the format.
    lenient
        Read as ElastiSim does: ignore what it ignores, such as unknown fields, or iterations that are neither
        whole numbers nor texts. By default these are errors; duplicate keys are always errors.
    unknown
        Collects the paths of ignored keys, as ``phases[0].tasks[1].priority``.

    Returns
    -------
    Application
        The application.

    Raises
    ------
    ApplicationError
        If the file cannot be read, is not JSON, or describes no application; the message has the file, the
        path in it, the value and the rule.
    """
    file = os.fspath(path)
    try:
        application = application_of(_document(file), lenient=lenient, unknown=unknown)
        return remember_source(application, file)
    except ApplicationError as error:
        raise _DOCUMENTS.named(file, error) from None


def application_of(
    document: object, *, lenient: bool = False, unknown: list[str] | None = None
) -> Application:
    """Create an application from a parsed JSON document.

    Parameters
    ----------
    document
        Mappings, lists, texts and numbers.
    lenient, unknown
        As for :func:`read_application`.

    Returns
    -------
    Application
        The application.

    Raises
    ------
    ApplicationError
        If the document describes no application.
    """
    try:
        return _Reader(lenient=lenient, unknown=unknown).application(document)
    except RecursionError:
        raise ApplicationError("is nested too deeply; no application needs that.") from None


class _Reader:
    """Converts a document recursively; `where` is the path of the current part."""

    def __init__(self, *, lenient: bool, unknown: list[str] | None) -> None:
        self.lenient = lenient
        self.unknown = [] if unknown is None else unknown

    def application(self, document: object) -> Application:
        parts = self.opened(document, "", _PARTS)
        if "phases" not in parts:
            raise ApplicationError("phases is missing; must be a list of phases.")
        stages: dict[str, Any] = {
            name: self.stage(parts[name], name) for name in _PARTS[:3] if parts.get(name) is not None
        }
        phases = [self.phase(each, where) for each, where in self.entries(parts["phases"], "phases")]
        return Application(phases=tuple(phases), **stages)

    def stage(self, document: object, where: str) -> Stage:
        parts = self.opened(document, where, _STAGE)
        if self.lenient and not _is_unsigned(parts.get("iterations")):
            parts.pop("iterations", None)
        return self.made(Stage, where, {**parts, "tasks": self.tasks_of(parts, where)})

    def phase(self, document: object, where: str) -> Phase:
        parts = self.opened(document, where, _PHASE)
        return self.made(Phase, where, {**parts, "tasks": self.tasks_of(parts, where)})

    def tasks_of(self, parts: Mapping[str, object], where: str) -> tuple[tasks.Task, ...]:
        if parts.get("tasks") is None and self.lenient:
            return ()
        return tuple(
            self.task(each, path) for each, path in self.entries(parts.get("tasks"), f"{where}.tasks")
        )

    def task(self, document: object, where: str) -> tasks.Task:
        parts = self.opened(document, where)
        kind = self.kind(parts.pop("type", None), where)
        parts = self.known(parts, where, (*_COMMON, *kind.fields))
        if kind.make is tasks.Sequence:
            parts["tasks"] = self.tasks_of(parts, where)
        if kind.needed is not None and parts.get(kind.needed) is None:
            raise ApplicationError(f"{where}.{kind.needed} is missing; such a task needs it.")
        if self.lenient:
            parts = {
                name: value for name, value in parts.items() if parts.get(_OF.get(name, name)) is not None
            }
        if "pattern" in kind.fields and "pattern" not in parts:
            raise ApplicationError(
                f"{where}.pattern is missing; must say how the amount is spread, as 'uniform'."
            )
        return self.made(kind.make, where, parts, {**_COMMON, **kind.fields}, kind.says)

    def kind(self, name: object, where: str) -> _Kind:
        known = KINDS.get(name.lower()) if isinstance(name, str) else None
        if known is None:
            said = "is missing" if name is None else f"= {shown(name)}"
            near = suggest(name if isinstance(name, str) else "", KINDS)
            raise ApplicationError(f"{where}.type {said}; must be a type of task.{near}")
        return known

    def made(
        self,
        make: Callable[..., _Made],
        where: str,
        parts: Mapping[str, object],
        names: Mapping[str, str] | None = None,
        says: Mapping[str, object] | None = None,
    ) -> _Made:
        """Create an object from the fields of a document, renamed by `names`."""
        called = names or {}
        fields = {called.get(name, name): value for name, value in parts.items() if value is not None}
        try:
            return make(**fields, **(says or {}))
        except ApplicationError as error:
            raise ApplicationError(f"{where}{_placed(str(error), called, fields)}") from None

    def opened(self, document: object, where: str, known: Collection[str] | None = None) -> dict[str, object]:
        if not isinstance(document, Mapping):
            raise ApplicationError(
                f"{where or 'the document'} = {shown(document)}; must be an object, {{…}}."
            )
        return self.known(dict(document), where, known) if known is not None else dict(document)

    def known(self, parts: dict[str, object], where: str, known: Collection[str]) -> dict[str, object]:
        """Drop unknown fields if lenient, otherwise raise for them."""
        if self.lenient:
            self.unknown += [f"{where}.{name}" if where else name for name in parts if name not in known]
            return {name: value for name, value in parts.items() if name in known and _is_taken(name, value)}
        for name in parts:
            if name not in known:
                path = f"{where}.{name}" if where else name
                raise ApplicationError(f"{path} is not known here.{suggest(name, known)}")
        return parts

    def entries(self, document: object, where: str) -> list[tuple[object, str]]:
        if not isinstance(document, list | tuple):
            said = "is missing" if document is None else f"= {shown(document)}"
            raise ApplicationError(f"{where} {said}; must be a list, […].")
        return [(each, f"{where}[{index}]") for index, each in enumerate(document)]


def _placed(message: str, called: Mapping[str, str], fields: Collection[str]) -> str:
    """Replace the field name at the beginning of a message by the document's name, preceded by a dot."""
    for there, here in [*called.items(), *((name, name) for name in fields)]:
        if message.startswith((f"{here} ", f"{here}[")):
            return f".{there}{message[len(here) :]}"
    return f": {message}"


def _is_taken(name: str, value: object) -> bool:
    """Return whether ElastiSim uses a value of a field; it ignores other values."""
    if name == "iterations":
        return isinstance(value, str) or _is_unsigned(value)
    return name not in _LENIENT or _LENIENT[name](value)


def _is_unsigned(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _document(file: str) -> object:
    """Read and parse a file."""
    return _DOCUMENTS.json(_DOCUMENTS.text(_DOCUMENTS.content(file)))


_TYPES = {
    ("read", "parallel_file_system"): "pfs_read",
    ("write", "parallel_file_system"): "pfs_write",
    ("read", "burst_buffer"): "bb_read",
    ("write", "burst_buffer"): "bb_write",
    ("read", "cache"): "cache_read",
    ("write", "cache"): "cache_write",
}
_EXACT = 2**53


@checked(ApplicationError)
def write_application(
    application: Application, path: str | os.PathLike[str], *, overwrite: bool = False
) -> None:
    """Write an application in ElastiSim's JSON format; `read_application` restores an equal application.

    The file is replaced atomically.

    Parameters
    ----------
    application
        The application. A :class:`batchlab.tasks.Delay` is written as a task of type ``delay``, and transfers
        through a cache as ``cache_read`` and ``cache_write``; ElastiSim does not know these types.
    path
        The output file.
    overwrite
        Whether to replace a file that batchlab did not write. The input of the application is never replaced.

    Raises
    ------
    OutputError
        If the file is the source of the application, or batchlab did not write it.
    ApplicationError
        If the application has a skeleton: a function cannot be stored in a file.
    OSError
        If the file cannot be written.
    """
    if has_skeletons(application):
        rule = "a file cannot hold a skeleton, which is a function of Python; keep the script that makes it"
        raise ApplicationError(f"{os.fspath(path)}: {rule}.")
    with output(path, inputs=source_of(application), overwrite=overwrite) as file:
        json.dump(document_of(application), file, indent=2, ensure_ascii=False)
        file.write("\n")


def document_of(application: Application) -> dict[str, object]:
    """Convert an application to a document of mappings, lists, texts and numbers.

    Parameters
    ----------
    application
        The application.

    Returns
    -------
    dict
        The argument from which `application_of` creates an equal application; of a skeleton it only contains
        a digest.
    """
    stages = {
        "on_init": application.on_init,
        "on_reconfiguration": application.on_reconfiguration,
        "on_expansion": application.on_expansion,
    }
    once = {name: _stage(stage) for name, stage in stages.items() if stage is not None}
    return {**once, "phases": [_phase(phase) for phase in application.phases]}


def has_skeletons(application: Application) -> bool:
    """Return whether any task is a skeleton."""
    stages = (application.on_init, application.on_reconfiguration, application.on_expansion)
    parts: list[Phase | Stage] = [*application.phases, *(stage for stage in stages if stage is not None)]
    return any(_holds_skeleton(task) for part in parts for task in part.tasks)


def _holds_skeleton(task: tasks.Task) -> bool:
    inner = task.tasks if isinstance(task, tasks.Sequence) else ()
    return task.kind == "skeleton" or any(map(_holds_skeleton, inner))


def _stage(stage: Stage) -> dict[str, object]:
    return {"iterations": _value(stage.iterations), "tasks": [_task(task) for task in stage.tasks]}


def _phase(phase: Phase) -> dict[str, object]:
    request = {} if phase.evolving_request is None else {"evolving_request": _value(phase.evolving_request)}
    return {
        "iterations": _value(phase.iterations),
        "scheduling_point": phase.scheduling_point,
        **request,
        "barrier": phase.barrier,
        "tasks": [_task(task) for task in phase.tasks],
    }


def _task(task: tasks.Task) -> dict[str, object]:
    name = {"name": task.name} if task.name else {}
    common = {"iterations": _value(task.iterations), "synchronized": task.synchronized}
    return {"type": _type(task), **name, **_own(task), **common}


def _type(task: tasks.Task) -> str:
    if isinstance(task, tasks.Delay):
        return "delay"
    if isinstance(task, tasks.Read | tasks.Write):
        return _TYPES[task.kind, task.storage]
    return "cpu" if task.kind == "compute" else task.kind


def _own(task: tasks.Task) -> dict[str, object]:  # noqa: PLR0911  # a line for each type
    """Return the fields specific to the type of task."""
    # Identifies skeletons, whose package this one does not import.
    identity: dict[str, object] | None = getattr(task, "identity", None)
    match task:
        case tasks.Compute():
            return {**_work(task), "coupled": task.coupled}
        case tasks.Gpu():
            return _work(task)
        case tasks.Read() | tasks.Write():
            return {"bytes": _value(task.bytes), "pattern": task.pattern, "async": task.asynchronous}
        case tasks.Delay():
            return {"delay": _value(task.seconds)}
        case tasks.Idle():
            return {"delay": _value(task.seconds), "pattern": task.pattern}
        case tasks.Sequence():
            return {"tasks": [_task(each) for each in task.tasks]}
        case _ if identity is not None:
            return identity
    raise TypeError(type(task).__name__)


def _work(task: tasks.Compute | tasks.Gpu) -> dict[str, object]:
    names = ("flops", "computation_pattern", "bytes", "communication_pattern")
    return {name: _value(getattr(task, name)) for name in names if getattr(task, name) is not None}


def _value(value: object) -> object:
    """Return whole numbers without a fraction, as ElastiSim requires for iterations."""
    if isinstance(value, tuple):
        return [_value(each) for each in value]
    if isinstance(value, Formula):
        return value.text if value.number is None else _value(value.number)
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    return value
