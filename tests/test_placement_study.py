"""The studies of placement do what their paper says, and agree with what is known by other ways."""

import importlib.util
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import batchlab as bl
import reference

EXAMPLES = Path(__file__).parents[1] / "examples"


def load(name: str) -> ModuleType:
    """Load an example as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_fcfs_is_that_of_the_recursion_and_of_plain_python() -> None:
    """Section 3.1: every start, and so free nodes and running jobs at all instants."""
    study = load("fcfs_validation")
    workload = bl.generate.lublin(300, nodes=study.NODES, seed=3)
    result = bl.simulate(workload, bl.System.homogeneous(nodes=study.NODES, resources={"core": 1}), "fcfs")
    starts = result.jobs["start_time"].to_list()
    assert starts == study.recursion(workload).tolist()
    rows = workload.jobs.select("submit_time", "run_time", "requested_time", "tasks").iter_rows(named=True)
    jobs = [reference.Job(row=row, request=(1,), **values) for row, values in enumerate(rows)]
    machine = reference.Machine(("core",), [(1,)] * study.NODES)
    assert starts == [done.start_time for done in reference.simulate(jobs, machine)]
    ours, theirs = study.course_of(result), study.course_of_starts(workload, np.array(starts))
    assert study.differing(ours, theirs) == 0
    assert study.differing(ours._replace(free=ours.free + 1), theirs) == len(theirs.time)
    assert (theirs.free[-1], theirs.running[-1]) == (study.NODES, 0)


@pytest.mark.parametrize(
    ("per_node", "boxes", "blocks"),
    [
        (16, "8/5 8/5 9/10 9/10", "8/5 27/10 5/2 12/5"),
        (1, "129/40 29/10 29/10 1439/320", "129/40 39/10 4 39/10"),
    ],
)
def test_hops_of_an_allreduce_are_exact(per_node: int, boxes: str, blocks: str) -> None:
    """Section 3.3: the means of recursive doubling over 1,024 ranks, worked out as fractions."""
    study = load("task_mapping")
    results = study.study([1024], per_node)
    for what, expected in (("boxes", boxes), ("blocks", blocks)):
        runs = results[what]["1,024 ranks"].values()
        found = [Fraction(run.messages["mean_hops"][0]).limit_denominator(1000) for run in runs]
        assert found == [Fraction(each) for each in expected.split()]
        assert all(0 < run.jobs["end_time"][0] < 1e-4 for run in runs)


def test_jobs_beside_each_other_take_longer() -> None:
    """Section 3.4: no job is faster than alone, one job is as fast, and nine are about twice as slow."""
    study = load("interference")
    platform = study.cielo(full=False)
    one, nine = (study.compared([study.together(jobs, 0, platform)])[1] for jobs in (1, 9))
    assert one.tolist() == [pytest.approx(1, rel=1e-9)]
    assert len(nine) == 9
    assert (nine > 1 - 1e-9).all()
    assert 1.5 < nine.mean() < 3


@pytest.mark.campaign
def test_nine_jobs_fill_cielo() -> None:
    """Section 3.4 at full size: the paper's slowdown is 2.5, an estimate by flows alone 2.3 to 3."""
    study = load("interference")
    platform = study.cielo(full=True)
    one, nine = (study.compared([study.together(jobs, 0, platform)])[0] for jobs in (1, 9))
    assert 2.3 <= nine.mean() / one.mean() <= 3.0


def test_hop_bytes_are_those_of_the_neighbours() -> None:
    """Section 3.4: each rank sends 512 bytes to its neighbours in the periodic box."""
    study = load("stencil_among_jobs")
    scale, sides = study.SMALL, (2, 2, 2)
    target = bl.JobDescription(
        tasks=scale.ranks,
        requested_time=60,
        others={
            "app_name": "stencil_3d",
            "app_args": f"size=512, sides={list(scale.sides)}",
            "mixed": "target",
            "exclusive": True,
        },
    )
    found = study.hop_bytes(bl.Workload.from_jobs([target]), scale, sides)
    system = bl.System.of(study.machine(scale))
    nodes = bl.placement.packed(bl.placement.box_order(system, sides), scale.ranks, 16)
    points = list(np.ndindex(*reversed(scale.sides)))
    number = {point: rank for rank, point in enumerate(points)}
    pairs = {
        (rank, number[tuple(np.mod(np.add(point, step), scale.sides[::-1]).tolist())])
        for rank, point in enumerate(points)
        for step in np.vstack((np.eye(3, dtype=int), -np.eye(3, dtype=int)))
    }
    assert found.tolist() == [512 * bl.placement.hops(system, nodes, pairs).total]


def test_targets_meet_other_states_of_the_machine() -> None:
    """Section 3.4: the same stencil has other hop-bytes from run to run."""
    study = load("stencil_among_jobs")
    scale = study.SMALL._replace(most=256)
    found = study.hop_bytes(study.mixed(scale, 0), scale, (2, 2, 2))
    assert len(found) == study.TARGETS
    assert len(set(found.tolist())) > 2
