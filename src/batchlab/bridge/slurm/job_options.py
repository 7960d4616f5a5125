"""What is handed on to Slurm of a table of jobs: options of ``sbatch``, places in arrays, and what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["ArrayTask", "HandedOn"]


class ArrayTask(NamedTuple):
    """A task of a job array.

    Attributes
    ----------
    array, place
        The number of the array, and the index of the task.
    most
        How many of its tasks may run at once; None for all.
    is_whole
        True if the array is submitted as one. Otherwise its tasks are jobs of their own.
    """

    array: int
    place: int
    most: int | None
    is_whole: bool = True


@dataclass
class HandedOn:
    """Options of ``sbatch`` for the rows of a table of jobs.

    Attributes
    ----------
    options
        The options of ``sbatch``.
    columns
        Values for a model of the cluster by the name of the column; None for jobs without one.
    left
        What is not handed on, with the reason.
    tasks
        The places of tasks of arrays; None for other jobs. Empty without arrays.
    """

    options: list[list[str]]
    columns: dict[str, list[object]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    tasks: list[ArrayTask | None] = field(default_factory=list)

    def tell(self, name: str, values: Iterable[object], options: Iterable[Sequence[str]] = ()) -> None:
        """Add a column, and options for each job or for none."""
        self.columns[name] = list(values)
        for row, more in zip(self.options, options, strict=False):
            row.extend(more)

    def leave(self, name: str, count: int, reason: str) -> None:
        """Add a column that is not handed on, with the number of its jobs; nothing if there are none."""
        if count:
            self.left.append(f"{name} of {count:,} {'job' if count == 1 else 'jobs'} ({reason})")
