"""Write applications to files in ElastiSim's JSON format."""

import json
import os

from batchlab._kernel import Formula
from batchlab.application import tasks
from batchlab.application.application import Application, Phase, Stage
from batchlab.core.outputs import output, source_of
from batchlab.errors import ApplicationError

__all__ = ["document_of", "has_skeletons", "write_application"]

_TYPES = {
    ("read", "parallel_file_system"): "pfs_read",
    ("write", "parallel_file_system"): "pfs_write",
    ("read", "burst_buffer"): "bb_read",
    ("write", "burst_buffer"): "bb_write",
    ("read", "cache"): "cache_read",
    ("write", "cache"): "cache_write",
}
_EXACT = 2**53


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
        The argument from which :func:`batchlab.application.read.application_of` creates an equal application;
        of a skeleton it only contains a digest.
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
