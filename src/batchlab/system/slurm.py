"""The systems of Slurm's files, of `batchlab.slurm`, under their first names, which programs use.

The names are attached lazily, since the room ``slurm`` stands to the right of this one: it runs simulations.
"""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
