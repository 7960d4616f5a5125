"""Translate dependencies to Slurm's job numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import ClusterError
from batchlab.workload import dependencies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.slurm.virtual.submission import Submission
    from batchlab.workload.dependencies import Target

__all__ = ["Submitted"]

_AFTER_SUCCESS = "afterok"


class Submitted:
    """The submitted jobs, by their numbers in the workload."""

    def __init__(self) -> None:
        # None for jobs that sbatch rejected.
        self._jobs: dict[int, str | None] = {}
        self._arrays: dict[int, list[str | None]] = {}
        self._tasks: dict[tuple[int, int], str | None] = {}

    def add(self, jobs: Sequence[Submission], number: int | None) -> None:
        """Add a job, or all tasks of an array, with Slurm's number; None if sbatch rejected it."""
        own = None if number is None else str(number)
        for job in jobs:
            self._jobs[job.job_id] = own
            if job.array is None:
                continue
            task = f"{own}_{job.array.place}" if own is not None and job.array.is_whole else own
            self._tasks[job.array.array, job.array.place] = self._jobs[job.job_id] = task
            members = self._arrays.setdefault(job.array.array, [])
            members += [own] if own not in members or own is None else []

    def name_of(self, job: Submission) -> str | None:
        """Return Slurm's name of a job, ``12`` or ``12_3``; None if sbatch rejected it."""
        return self._jobs[job.job_id]

    def option(self, job: Submission) -> list[str]:
        """Return the sbatch option for the dependency of a job; empty if it holds already.

        Raises
        ------
        ClusterError
            If it can never start because sbatch rejected a job that must complete before it.
        """
        dependency = dependencies.parse_dependency(job.dependency) if job.dependency else None
        if dependency is None:
            return []
        terms: list[tuple[str, Sequence[Target]]]
        terms = [(term.kind, term.targets) for term in dependency.terms]
        if dependency.is_any:
            terms = [(kind, [target]) for kind, targets in terms for target in targets]
        known = [(kind, self._names(targets)) for kind, targets in terms]
        written = [_written(kind, names) for kind, names in known if names or kind == dependencies.SINGLETON]
        failed = [text is None for text in written]
        if written and (all(failed) if dependency.is_any else any(failed)):
            raise ClusterError(f"virtual nodes: it depends on a job that sbatch refused ({job.dependency}).")
        if dependency.is_any and "" in written:
            # One alternative holds already.
            return []
        sign = dependencies.ANY if dependency.is_any else dependencies.ALL
        text = sign.join(filter(None, written))
        return [f"--dependency={text}"] if text else []

    def _names(self, targets: Sequence[Target]) -> list[tuple[str | None, int]]:
        """Return Slurm's names and delays in minutes of targets; jobs that were not submitted are omitted."""
        found: list[tuple[str | None, int]] = []
        for target in targets:
            names: list[str | None] = []
            if target.task is not None:
                names = [self._tasks[key] for key in [(target.job, target.task)] if key in self._tasks]
            elif target.job in self._arrays:
                names = self._arrays[target.job]
            elif target.job in self._jobs:
                names = [self._jobs[target.job]]
            found += [(name, target.minutes) for name in names]
        return found


def _written(kind: str, names: Sequence[tuple[str | None, int]]) -> str | None:
    """Format a term; empty if it holds because sbatch rejected its jobs, None if it can never hold."""
    if kind == dependencies.SINGLETON:
        return kind
    accepted = [f"{name}+{minutes}" if minutes else name for name, minutes in names if name is not None]
    if len(accepted) < len(names) and kind == _AFTER_SUCCESS:
        return None
    return ":".join([kind, *accepted]) if accepted else ""
