"""The deep-learning study shows what the paper found."""

import importlib.util
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from matplotlib.figure import Figure

import batchlab as bl

SCRIPT = Path(__file__).parents[1] / "examples/deep_learning_study.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    """Load the example as a module."""
    spec = importlib.util.spec_from_file_location("deep_learning_study", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def makespans(results: Mapping[str, bl.Result]) -> dict[str, float]:
    return {name: bl.metrics.makespan(result.jobs) or 0.0 for name, result in results.items()}


def turnarounds(results: Mapping[str, bl.Result], what: str) -> dict[str, float]:
    described = {
        name: bl.metrics.describe(bl.metrics.turnaround(result.jobs)) for name, result in results.items()
    }
    return {name: each[what] or 0.0 for name, each in described.items()}


def test_ordering_of_the_policies(study: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the study at twice its load: who is done first, and who has the shortest turnaround."""
    monkeypatch.setattr(study, "GAP", study.GAP / 2)
    with ThreadPoolExecutor() as pool:
        call = partial(study.run, count=100, seed=1)
        results = dict(zip(study.POLICIES, pool.map(call, study.POLICIES), strict=True))
    span, median, longest = makespans(results), *(turnarounds(results, what) for what in ("median", "max"))
    assert span["malleable FCFS"] < 0.9 * span["rigid FCFS"]
    assert span["malleable SJF"] < 0.9 * span["rigid SJF"]
    assert {*sorted(median, key=median.__getitem__)[:2]} == {"malleable SJF", "malleable SRTF"}
    for name in ("malleable SJF", "malleable SRTF"):
        assert longest[name] > 3 * median[name]


def test_every_training_step_is_simulated(study: ModuleType) -> None:
    """ResNet-18 on Tiny ImageNet, 90 epochs of 196 steps on two nodes: how often, and how long, by hand."""
    jobs = study.workload(1, 3, malleable=False)
    result = bl.simulate(jobs, study.cluster(), "fcfs", task_times=True)
    times = result.task_times.filter(task="all-reduce")
    assert len(times) == 90 * 196 * 2
    forward = 8e-11 * 2_483_712 * 64
    gradients = 2 * 7 / 8 * 4 * 11_689_512
    # Inside a node three of four transfers, spread over four pairs of GPUs, at 50 GB/s.
    all_reduce = gradients * 3 / 4 / 50e9
    step = 3 * forward + all_reduce + 2.2e-11 * 11_689_512
    # Two nodes read at 100 GB/s together; an epoch writes a tenth of a checkpoint.
    expected = 2 * 0.24e9 / 100e9 + 90 * (196 * step + 20 * forward + 4 * 11_689_512 / 10 / 100e9)
    assert result.jobs["end_time"].item() == pytest.approx(expected, rel=1e-5)


def test_the_figures_show_every_job(
    study: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each of the six panels has a bar for each job, however many there are; boxes have their outliers."""
    drawn: list[Figure] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: drawn.append(figure))
    system = bl.System.homogeneous(nodes=16, resources={"core": 1})
    result = bl.simulate(bl.generate.lublin(300, nodes=16), system, "easy")
    study.draw(dict.fromkeys(study.POLICIES, result), tmp_path)
    boxes, bars = drawn
    assert [ax.get_ylim() for ax in bars.axes] == [(0, 300)] * 6
    for ax in boxes.axes:
        fliers = [line for line in ax.get_lines() if line.get_marker() not in ("None", "", None)]
        assert (
            sum(len(np.asarray(line.get_xdata())) + len(np.asarray(line.get_ydata())) for line in fliers) > 0
        )
