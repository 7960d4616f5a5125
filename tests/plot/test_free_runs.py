"""Runs of free nodes over time, checked by hand and against a plain count."""

import numpy as np
import pytest

import batchlab as bl
from batchlab.plot import free as module
from batchlab.plot.free import _free, free_runs
from support.kth_sample import kth_results
from support.results import Job, make_result


def listed(result: bl.Result) -> dict[float, list[int]]:
    """Give the lengths of the runs after each instant."""
    times, runs = free_runs(result)
    found: dict[float, list[int]] = {float(time): [] for time in times}
    for part, at, length in runs:
        for place, size in zip(at, length, strict=True):
            found[float(times[part][place])].append(int(size))
    return found


def test_runs() -> None:
    """A job in the middle leaves a run on either side; where one follows another, the node stays taken."""
    jobs = [Job(0, 0, 10, nodes=((1, 1),)), Job(0, 10, 20, nodes=((1, 1), (3, 1)), tasks=2)]
    assert listed(make_result(jobs)) == {0.0: [1, 2], 10.0: [1, 1], 20.0: [4]}


def test_runs_of_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are those that a plain count finds, however many instants are looked at together."""
    monkeypatch.setattr(module, "_CELLS", 1700)
    result = kth_results()[0]
    jobs = result.jobs
    found = listed(result)
    for time in [*found][::37]:
        free = np.ones(100, dtype=bool)
        for nodes in jobs.filter((jobs["start_time"] <= time) & (jobs["end_time"] > time))["nodes"]:
            free[nodes.to_list()] = False
        text = "".join("." if each else "#" for each in free)
        assert sorted(found[time]) == sorted(len(run) for run in text.split("#") if run)


def test_fragmentation() -> None:
    """One run has none; two of one and two nodes have 1 − 5/9; where nothing is free there is none."""
    jobs = [Job(0, 0, 10, nodes=((1, 1),)), Job(0, 10, 20, nodes=((0, 1), (1, 1), (2, 1), (3, 1)), tasks=4)]
    line = bl.plot.fragmentation(make_result(jobs)).lines[0]
    assert np.asarray(line.get_ydata()).tolist() == pytest.approx([4 / 9, 0, 0])


def test_free_slots_add_up() -> None:
    """All classes together are the free nodes."""
    result = kth_results()[0]
    ax = bl.plot.free_slots(result)
    top = ax.patches[-1].get_data().values  # type: ignore[attr-defined]
    edges = ax.patches[-1].get_data().edges  # type: ignore[attr-defined]
    jobs = result.jobs
    work = float((jobs["tasks"] * (jobs["end_time"] - jobs["start_time"])).sum())
    assert top @ np.diff(edges) == pytest.approx(100 * (edges[-1] - edges[0]) - work)


def test_free_nodes_are_those_of_all_runs() -> None:
    """The plot of free nodes, which looks at each node's busy times, counts the same after every instant."""
    result = kth_results()[0]
    course = _free(result)
    found = listed(result)
    assert course.time.tolist() == [*found]
    assert course.value.tolist() == [sum(runs) for runs in found.values()]
