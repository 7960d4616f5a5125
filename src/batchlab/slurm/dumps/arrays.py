"""The indices of the tasks of job arrays: ``1-99%5``, ``3,5,9-13:2``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab.slurm.dumps.source import Place

__all__ = ["array_tasks"]

_MOST_TASKS = 4_000_001
"""Slurm's greatest MaxArraySize."""
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7})(?::(\d{1,7}))?)?")


def array_tasks(text: str, place: Place, field: str) -> tuple[tuple[int, ...], int | None]:
    """Parse the tasks of an array.

    Parameters
    ----------
    text
        Indices and ranges, and perhaps the greatest number of running tasks, with or without brackets.
    place, field
        Their place, for errors.

    Returns
    -------
    tuple
        The indices in rising order, and the greatest number of running tasks; None without one.

    Raises
    ------
    DumpError
        If the text is invalid, or was cut off: ``1-5,7,...``.
    """
    if "..." in text:
        place.refuse(field, text, "is cut off; set SLURM_BITSTR_LEN=0 in the environment of the command")
    tasks, sign, most = text.strip().removeprefix("[").removesuffix("]").partition("%")
    rule = "must be tasks of an array, as 1-99%5"
    found: set[int] = set()
    for part in tasks.removesuffix("]").split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            place.refuse(field, text, rule)
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or last >= _MOST_TASKS:
            place.refuse(field, text, rule)
        found.update(range(first, last + 1, step))
    if sign and not re.fullmatch(r"\d{1,7}", most):
        place.refuse(field, text, rule)
    return tuple(sorted(found)), int(most) or None if sign else None
