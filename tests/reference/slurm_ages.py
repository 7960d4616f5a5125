"""How waiting jobs age under Slurm's controller, in plain Python (S25, 11)."""

from dataclasses import dataclass, field
from math import floor

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

    def calculate(self, now: float) -> None:
        """Make the calculations that are due by now."""
        if self.order not in AGEING:
            return
        max_age, period = AGEING[self.order]
        while (time := self.origin + self.done * period) <= now:
            self.done += 1
            for job, (call, eligible) in self.called.items():
                if call < time:
                    self.factors[job] = min((floor(time) - floor(eligible)) / max_age, 1.0)

    def call(self, job: SlurmJob, eligible: float, now: float) -> None:
        """Let a job age that a call has in its queue, from when it became eligible."""
        self.called.setdefault(job, (now, eligible))

    def forget(self, job: SlurmJob) -> None:
        """Let a job have no age: it waits again."""
        self.called.pop(job, None)
        self.factors.pop(job, None)

    def of(self, job: SlurmJob) -> float:
        """Return the factor of a job at the latest calculation."""
        return self.factors.get(job, 0.0)
