"""How waiting jobs age under Slurm's controller, in plain Python (S25, 11)."""

from collections.abc import Container
from dataclasses import dataclass, field
from math import floor, inf

from reference.slurm_jobs import AGED, SlurmJob

__all__ = ["AGEING", "Ages"]

AGEING = {AGED: (200.0, 7.0)}
"""The orders by age: the greatest age, and the period of calculations."""


@dataclass
class Ages:
    """The age factors of a run under an order; calculations are at `origin` and every period after it."""

    order: str
    origin: float
    done: int = 0
    called: dict[SlurmJob, tuple[float, float]] = field(default_factory=dict)
    """When a call first had a waiting job in its queue, and since when it had been eligible."""
    factors: dict[SlurmJob, float] = field(default_factory=dict)
    arrays: dict[int, float] = field(default_factory=dict)
    """Since when the first task of an array had been eligible."""

    def calculate(self, now: float) -> None:
        """Make the calculations that are due by now."""
        if self.order not in AGEING:
            return
        max_age, period = AGEING[self.order]
        while (time := self.origin + self.done * period) <= now:
            self.done += 1
            self.calculate_at(time, max_age)

    def calculate_at(self, time: float, max_age: float) -> None:
        """Calculate the factors of a time."""
        for job, (call, eligible) in self.called.items():
            if call < time:
                self.factors[job] = min((floor(time) - floor(eligible)) / max_age, 1.0)

    def call(self, jobs: dict[SlurmJob, float], requeued: Container[SlurmJob], now: float) -> None:
        """Let the jobs age that a call has in its queue, each from when it became eligible.

        Tasks of an array age with its first one, unless they have been requeued.
        """
        new = {job: eligible for job, eligible in jobs.items() if job not in self.called}
        tasks = {job: job.array for job in new if job.array is not None and job not in requeued}
        for job, array in tasks.items():
            self.arrays[array] = min(self.arrays.get(array, inf), new[job])
        for job, eligible in new.items():
            of_array = max(self.arrays[tasks[job]], job.submit_time) if job in tasks else eligible
            self.called[job] = now, of_array

    def recall(self, jobs: dict[SlurmJob, float]) -> None:
        """Count jobs that wait at the begin of the run as called when they became eligible."""
        self.call(jobs, {}, -inf)
        for job, eligible in jobs.items():
            self.called[job] = eligible, self.called[job][1]
        if self.order in AGEING and self.done:
            max_age, period = AGEING[self.order]
            self.calculate_at(self.origin + (self.done - 1) * period, max_age)

    def forget(self, job: SlurmJob) -> None:
        """Let a job have no age: it waits again."""
        self.called.pop(job, None)
        self.factors.pop(job, None)

    def of(self, job: SlurmJob) -> float:
        """Return the factor of a job at the latest calculation."""
        return self.factors.get(job, 0.0)
