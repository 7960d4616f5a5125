"""The plot of why jobs wait."""

from typing import Literal

import numpy as np
import pytest
from matplotlib.axes import Axes

import batchlab as bl

JOBS = bl.Workload.from_table(
    {"submit_time": [0, 0, 0], "run_time": [100, 100, 100], "tasks": [2, 2, 2], "user": ["a", "b", "b"]}
)
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})


def test_areas_are_waiting_times() -> None:
    """The area of a gate is how long jobs waited at it."""
    result = bl.simulate(JOBS, SYSTEM, "easy", explain=True)
    ax = bl.plot.waiting_reasons(result, title="Why jobs wait")
    areas = {}
    for stairs in ax.patches:
        values, edges, below = stairs.get_data()  # type: ignore[attr-defined]
        areas[stairs.get_label()] = float(((values - below) * np.diff(edges)).sum())
    # Both wait for the nodes: one for 100 s, the other for 200 s.
    assert areas == pytest.approx({"resources, earlier": 300.0})
    assert ax.get_title(loc="left") == "Why jobs wait"


def _hues(ax: Axes) -> dict[object, object]:
    return {stairs.get_label(): stairs.get_facecolor() for stairs in ax.patches}


@pytest.mark.parametrize("of", ["holders", "gates"])
def test_a_cause_has_one_colour_in_all_pictures(of: Literal["holders", "gates"]) -> None:
    """Whichever causes a picture has, and whichever is the greatest."""
    found = []
    for policy, runs in (("easy", [100, 1, 1]), ("fcfs", [1, 500, 9]), ("conservative", [100, 50, 50])):
        table = {"submit_time": [0, 0, 0], "run_time": runs, "requested_time": runs, "tasks": [1, 2, 1]}
        result = bl.simulate(bl.Workload.from_table(table), SYSTEM, policy, explain=True)
        ax = bl.plot.waiting_reasons(result) if of == "gates" else bl.plot.waiting_time(result, of=of)
        found.append(_hues(ax))
        assert len(set(found[-1].values())) == len(found[-1])
        if of == "holders":
            found.append(_hues(bl.plot.why(result)))
    assert len({name for each in found for name in each}) > 1
    colours = {(name, hue) for each in found for name, hue in each.items()}
    assert len(colours) == len({name for name, _ in colours})


def test_nothing_waits() -> None:
    """Then it says so."""
    few = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]})
    ax = bl.plot.waiting_reasons(bl.simulate(few, SYSTEM, "fcfs", explain=True))
    assert [text.get_text() for text in ax.texts] == ["no job waited"]


def test_not_recorded() -> None:
    """Gates that were not recorded are an error that says how to record them."""
    with pytest.raises(bl.ResultError, match="explain=True"):
        bl.plot.waiting_reasons(bl.simulate(JOBS, SYSTEM, "fcfs"))
