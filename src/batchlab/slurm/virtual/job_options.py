"""The sbatch options and array indices for a table of jobs, and the requests that are not passed on."""

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
        Maximum number of its tasks that run at once; None for all.
    is_whole
        True if the array is submitted as one. Otherwise its tasks are separate jobs.
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
        The options of ``sbatch``, per row.
    columns
        Columns for a model of the cluster, by name; None for jobs without a value.
    left
        The requests that are not passed on, with the reason.
    tasks
        The array tasks of rows; None for other jobs. Empty without arrays.
    """

    options: list[list[str]]
    columns: dict[str, list[object]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    tasks: list[ArrayTask | None] = field(default_factory=list)

    def add(self, name: str, values: Iterable[object], options: Iterable[Sequence[str]] = ()) -> None:
        """Add a column, and optionally sbatch options per job."""
        self.columns[name] = list(values)
        for row, more in zip(self.options, options, strict=False):
            row.extend(more)

    def leave(self, name: str, count: int, reason: str) -> None:
        """Record that a column of `count` jobs is not passed on; nothing for 0 jobs."""
        if count:
            self.left.append(f"{name} of {count:,} {'job' if count == 1 else 'jobs'} ({reason})")
