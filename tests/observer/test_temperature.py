"""Temperatures: the solution of the differential equation, whatever the power does."""

from math import exp

import numpy as np
import pytest

import batchlab as bl
from batchlab.seam import View
from support.python_schedulers import FirstFit

ONE_NODE = bl.System.homogeneous(nodes=1, resources={"core": 4})
JOB = bl.Workload.from_table({"submit_time": [100.0], "run_time": [500.0], "tasks": [4]})
DRAW = bl.NodePower(idle=100, busy=300)
WARMS = bl.NodeWarming(resistance=0.1, capacity=3000, ambient=20)


def test_by_hand() -> None:
    """Warm in steps: T(t) = T_end + (T_0 − T_end) e^(−t/RC) while the power stays."""
    observers = [bl.Power(DRAW), bl.Temperature(WARMS, every=50)]
    result = bl.simulate(JOB, ONE_NODE, "fcfs", observers=observers)
    table = result.observations["temperature"]

    def temperature(time: float) -> float:
        return 30.0 if time <= 100 else 50 + (30 - 50) * exp(-(time - 100) / 300)

    assert table["time"].to_list() == [*np.arange(100.0, 601.0, 50.0)]
    expected = [temperature(time) for time in table["time"]]
    assert table["mean"].to_list() == pytest.approx(expected, abs=1e-9)
    assert table["maximum"].to_list() == pytest.approx(expected, abs=1e-9)
    per_node = result.observations["temperature_per_node"].row(0)
    assert per_node == (0, pytest.approx(expected[-1]), pytest.approx(expected[-1]))


def test_looks_change_nothing() -> None:
    """However often one looks, temperatures and schedule are the same; the run ends in time."""
    results = [
        bl.simulate(
            JOB, ONE_NODE, "easy(order=wfp3)", observers=[bl.Power(DRAW), bl.Temperature(WARMS, every=every)]
        )
        for every in (0.5, 7.0, 1e6)
    ]
    ends = [result.observations["temperature_per_node"].row(0) for result in results]
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)
    assert ends[0] == pytest.approx(ends[2], rel=1e-12)
    assert all(result.outcome.now == 600.0 for result in results)


def test_policies_see_every_node() -> None:
    """Policies are given degrees Celsius, node by node; the warmest instant counts, seen or not."""
    seen: list[np.ndarray] = []

    class Looker(FirstFit):
        def schedule(self, view: View) -> None:
            seen.append(view.values["temperature"])
            super().schedule(view)

    system = bl.System((bl.NodeGroup("a", 1, {"core": 4}), bl.NodeGroup("b", 1, {"core": 4})))
    late = bl.Workload.from_table({"submit_time": [100.0, 5000.0], "run_time": [500.0, 1.0], "tasks": [4, 1]})
    warms = {"a": WARMS, "b": bl.NodeWarming(0.2, 3000, ambient=20, initial=60)}
    observers = [bl.Power(DRAW), bl.Temperature(warms, every=10_000)]
    result = bl.simulate(late, system, Looker(), observers=observers)
    assert seen[0].tolist() == pytest.approx([30.0, 60.0])
    assert seen[-1].tolist() == pytest.approx([30.0, 40.0], abs=0.02)
    assert result.observations["temperature_per_node"]["maximum"].to_list() == pytest.approx(
        [50 - 20 * exp(-500 / 300), 60.0]
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bl.NodeWarming(0, 1), "resistance = 0; must be a finite number > 0"),
        (lambda: bl.NodeWarming(1, 1, ambient=float("nan")), "ambient = nan; must be a finite number"),
        (lambda: bl.Temperature(WARMS, every=0), "every = 0; must be a finite number of seconds > 0"),
        (
            lambda: bl.simulate(JOB, ONE_NODE, "fcfs", observers=[bl.Temperature(WARMS)]),
            "needs Power before it",
        ),
        (
            lambda: bl.simulate(
                JOB, ONE_NODE, "fcfs", observers=[bl.Power(DRAW), bl.Temperature({"fat": WARMS})]
            ),
            "how do nodes of group 'nodes' get warm",
        ),
    ],
)
def test_errors(make: object, message: str) -> None:
    """What is wrong is named, with the rule."""
    assert callable(make)
    with pytest.raises(bl.ObserverError, match=message):
        make()
