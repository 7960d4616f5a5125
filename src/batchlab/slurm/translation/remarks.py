"""Remarks on differences between a system and its Slurm configuration, collected while it is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.slurm import Remark

if TYPE_CHECKING:
    from batchlab.slurm import Place

__all__ = ["Remarks"]


@dataclass
class Remarks:
    """Collected remarks, without duplicates."""

    found: dict[Remark, None] = field(default_factory=dict)

    def add(self, key: str, table: str, says: str, place: Place | None = None) -> None:
        """Add a remark on a key."""
        self.found[Remark(key, table, says, place)] = None
