"""What a job waits for before it enters the queue: other jobs, its begin time, a place in its array."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from reference.model import Dependency, Job, Outcome


@dataclass
class Waiting:
    """The submitted jobs that are not in the queue yet, and what they look at.

    `begun` has when jobs started for the first time, or ended without a start; `over` what became of jobs;
    `placed` the jobs that have a place in their array.
    """

    jobs: Sequence[Job]
    over: Mapping[int, Outcome]
    submitted: list[Job] = field(default_factory=list)
    begun: dict[int, float] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)

    def next_instant(self, now: float) -> float:
        """Give when the next begin time comes or delay is over."""
        begins = [job.begin_time for job in self.submitted]
        delays = [
            self.time_of(need)
            for job in self.jobs
            if job.row not in self.over
            for need in job.dependencies
            if need.kind == "after"
        ]
        return min((time for time in [*begins, *delays] if time > now), default=inf)

    def time_of(self, need: Dependency) -> float:
        """Give when a need `after` is met; infinite where that is not known yet."""
        starts = [self.begun.get(row, inf) for row in need.rows]
        return max(starts) + need.delay

    def holds(self, job: Job, need: Dependency, now: float) -> bool | None:
        """Tell whether a need is met; None where that is not known yet."""
        rows: Iterable[int] = need.rows
        if need.kind == "singleton":
            mine = (job.submit_time, job.row)
            rows = [
                other.row
                for other in self.jobs
                if (other.user, other.name) == (job.user, job.name) and (other.submit_time, other.row) < mine
            ]
        if need.kind == "after":
            return True if self.time_of(need) <= now else None
        if not all(row in self.over for row in rows):
            return None
        completed = all(self.over[row].state == "completed" for row in rows)
        return {"afterok": completed, "afternotok": not completed}.get(need.kind, True)

    def dependency(self, job: Job, now: float) -> bool | None:
        """Tell whether what a job depends on is so; None where that is not known yet."""
        found = [self.holds(job, need, now) for need in job.dependencies]
        always = [self.holds(job, Dependency("afterok", (row,)), now) for row in job.depends_on]
        if job.any_dependency and found:
            found = [True if True in found else None if None in found else False]
        return False if False in always + found else None if None in always + found else True

    def enter(self, now: float) -> list[Job]:
        """Take out those that may enter the queue now, by row."""
        entering = []
        for job in sorted(self.submitted, key=lambda job: job.row):
            if job.begin_time <= now and self.dependency(job, now) and self.has_place(job):
                self.placed.add(job.row)
                self.submitted.remove(job)
                entering.append(job)
        return entering

    def has_place(self, job: Job) -> bool:
        """Tell whether fewer tasks of the array than its limit are in the queue or run."""
        if job.array is None or job.array_limit is None:
            return True
        tasks = [other.row for other in self.jobs if other.array == job.array]
        return sum(row in self.placed and row not in self.over for row in tasks) < job.array_limit

    def in_vain(self, now: float) -> list[Job]:
        """List those whose dependencies can never be met, by row."""
        found = [job for job in self.submitted if self.dependency(job, now) is False]
        return sorted(found, key=lambda job: job.row)
