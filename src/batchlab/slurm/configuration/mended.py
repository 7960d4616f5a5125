"""Corrections that Slurm makes with a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from batchlab.slurm.configuration.place import Place

__all__ = ["Mended"]


@dataclass(frozen=True)
class Mended:
    """A correction that Slurm makes with a message, and its position."""

    place: Place
    says: str
