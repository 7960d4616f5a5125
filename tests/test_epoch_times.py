"""Epoch times by nodes show what ElastiSim's paper says of its Figure 4."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def example() -> Iterator[ModuleType]:
    """Import the example as it finds its neighbour: in its own folder."""
    sys.path.insert(0, str(EXAMPLES))
    yield importlib.import_module("epoch_times")
    sys.path.remove(str(EXAMPLES))


def test_an_epoch_by_hand(example: ModuleType) -> None:
    """AlexNet on one node: 196 steps and 40 of validation, the ring among the four GPUs of the node."""
    activations, parameters = 484_992, 61_100_840
    forward, update = 8e-11 * activations * 64, 2.2e-11 * parameters
    # Each GPU sends 2 * 3 / 4 of the gradients, 4 bytes each, to the next one.
    ring = 2 * 3 / 4 * 4 * parameters / 25e9
    seconds = 196 * (3 * forward + ring + update) + 40 * forward
    assert example.epoch_times(25e9)["AlexNet"][0] == pytest.approx(seconds)


def test_the_scaling_of_the_paper(example: ModuleType) -> None:
    """All gain from more nodes, but AlexNet from the second one where rings reach part of the bandwidth."""
    times = example.epoch_times(example.REACHED)
    assert example.slower_on_two(times) == "AlexNet"
    for name, (one, two, four, eight) in times.items():
        assert two > four > eight
        assert name == "AlexNet" or one > two
    assert example.slower_on_two(example.epoch_times(example.INTERFACES)) == "none"


def test_the_figure(example: ModuleType, tmp_path: Path) -> None:
    """It has a panel for each network."""
    example.draw({"once": dict.fromkeys(example.NETWORKS, (4.0, 3.0, 2.0, 1.0))}, tmp_path)
    assert (tmp_path / "epoch_times.png").stat().st_size > 10_000
