"""Dependencies between jobs: the columns ``depends_on`` and ``dependency`` as one graph."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload import dependency_text
from batchlab.workload.attribute_columns import attribute_in, columns_of
from batchlab.workload.dependencies import DEPENDS_ON
from batchlab.workload.dependency_column import DEPENDENCY, tasks_in
from batchlab.workload.dependency_text import Dependency, Target

__all__: list[str] = []

USERS = columns_of("user")
JOB_NAME = "job_name"
_MOST_SHOWN = 5
_MINUTE = 60.0

Need = tuple[int, str, float]


class Graph(NamedTuple):
    """The dependencies of jobs. A subject is a row, or the number of rows plus the index of a group.

    ``clauses`` holds pairs of a row and its needs (subject, kind, delay in seconds); a row with several
    clauses waits until one of them holds. ``groups`` holds the members of each group, which are subjects too.
    """

    rows: int
    clauses: list[tuple[int, list[Need]]]
    groups: list[list[int]]


def graph(jobs: pl.DataFrame) -> Graph | None:
    """Return the graph of a checked table; None if no job depends on another.

    Raises
    ------
    WorkloadError
        If a job depends on ``singleton``, and the table has no columns for user and job name.
    """
    columns = [name for name in (DEPENDS_ON, DEPENDENCY) if name in jobs.columns]
    if not columns:
        return None
    nothing = [None] * len(jobs)
    depends_on = jobs[DEPENDS_ON].to_list() if DEPENDS_ON in columns else nothing
    texts = jobs[DEPENDENCY].to_list() if DEPENDENCY in columns else nothing
    maker = _Maker(jobs)
    clauses: list[tuple[int, list[Need]]] = []
    for row, (others, text) in enumerate(zip(depends_on, texts, strict=True)):
        if others or text:
            always = [(maker.subject(Target(other, None, 0)), "afterok", 0.0) for other in others or ()]
            dependency = dependency_text.parse(text) if text else None
            clauses += [(row, needs) for needs in maker.clauses(row, always, dependency)]
    return Graph(len(jobs), clauses, maker.groups) if clauses else None


class _Maker:
    """Resolves the targets of dependencies to subjects, and creates groups."""

    def __init__(self, jobs: pl.DataFrame) -> None:
        self.jobs = jobs
        self.groups: list[list[int]] = []
        self._rows = {job: row for row, job in enumerate(jobs["job_id"].to_list())}
        self._tasks = tasks_in(jobs)
        self._members: dict[int, list[int]] = {}
        for (array, _), row in self._tasks.items():
            self._members.setdefault(array, []).append(row)
        self._arrays: dict[int, int] = {}
        self._earlier: list[int | None] | None = None

    def clauses(self, row: int, always: list[Need], dependency: Dependency | None) -> list[list[Need]]:
        """Return alternative lists of needs, of which one must hold; empty if the job need not wait."""
        needs = [self._needs(row, term) for term in dependency.terms] if dependency else []
        flat = [need for term in needs for need in term]
        if dependency is None or not dependency.is_any:
            made = [[*always, *flat]]
        elif all(needs):
            made = [[*always, need] for need in flat]
        else:
            # A singleton without earlier jobs already holds, which satisfies the whole disjunction.
            made = [always]
        return made if all(made) else []

    def _needs(self, row: int, term: dependency_text.Term) -> list[Need]:
        if term.kind == dependency_text.SINGLETON:
            earlier = self._submitted_earlier(row)
            return [] if earlier is None else [(earlier, "afterany", 0.0)]
        return [(self.subject(target), term.kind, target.minutes * _MINUTE) for target in term.targets]

    def subject(self, target: Target) -> int:
        """Return the row of a job or task, or the group of an array."""
        if target.task is not None:
            return self._tasks[target.job, target.task]
        members = self._members.get(target.job)
        if members is None:
            return self._rows[target.job]
        if target.job not in self._arrays:
            self._arrays[target.job] = members[0] if len(members) == 1 else self._group(members)
        return self._arrays[target.job]

    def _group(self, members: list[int]) -> int:
        self.groups.append(members)
        return len(self.jobs) + len(self.groups) - 1

    def _submitted_earlier(self, row: int) -> int | None:
        """Return all earlier jobs of the same user and name, as one subject."""
        if self._earlier is None:
            self._earlier = self._chains()
        return self._earlier[row]

    def _chains(self) -> list[int | None]:
        """Chain groups: each holds a job and the group before it, so that n jobs need 2 n members."""
        has_user = any(name in self.jobs.columns for name in USERS)
        if not has_user or JOB_NAME not in self.jobs.columns:
            missing = JOB_NAME if has_user else USERS[0]
            raise WorkloadError(f"{DEPENDENCY} = 'singleton' needs a column {missing!r}; add it.")
        submitted = self.jobs["submit_time"].to_list()
        # Jobs of unknown users count as jobs of one user.
        users, names = attribute_in(self.jobs, "user").to_list(), self.jobs[JOB_NAME].to_list()
        earlier: list[int | None] = [None] * len(submitted)
        chains: dict[tuple[object, object], int] = {}
        for row in sorted(range(len(submitted)), key=submitted.__getitem__):
            key = (users[row], names[row])
            before = earlier[row] = chains.get(key)
            chains[key] = row if before is None else self._group([before, row])
        return earlier


def check_circles(jobs: pl.DataFrame, source: str) -> None:
    """Raise if dependencies form a cycle."""
    made = graph(jobs)
    if made is None:
        return
    pairs = [(row, need[0]) for row, needs in made.clauses for need in needs]
    pairs += [(made.rows + place, member) for place, group in enumerate(made.groups) for member in group]
    stuck = sorted(subject for subject in _in_circles(pairs) if subject < made.rows)
    if stuck:
        numbers = [str(number) for number in sorted(jobs["job_id"][row] for row in stuck)]
        listed = ", ".join(numbers[:_MOST_SHOWN]) + (", …" if len(numbers) > _MOST_SHOWN else "")
        names = " and ".join(name for name in (DEPENDS_ON, DEPENDENCY) if name in jobs.columns)
        raise WorkloadError(
            f"{source}: {names} goes round in a circle; jobs {listed} would wait for ever. Break it."
        )


def _in_circles(pairs: Sequence[tuple[int, int]]) -> set[int]:
    """Return the subjects in cycles or dependent on cycles: those that Kahn's algorithm cannot remove."""
    waiting: dict[int, int] = {}
    after: dict[int, list[int]] = {}
    for subject, other in pairs:
        waiting[subject] = waiting.get(subject, 0) + 1
        after.setdefault(other, []).append(subject)
    free = [other for other in after if other not in waiting]
    while free:
        for subject in after.get(free.pop(), ()):
            waiting[subject] -= 1
            if not waiting[subject]:
                del waiting[subject]
                free.append(subject)
    return set(waiting)
