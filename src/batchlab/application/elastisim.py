"""ElastiSim's semantics of arguments: textual substitution in formulas.

Arguments in batchlab are values. ElastiSim substitutes them as text into the formulas, in alphabetical order,
before it evaluates these (docs/applications.md lists the differences). For ElastiSim projects, this module
does the same wherever the results differ.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from operator import is_
from typing import Any

from batchlab._kernel import Formula
from batchlab.application.application import Application
from batchlab.errors import ApplicationError, shown

__all__ = ["as_elastisim"]

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
