"""Positions in files, for reports and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from batchlab.core.documents import shown_path
from batchlab.errors import SystemDescriptionError

__all__ = ["Place", "refuse"]


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; for several lines, the first."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown_path(self.file)}:{self.line}"


def refuse(place: Place, rule: str) -> NoReturn:
    """Raise an error for a position."""
    raise SystemDescriptionError(f"{place}: {rule}")
