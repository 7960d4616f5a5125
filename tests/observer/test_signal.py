"""Signals and step functions: values, what they add up to with the power, who is asked when they change."""

from itertools import pairwise
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.observer.steps import Sampled, Steps, steps_of
from batchlab.seam import View
from support.python_schedulers import FirstFit

ONE_NODE = bl.System.homogeneous(nodes=1, resources={"core": 4})
JOB = bl.Workload.from_table({"submit_time": [600.0], "run_time": [3600.0], "tasks": [4]})
DRAW = bl.NodePower(idle=100, busy=300)


def test_cost_by_hand() -> None:
    """The cost is the integral of power × price, exactly, across changes of both."""
    price = bl.EnergyPrice({"time": [0, 1800, 3600], "value": [0.2, 0.5, 0.3]})
    carbon = bl.CarbonIntensity(400)
    result = bl.simulate(JOB, ONE_NODE, "fcfs", observers=[bl.Power(DRAW), price, carbon])
    energies = [300 * 1200, 300 * 1800, 300 * 600]
    table = result.observations["price"]
    assert table["time"].to_list() == [600.0, 1800.0, 3600.0, 4200.0]
    assert table["energy"].to_list() == pytest.approx([*energies, 0.0], abs=1e-9)
    costs = [energy / 3.6e6 * value for energy, value in zip(energies, (0.2, 0.5, 0.3), strict=True)]
    assert table["cost"].to_list() == pytest.approx([*costs, 0.0], abs=1e-12)
    assert result.metrics()["cost"] == pytest.approx(sum(costs), abs=1e-12)
    assert result.metrics()["emissions"] == pytest.approx(sum(energies) / 3.6e6 * 400, abs=1e-9)


def test_without_power() -> None:
    """Without power observed there are values alone."""
    result = bl.simulate(JOB, ONE_NODE, "fcfs", observers=[bl.EnergyPrice(0.2)])
    assert result.observations["price"].rows() == [(600.0, 0.2), (4200.0, 0.2)]
    assert "cost" not in result.metrics()


def test_policies_wait_for_a_change() -> None:
    """A policy is asked when a signal changes, also that of a function, and may look ahead."""

    class Bargain(FirstFit):
        def schedule(self, view: View) -> None:
            price = view.values["demand"]
            asked.append((view.now, price.now, price.next_change, price.at(0.0)))
            if price.now <= price.lowest(view.now, view.now + 7200) and price.now < price.average(0, 7200):
                super().schedule(view)

    asked: list[tuple[float, ...]] = []
    signal = bl.Signal("demand", lambda time: abs(time - 3600), every=1200)
    result = bl.simulate(JOB, ONE_NODE, Bargain(), observers=[signal])
    assert asked == [
        (600.0, 3600.0, 1200.0, 3600.0),
        (1200.0, 2400.0, 2400.0, 3600.0),
        (2400.0, 1200.0, 3600.0, 3600.0),
        (3600.0, 0.0, 4800.0, 3600.0),
    ]
    assert result.jobs["start_time"].to_list() == [3600.0]


def test_steps_from_anywhere(tmp_path: Path) -> None:
    """A number, a table, a CSV file and a function make the same kind of thing."""
    file = tmp_path / "price.csv"
    file.write_text("time,value,note\n0,1,a\n10,3,b\n")
    for source in (
        pl.DataFrame({"time": [0, 10], "value": [1, 3]}),
        {"time": [0.0, 10], "value": [1, 3]},
        str(file),
    ):
        steps = steps_of(source, "price")
        assert (steps.at(-5), steps.at(9.9), steps.at(10), steps.at(1e9)) == (1, 1, 3, 3)
        assert (steps.next_change(0), steps.next_change(10)) == (10, inf)
        assert (steps.integral(5, 20), steps.average(5, 20)) == (35, 35 / 15)
        assert (steps.lowest(10, 20), steps.lowest(9, 20), steps.lowest(0, 10)) == (3, 1, 1)
        assert steps.average(12, 12) == 3
    assert steps_of(7, "price").integral(1, 3) == 14


@given(
    st.lists(st.tuples(st.floats(0.1, 9), st.floats(-9, 9)), min_size=1),
    st.lists(st.floats(0, 99), min_size=2),
)
def test_integrals_add_up(steps: list[tuple[float, float]], bounds: list[float]) -> None:
    """Integrals between bounds are those one by one."""
    function = Steps(np.cumsum([gap for gap, _ in steps]), [value for _, value in steps])
    rising = np.unique(bounds)
    expected = [function.integral(a, b) for a, b in pairwise(rising)]
    assert function.integrals(rising).tolist() == pytest.approx(expected, abs=1e-9)


def test_sampled_functions_hold() -> None:
    """A function is looked at every so many seconds, and its value holds until the next look."""
    steps = Sampled(lambda time: time, 0.1)
    times = [number * 0.1 for number in range(50)]
    assert [steps.at(time) for time in times] == times
    assert steps.at(0.39) == pytest.approx(0.3)
    assert all(steps.next_change(time) > time for time in times)
    assert steps.integral(0.05, 0.25) == pytest.approx(0.1 * 0.1 + 0.2 * 0.05)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bl.Signal("", 1), "name = ''; must be a text"),
        (lambda: bl.Signal("x", lambda _: 1), "signal 'x': a function of time needs every"),
        (lambda: bl.Signal("x", lambda _: 1, every=-1), "every = -1; must be a finite number of seconds > 0"),
        (lambda: bl.Signal("x", lambda _: float("nan"), every=1), "gave nan at 0 s; must be a number"),
        (
            lambda: bl.Signal("x", {"time": [0, 0], "value": [1, 2]}),
            "step 1: time 0, value 2; .* times must rise",
        ),
        (lambda: bl.Signal("x", {"time": [0], "value": [None]}), "step 0: time 0, value nan"),
        (lambda: bl.Signal("x", {"time": [], "value": []}), "there must be one value per time"),
        (lambda: bl.Signal("x", {"time": [0]}), "there is no column 'value'; it has time"),
    ],
)
def test_errors(make: object, message: str) -> None:
    """What is wrong is named, with the rule."""
    assert callable(make)
    with pytest.raises(bl.ObserverError, match=message):
        make()
