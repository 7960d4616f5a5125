"""What a job waits for before it enters the queue: other jobs, its begin time, a place in its array."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

from reference.model import Condition, Job, Outcome


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
            self.time_of(condition)
            for job in self.jobs
            if job.row not in self.over
            for condition in job.conditions
            if condition.kind == "after"
        ]
        return min((time for time in [*begins, *delays] if time > now), default=inf)

    def time_of(self, condition: Condition) -> float:
        """Give when a condition `after` is met; infinite where that is not known yet."""
        starts = [self.begun.get(row, inf) for row in condition.rows]
        return max(starts) + condition.delay

    def holds(self, job: Job, condition: Condition, now: float) -> bool | None:
        """Tell whether a condition is met; None where that is not known yet."""
        rows: Iterable[int] = condition.rows
        if condition.kind == "singleton":
            mine = (job.submit_time, job.row)
            rows = [
                other.row
                for other in self.jobs
                if (other.user, other.name) == (job.user, job.name) and (other.submit_time, other.row) < mine
            ]
        if condition.kind == "after":
            return True if self.time_of(condition) <= now else None
        if not all(row in self.over for row in rows):
            return None
        completed = all(self.over[row].state == "completed" for row in rows)
        return {"afterok": completed, "afternotok": not completed}.get(condition.kind, True)

    def dependency(self, job: Job, now: float) -> bool | None:
        """Tell whether what a job depends on is so; None where that is not known yet."""
        found = [self.holds(job, condition, now) for condition in job.conditions]
        always = [self.holds(job, Condition("afterok", (row,)), now) for row in job.depends_on]
        if job.any_condition and found:
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
