"""Reservations of the machine, and malleable policies, in random runs in which everything happens."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl

import batchlab as bl

if TYPE_CHECKING:
    from batchlab.core.vocabulary import SizeOrderName
    from support.snapshot_cases import Run

__all__ = ["Forgetful", "forgetful", "is_over", "with_malleable", "with_reservations"]

_LAST = 40


class Forgetful(bl.Malleable):
    """Resizes jobs likewise, and remembers nothing from one pass to the next."""

    def schedule(self, view: bl.View) -> None:
        """Decide as in the first pass."""
        self._memories.clear()
        super().schedule(view)


def forgetful(run: Run) -> Run | None:
    """Return the run under a policy that remembers nothing; None if it is under no malleable one."""
    policy = run.policy
    return replace(run, policy=Forgetful(policy.order)) if isinstance(policy, bl.Malleable) else None


def with_malleable(policy: Any, seed: int) -> Any:  # noqa: ANN401  # a name, a policy or a scheduler
    """Return a malleable policy in place of another one, sometimes."""
    rng = Random(f"malleable/{seed}")  # noqa: S311 - no secret
    orders: list[SizeOrderName] = ["fcfs", "sjf", "srtf", "drf", "equipartition"]
    return bl.Malleable(rng.choice(orders)) if rng.random() < 0.3 else policy


def with_reservations(
    jobs: bl.Workload, system: bl.System, options: dict[str, Any], seed: int
) -> tuple[bl.Workload, bl.System]:
    """Keep nodes for a time, sometimes; some are known later or given up, and some jobs use them."""
    rng = Random(f"reservations/{seed}")  # noqa: S311 - no secret
    if rng.random() < 0.5:
        return jobs, system
    reservations = tuple(_reservation(rng, number, system.nodes) for number in range(rng.randint(1, 2)))
    open_to_jobs = [each.name for each in reservations if each.admits is not None]
    used = [rng.choice([None, None, None, *open_to_jobs]) for _ in range(len(jobs))]
    if any(used):
        column = pl.Series("reservation", used, dtype=pl.String)
        jobs = replace(jobs, jobs=jobs.jobs.with_columns(column))
    events = [
        {"time": float(rng.randint(0, _LAST)), "event": kind, "reservation": each.name}
        for each in reservations
        for kind in ("reserve", "unreserve")
        if rng.random() < 0.4
    ]
    if events:
        options["events"] = [*options.get("events", ()), *events]
    return jobs, replace(system, reservations=reservations)


def _reservation(rng: Random, number: int, nodes: int) -> bl.Reservation:
    first, duration = rng.randrange(nodes), float(rng.randint(1, 8))
    repeats, admits = rng.random() < 0.3, rng.choice((None, bl.Conditions()))
    return bl.Reservation(
        f"reserved{number}",
        start=float(rng.randint(0, 25)),
        duration=duration,
        nodes=f"{first}-{rng.randint(first, nodes - 1)}",
        every=duration + rng.randint(0, 6) if repeats else None,
        until=float(_LAST) if repeats else None,
        admits=admits,
        flexible=admits is not None and rng.random() < 0.5,
        cancels=rng.random() < 0.3,
    )


def is_over(view: bl.View, job: Any) -> bool:  # noqa: ANN401  # a job of the view
    """Return whether a job could not end in its reservation if it started now."""
    return view.over_limit(job) == "reservation"
