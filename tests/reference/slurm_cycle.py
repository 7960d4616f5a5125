"""A cycle of backfill that is under way, in plain Python (S25, 8)."""

from dataclasses import dataclass

from reference.slurm import Backfill, Waiting
from reference.slurm_jobs import SlurmJob

__all__ = ["Cycle"]


@dataclass
class Cycle:
    """A cycle of backfill under way: its call, and the entries that it has not looked at."""

    begin: float
    call: Backfill
    left: list[tuple[SlurmJob, int, Waiting]]
    number: int
    """Counted with the calls of the main loop."""
    is_disturbed: bool = False
    """Whether something has changed since its latest part, other than what that decided."""
    has_changed: bool = False
    """Whether anything has changed since its begin."""
    has_paused: bool = False
