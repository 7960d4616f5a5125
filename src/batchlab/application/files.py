"""Read and write applications as JSON, ElastiSim's format included.

ElastiSim substitutes arguments as text into the formulas, in alphabetical order, before it evaluates these;
in batchlab they are values. For ElastiSim projects, the same happens here wherever the results differ
(docs/applications.md lists the differences).
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from operator import is_
from types import UnionType
from typing import Any

from batchlab._kernel import Formula
from batchlab.application import tasks
from batchlab.application.application import Application, Phase, Stage
from batchlab.core.arguments import checked
from batchlab.core.documents import DocumentReader
from batchlab.core.form import Form, Reader, Table, keys_of
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.errors import ApplicationError, shown, suggest

__all__ = [
    "application_of",
    "as_elastisim",
    "document_of",
    "has_skeletons",
    "read_application",
    "write_application",
]

_NAME = re.compile(r"[A-Za-z_]\w*")
_UNSIGNED = re.compile(r"[0-9]+(\.[0-9]+)?")


def as_elastisim(
    application: Application, arguments: Mapping[str, object], *, rigid: bool
) -> tuple[Application, dict[str, float | str]]:
    """Return an application and arguments with the same meaning as in ElastiSim.

    Floats are rounded to six decimals, as are numbers in the models of jobs that are not rigid. Arguments
    that are texts, negative, or not named like identifiers are substituted as text: ``k^2`` with k = -2
    becomes ``-2^2``.

    Parameters
    ----------
    application
        The application, as from :func:`batchlab.read_application`.
    arguments
        The job's arguments: whole numbers, floats and texts.
    rigid
        Whether the job is rigid.

    Returns
    -------
    application, arguments
        The application, unchanged if possible, and the remaining arguments.

    Raises
    ------
    ApplicationError
        If an argument has another type, or a formula is invalid after substitution.
    """
    texts = {name: _text(name, value) for name, value in sorted(arguments.items())}
    values = {
        name: float(text)
        for name, text in texts.items()
        if _NAME.fullmatch(name) and _UNSIGNED.fullmatch(text)
    }
    written = {name: text for name, text in texts.items() if name not in values}
    changed: Application = _with_formulas(application, lambda each: _changed(each, written, rigid=rigid))
    return changed, dict(values)


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.6f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ApplicationError(f"arguments.{name} = {shown(value)}; must be a number or a text.")


def _changed(formula: Formula, written: Mapping[str, str], *, rigid: bool) -> Formula:
    if formula.number is not None:
        rounded = float(f"{formula.number:.6f}")
        return formula if rigid or rounded == formula.number else Formula(rounded)
    text = formula.text
    for name, value in written.items():
        text = re.sub(rf"(?<![A-Za-z_]){re.escape(name)}(?!\w)", value.replace("\\", r"\\"), text)
    return formula if text == formula.text else Formula(text)


def _with_formulas(part: Any, change: Callable[[Formula], Formula]) -> Any:  # noqa: ANN401  # parts of one kind
    """Return a part of an application with changed formulas, or the part itself without changes."""
    if isinstance(part, Formula):
        return change(part)
    if isinstance(part, tuple):
        entries = tuple(_with_formulas(entry, change) for entry in part)
        return part if all(map(is_, entries, part)) else entries
    if not is_dataclass(part) or isinstance(part, type):
        return part
    old = {each.name: getattr(part, each.name) for each in fields(part) if each.init}
    new = {name: _with_formulas(value, change) for name, value in old.items()}
    return part if all(new[name] is value for name, value in old.items()) else type(part)(**new)


_DOCUMENTS = DocumentReader(ApplicationError, "application", most=64, numbers="amounts go up to 1e308")
_ADVICE = {
    "phases": "must be a list of phases",
    "tasks": "must be a list of tasks",
    "bytes": "such a task needs it",
    "delay": "such a task needs it",
}
# Values that ElastiSim accepts for these keys; it ignores other values.
_LENIENT: Mapping[str, type | UnionType] = {
    "name": str,
    "synchronized": bool,
    "coupled": bool,
    "async": bool,
    "barrier": bool,
    "scheduling_point": bool,
    "evolving_request": str,
}
# Keys that require another key.
_OF = {"computation_pattern": "flops", "communication_pattern": "bytes"}
_BURST = {"storage": "burst_buffer"}
_CACHE = {"storage": "cache"}
_FILES = {"storage": "parallel_file_system"}
_KINDS: Mapping[str, tuple[type, Mapping[str, object]]] = {
    "cpu": (tasks.Compute, {}),
    "gpu": (tasks.Gpu, {}),
    "pfs_read": (tasks.Read, _FILES),
    "pfs_write": (tasks.Write, _FILES),
    "bb_read": (tasks.Read, _BURST),
    "bb_write": (tasks.Write, _BURST),
    "cache_read": (tasks.Read, _CACHE),
    "cache_write": (tasks.Write, _CACHE),
    "idle": (tasks.Idle, {}),
    "busy_wait": (tasks.BusyWait, {}),
    "delay": (tasks.Delay, {}),
    "sequence": (tasks.Sequence, {}),
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
    forms: Mapping[type, Form] = {
        kind: partial(_part, kind, lenient=lenient) for kind in (Application, Stage, Phase)
    }
    reader = Reader(
        ApplicationError,
        "an application",
        advice=_ADVICE,
        forms={**forms, tasks.Task: partial(_task_form, lenient=lenient)},
        ignored=([] if unknown is None else unknown) if lenient else None,
        is_toml=False,
    )
    try:
        return reader.build(Application, document)
    except RecursionError:
        raise ApplicationError("is nested too deeply; no application needs that.") from None


def _part(kind: type, table: dict[str, object], *, lenient: bool) -> tuple[type, Table, Table]:
    """Drop the values that mean the same as a missing key; if lenient, also those that ElastiSim ignores."""
    known = keys_of(kind)
    taken = {
        key: value
        for key, value in table.items()
        if key not in known or (value is not None and not (lenient and _is_ignored(kind, key, value)))
    }
    if lenient and "tasks" in known:
        taken.setdefault("tasks", [])
    return kind, taken, {}


def _task_form(table: dict[str, object], *, lenient: bool) -> tuple[type, Table, Table]:
    """Return the class of a task by its type, its keys, and the values that the type implies."""
    name = table.pop("type", None)
    kind, implied = _KINDS.get(name.lower() if isinstance(name, str) else "", (None, {}))
    if kind is None:
        value = "is missing" if name is None else f"= {shown(name)}"
        near = suggest(name if isinstance(name, str) else "", _KINDS)
        raise ApplicationError(f"type {value}; must be a type of task.{near}")
    _, taken, _ = _part(kind, table, lenient=lenient)
    if "pattern" in keys_of(kind) and "pattern" not in table:
        raise ApplicationError("pattern is missing; must say how the amount is spread, as 'uniform'.")
    if lenient:
        taken = {key: value for key, value in taken.items() if _OF.get(key, key) in taken}
    return kind, taken, implied


def _is_ignored(kind: type, key: str, value: object) -> bool:
    """Return whether ElastiSim ignores a value of a key."""
    if key == "iterations":
        return not _is_unsigned(value) and (kind is Stage or not isinstance(value, str))
    return key in _LENIENT and not isinstance(value, _LENIENT[key])


def _is_unsigned(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _document(file: str) -> object:
    """Read and parse a file."""
    return _DOCUMENTS.json(_DOCUMENTS.text(_DOCUMENTS.content(file)))


_TYPES = {(kind, implied.get("storage")): name for name, (kind, implied) in _KINDS.items()}
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
    # Identifies skeletons, whose package this one does not import.
    identity: dict[str, object] | None = getattr(task, "identity", None)
    if identity is not None:
        return {"type": task.kind, **name, **identity, **common}
    kind: type = type(task)
    own = {
        key: _value(getattr(task, field.name))
        for key, field in keys_of(kind).items()
        if key not in {"name", "storage", *common} and getattr(task, field.name) is not None
    }
    return {"type": _TYPES[kind, getattr(task, "storage", None)], **name, **own, **common}


def _value(value: object) -> object:
    """Return whole numbers without a fraction, as ElastiSim requires for iterations."""
    if isinstance(value, tuple):
        return [_task(each) if isinstance(each, tasks.Task) else _value(each) for each in value]
    if isinstance(value, Formula):
        return value.text if value.number is None else _value(value.number)
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    return value
