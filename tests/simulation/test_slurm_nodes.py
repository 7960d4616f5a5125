"""Which nodes and resources jobs get under Slurm's controller (S24, S27), by hand."""

from typing import Any

import pytest

import batchlab as bl
from batchlab.policy import SlurmParameters
from batchlab.slurm import Allotment, Controller, Entry, Held, Situation
from support.slurm_small_runs import nodes_of, starts


def test_select() -> None:
    """Whole nodes hold one job each, however small; shared ones as many as their cores allow."""
    phases = "main_phase=0.25, backfill_phase=0.5"
    assert starts(f"slurm({phases})", tasks=[1, 1, 1]) == [10.25, 10.25, 40.25]
    assert starts(f"slurm({phases}, select=cores)", tasks=[1, 1, 1]) == [10.25, 10.25, 10.25]


def test_generic_resources() -> None:
    """Two nodes have a GPU each: the third job of a GPU waits, and in the main loop so does one of a core."""
    spec = "slurm(main_phase=0.25, backfill=false, select=cores)"
    columns: dict[str, Any] = {"tasks": [1, 1, 1, 1], "gpu": [1, 1, 1, 0]}
    assert starts(spec, **columns) == [10.25, 10.25, 40.25, 40.25]
    assert starts("slurm(main_phase=0.25, select=cores, backfill_phase=0.5)", **columns)[3] == 10.5


def test_nodes_with_most_free_gpus_come_first() -> None:
    """Jobs of a GPU go where 4, 4 and 3 are free; one without goes where fewest cores are free."""
    groups = bl.NodeGroup("a", 1, {"core": 4, "gpu": 2}), bl.NodeGroup("b", 2, {"core": 4, "gpu": 4})
    found = nodes_of("slurm(select=cores)", bl.System(groups), tasks=[1, 1, 1, 1], gpu=[1, 1, 1, 0])
    assert found == [[1], [2], [1], [1]]


@pytest.mark.parametrize("select", ["linear", "cores"])
def test_weights(select: str) -> None:
    """Nodes of the least weight are taken first, others where these are too few."""
    weights = {"a": 7, "b": 1, "c": 3}
    groups = (bl.NodeGroup(name, 2, {"core": 2}, weight=weight) for name, weight in weights.items())
    system = bl.System(tuple(groups))
    found = nodes_of(f"slurm(select={select})", system, tasks=[4, 2, 6], exclusive=[True] * 3)
    assert found == [[2, 3], [4], [0, 1, 5]]


def test_the_least_loaded_nodes() -> None:
    """Jobs are spread: the first two by the numbers of nodes, the third where the greater part is free."""
    system = bl.System((bl.NodeGroup("a", 1, {"core": 4}), bl.NodeGroup("b", 1, {"core": 8})))
    found = nodes_of("slurm(select=cores, cr_lln=true)", system, tasks=[1, 1, 1, 9])
    assert found == [[0], [1], [1], [0, 1]]
    assert nodes_of("slurm(select=cores)", system, tasks=[1, 1, 1]) == [[0], [0], [0]]


def test_jobs_of_one_cpu_at_the_end() -> None:
    """They get the last node while it has a CPU, others what fits best."""
    system = bl.System.homogeneous(nodes=3, resources={"core": 4})
    found = nodes_of("slurm(select=cores, pack_serial_at_end=true)", system, tasks=[1, 1, 2, 1, 1, 1])
    assert found == [[2], [2], [2], [1], [1], [1]]


@pytest.mark.parametrize(
    ("busy_first", "asked", "suitable", "planned"),
    [
        (False, 4, None, [0, 1, 2, 3]),
        (True, 4, None, [0, 1, 3, 4]),
        # As in Slurm: one idle node too many.
        (True, 2, (0, 3, 4), [0, 3, 4]),
    ],
)
def test_plans_on_nodes_in_use(
    busy_first: bool, asked: int, suitable: tuple[int, ...] | None, planned: list[int]
) -> None:
    """Backfill plans a job on nodes that others leave before it plans it on idle ones."""
    parameters = SlurmParameters(select="cores", bf_busy_nodes=busy_first)
    controller = Controller([(4, 0)] * 5, parameters=parameters)
    running = [Held(node, 100.0, [Allotment(node, 4)]) for node in (3, 4)]
    entry = Entry(9, 60.0, nodes=asked, cpus_per_task=4, suitable=suitable)
    outcome = controller.backfill(Situation(0.0, range(5), running, [], [entry]))[0]
    assert (outcome.verdict, outcome.start) == ("planned", 100.0)
    assert [each.node for each in outcome.allotments] == planned


@pytest.mark.parametrize("select", ["linear", "cores"])
def test_features(select: str) -> None:
    """The second job of feature `a` waits; in the main loop it closes the whole partition."""
    groups = (bl.NodeGroup(name, 2, {"core": 2}, features=(name,)) for name in "ab")
    system = bl.System(tuple(groups))
    columns: dict[str, Any] = {"tasks": [4, 4, 4], "constraint": ["a", "a", "b"]}
    spec = f"slurm(select={select}, main_phase=0.25"
    assert starts(f"{spec}, backfill=false)", system, **columns) == [10.25, 40.25, 40.25]
    assert starts(f"{spec}, backfill_phase=0.5)", system, **columns) == [10.25, 40.25, 10.5]
    assert nodes_of(f"{spec})", system, **columns) == [[0, 1], [0, 1], [2, 3]]


@pytest.mark.parametrize("select", ["linear", "cores"])
def test_whole_nodes_with_gpus(select: str) -> None:
    """Jobs that take whole nodes and ask for GPUs take nodes that have some; others any."""
    groups = bl.NodeGroup("plain", 1, {"core": 2}), bl.NodeGroup("gpu", 1, {"core": 2, "gpu": 2})
    found = nodes_of(
        f"slurm(select={select})", bl.System(groups), tasks=[2, 2, 1], gpu=[1, 0, 1], exclusive=[True] * 3
    )
    assert found == [[1], [0], [1]]
