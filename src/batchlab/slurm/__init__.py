"""A twin of Slurm: what its controller decides."""

from batchlab.slurm.controller import (
    Allotment,
    Controller,
    Entry,
    Held,
    NodePartition,
    Outcome,
    Situation,
)

__all__ = ["Allotment", "Controller", "Entry", "Held", "NodePartition", "Outcome", "Situation"]
