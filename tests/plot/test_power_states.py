"""The plot of the states of nodes, and the nodes that sleep in that of what ran where."""

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

import batchlab as bl

OFF = bl.SleepState("off", enter_time=10, wake_time=30)
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1}, sleep_states=(OFF,))
JOBS = bl.Workload.from_table({"submit_time": [0, 200], "run_time": [100, 50], "tasks": [2, 1]})


def test_areas_are_times_of_nodes() -> None:
    """The area of a state is how long nodes were in it."""
    result = bl.simulate(JOBS, SYSTEM, "easy", sleep="timeout(60)")
    ax = bl.plot.power_states(result, title="Nodes")
    areas = {}
    for stairs in ax.patches:
        values, edges, below = stairs.get_data()  # type: ignore[attr-defined]
        areas[stairs.get_label()] = float(((values - below) * np.diff(edges)).sum())
    expected = {"on": 320.0 + 50.0, "entering off": 20.0, "off": 30.0 + 110.0, "waking from off": 30.0}
    assert areas == pytest.approx(expected)
    assert list(areas) == list(expected)
    assert ax.get_title(loc="left") == "Nodes"


def test_a_state_has_its_colour_whichever_others_there_are() -> None:
    """A state that no node is in leaves the colours of the others, and nodes are counted in whole numbers."""
    states = (bl.SleepState("suspend"), OFF)
    both = bl.System.homogeneous(nodes=2, resources={"core": 1}, sleep_states=states)
    seen = []
    for rules in ("timeout(off=60)", "timeout(suspend=20, off=60)"):
        ax = bl.plot.power_states(bl.simulate(JOBS, both, "easy", sleep=rules))
        seen.append({str(stairs.get_label()): stairs.get_facecolor() for stairs in ax.patches})
        assert all(tick == int(tick) for tick in ax.get_yticks())
    assert set(seen[0]) < set(seen[1])
    assert seen[0] == {name: seen[1][name] for name in seen[0]}
    assert len(set(seen[1].values())) == len(seen[1])


def test_gantt_shades_nodes_that_sleep() -> None:
    """A box for each time asleep, and each transition."""
    result = bl.simulate(JOBS, SYSTEM, "easy", sleep="timeout(60)")
    boxes = [
        len(each.get_paths())
        for each in bl.plot.gantt(result).collections
        if isinstance(each, PolyCollection)
    ]
    awake = bl.plot.gantt(bl.simulate(JOBS, SYSTEM, "easy")).collections
    assert boxes[1:] == [2, 3]
    assert sum(isinstance(each, PolyCollection) for each in awake) == 1


def test_not_asked_for() -> None:
    """Where no node is to sleep the error says how to let them."""
    with pytest.raises(bl.ResultError, match="sleep="):
        bl.plot.power_states(bl.simulate(JOBS, SYSTEM, "easy"))
