"""Where in the files something stands, for reports and errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from batchlab.documents import shown_path
from batchlab.errors import SystemDescriptionError

__all__ = ["Place", "refuse"]


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; the line at which it begins, where it goes over several."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown_path(self.file)}:{self.line}"


def refuse(place: Place, rule: str) -> NoReturn:
    """Refuse what stands at a place."""
    raise SystemDescriptionError(f"{place}: {rule}")
