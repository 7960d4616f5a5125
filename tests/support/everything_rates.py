"""Rates, disciplines and suspension in random runs in which everything happens, and what must hold."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.policy.registry import DISCIPLINES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Draws", "check_rates", "ladder_of", "with_discipline", "with_rates", "with_suspension"]

Draws = bl.NodePower | dict[float, bl.NodePower]
RATES = (0.5, 1.0, 2.0, 4.0)


class ByParity(bl.RateControl):
    """A control written in Python, which remembers nothing."""

    def rate(self, load: bl.RateLoad) -> float | None:
        """Give the highest rate for an odd number of jobs, the lowest for an even one; none for four."""
        if load.present == 4:
            return None
        return self.rates[-1] if load.present % 2 else self.rates[0]


def with_rates(system: bl.System, seed: int) -> tuple[bl.System, tuple[bl.RateControl, ...] | None]:
    """Split the nodes into groups, sometimes, and control the rates of all or of some of these."""
    rng = Random(f"rates/{seed}")  # noqa: S311 - no secret
    if rng.random() < 0.5:
        return system, None
    first = system.groups[0]
    if len(system.groups) > 1 or first.count == 1 or rng.random() < 0.5:
        return system, (control(rng, ()),)
    count = rng.randint(1, first.count - 1)
    groups = (
        replace(first, name="left", count=count),
        replace(first, name="right", count=first.count - count),
    )
    controls = [control(rng, ("left",))]
    if rng.random() < 0.6:
        controls.append(control(rng, ("right",)))
    return replace(system, groups=groups), tuple(controls)


def control(rng: Random, groups: tuple[str, ...]) -> bl.RateControl:
    """Give a control of any kind."""
    rates = tuple(sorted(rng.sample(RATES, rng.choice((2, 2, 3)))))
    common: dict[str, Any] = {"rates": rates, "groups": groups}
    steps = len(rates) - 1
    low = tuple(float(number) for number in sorted(rng.randint(0, 4) for _ in range(steps)))
    high = tuple(sorted(each + rng.randint(0, 6) for each in low))
    interval = rng.choice((1.0, 2.5))
    makers: list[Callable[[], bl.RateControl]] = [
        lambda: bl.ConstantRate(rng.choice(RATES), groups=groups),
        lambda: bl.RandomisedRate(0.6, 0.4, seed=rng.randrange(99), **common),
        lambda: bl.CountHysteresis(low=low, high=high, **common),
        lambda: bl.WorkloadHysteresis(low=low, high=high, weighted=rng.random() < 0.5, **common),
        lambda: bl.WorkloadHysteresis(low=low, high=high, printed=True, **common),
        lambda: bl.Ondemand(interval=interval, **common),
        lambda: bl.Schedutil(interval=interval, **common),
        lambda: bl.Powersave(**common),
        lambda: bl.Performance(**common),
        lambda: ByParity(**common),
    ]
    return rng.choice(makers)()


def with_discipline(policy: str, seed: int) -> str:
    """Give a discipline in place of a policy by name, sometimes."""
    rng = Random(f"disciplines/{seed}")  # noqa: S311 - no secret
    return rng.choice([*DISCIPLINES]) if rng.random() < 0.5 else policy


def with_suspension(overheads: bl.Overheads | None, seed: int) -> bl.Overheads | None:
    """Let suspending and resuming take time, sometimes."""
    rng = Random(f"suspension/{seed}")  # noqa: S311 - no secret
    if rng.random() < 0.6:
        return overheads
    suspend, resume = float(rng.randint(0, 3)), float(rng.randint(0, 3))
    return replace(overheads or bl.Overheads(), suspend=suspend, resume=resume)


def ladder_of(controls: Sequence[bl.RateControl] | None) -> Draws:
    """Give what nodes draw, at each rate where rates are controlled."""
    usual = bl.NodePower(idle=90, busy=140, per_unit={"core": 20})
    if not controls:
        return usual
    return {
        rate: bl.NodePower(idle=50 + 40 * rate, busy=60 + 80 * rate, per_unit={"core": 20 * rate})
        for rate in RATES
    }


def check_rates(result: bl.Result) -> None:
    """Fail where nodes and the machine disagree about energy, or work is lost."""
    spent = result.observations.get("energy_per_state")
    if spent is not None:
        energy: Any = result.metrics().get("energy", {"total": 0.0})
        total = float(spent["energy"].sum())
        nodes = float(result.observations["energy_per_node"]["energy"].sum())
        assert nodes == pytest.approx(total, rel=1e-9)
        assert energy["total"] == pytest.approx(total, rel=1e-9)
        assert float(result.observations["jobs"]["energy"].sum()) <= total * (1 + 1e-9)
    if "application" in result.workload.jobs.columns:
        return
    course = result.course
    assert (course.busy >= 0).all()
    assert (course.served <= course.present).all()
    asked, served = bl.service.work_served(result)
    if result.options.overheads is None and result.external_events is None and is_over(result):
        assert served == pytest.approx(asked, rel=1e-9, abs=1e-9)


def is_over(result: bl.Result) -> bool:
    """Tell whether no job waits or runs any more."""
    return not set(result.jobs["state"].to_list()) & {"queued", "running", "loaded"}
