"""How applications are spelled in texts: ``stencil_3d(size=512), tasks=64``."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from batchlab.errors import ApplicationError, WorkloadError, shown, suggest
from batchlab.skeleton.applications.registry import APPLICATIONS, arguments_of
from batchlab.units import is_finite

__all__ = ["Spelled", "columns_of", "spelled", "weighted"]

_FORM = re.compile(r"\s*(?P<name>\w+)\s*(\((?P<arguments>[^()]*)\))?\s*(,(?P<columns>.*))?", re.DOTALL)
_EXAMPLE = "'stencil_3d(size=512, iterations=10)'"


class Spelled(NamedTuple):
    """A built-in skeleton: what the columns ``app_name`` and ``app_args`` have."""

    name: str
    arguments: str | None


def spelled(text: object) -> Spelled:
    """Read ``NAME`` or ``NAME(arguments)``.

    Raises
    ------
    WorkloadError
        If it is spelled otherwise, or there is no such skeleton. Whether the arguments are its own is seen
        when it is made, on as many ranks as the job has.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None or found["columns"] is not None:
        raise WorkloadError(f"application = {shown(text)}; must be a name and its arguments, as {_EXAMPLE}.")
    name, arguments = found["name"], (found["arguments"] or "").strip() or None
    if name not in APPLICATIONS:
        raise WorkloadError(
            f"application = {shown(text)}: no skeleton is called {shown(name)}.{suggest(name, APPLICATIONS)}"
        )
    try:
        arguments_of(arguments)
    except ApplicationError as error:
        raise WorkloadError(f"application = {shown(text)}: {error}") from None
    return Spelled(name, arguments)


def columns_of(text: object, what: str) -> tuple[str, dict[str, object]]:
    """Read ``APPLICATION, column=value, …``: the application's text, and the columns.

    Raises
    ------
    WorkloadError
        If it is spelled otherwise.
    """
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise WorkloadError(
            f"{what} {shown(text)}; must be an application and columns, as {_EXAMPLE}, tasks=64."
        )
    end = found.end("columns") - len(found["columns"]) - 1 if found["columns"] is not None else found.end()
    columns: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in (found["columns"] or "").split(","))):
        name, equals, value = (each.strip() for each in part.partition("="))
        if not (name and equals and value) or name in columns:
            raise WorkloadError(
                f"{what} {shown(text)}: {shown(part)}; must be a column and its value, once each."
            )
        columns[name] = _value(value)
    return str(text)[:end].strip(), columns


def weighted(applications: Mapping[str, float] | Sequence[str]) -> list[tuple[Spelled, float]]:
    """Give applications with their weights, all of which are positive."""
    if isinstance(applications, str) or not isinstance(applications, Mapping | Sequence):
        raise WorkloadError(
            f"background = {shown(applications)}; must be a list of applications, or a mapping to weights."
        )
    pairs = (
        applications.items() if isinstance(applications, Mapping) else ((each, 1) for each in applications)
    )
    chosen = [(spelled(text), weight) for text, weight in pairs]
    for each, weight in chosen:
        if not (is_finite(weight) and weight > 0):
            raise WorkloadError(f"background: the weight of {each.name} is {shown(weight)}; must be > 0.")
    return [(each, float(weight)) for each, weight in chosen]


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
