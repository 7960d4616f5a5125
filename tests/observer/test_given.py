"""What is given as ``observers=``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from support.scripted_runs import jobs_of

if TYPE_CHECKING:
    from collections.abc import Callable

SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})


def _simulation(observers: Any) -> bl.Simulation:  # noqa: ANN401  # may be wrong
    return bl.Simulation(jobs_of(run_time=[1, 1]), SYSTEM, "fcfs", observers=observers)


def _experiment(observers: Any) -> bl.Experiment:  # noqa: ANN401  # as above
    return bl.Experiment(jobs_of(run_time=[1, 1]), SYSTEM, "fcfs", observers=observers)


TAKING = [pytest.param(_simulation, id="simulation"), pytest.param(_experiment, id="experiment")]
POWER = bl.Power(bl.NodePower(1))


@pytest.mark.parametrize("take", TAKING)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(None, r"^observers = None; must be a list of observers, which may be empty", id="none"),
        pytest.param(POWER, r"^observers = .*; must be a list of observers", id="one alone"),
        pytest.param([POWER, 3], r"^observers hold 3; must be objects of batchlab.Observer", id="number"),
        pytest.param([POWER, POWER], r"^2 observers are named 'power'; names must differ", id="twice"),
    ],
)
def test_wrong_observers(take: Callable[[Any], object], given: Any, message: str) -> None:  # noqa: ANN401  # wrong on purpose
    """Simulations and experiments refuse them with the same error, before anything runs."""
    with pytest.raises(bl.ObserverError, match=message):
        take(given)


def test_any_iterable_is_taken() -> None:
    """Also one that can be read once only."""
    assert "power" in _simulation(iter([POWER])).result().observations
