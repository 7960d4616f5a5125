"""Power and energy: cases computed by hand, random ones beside a brute-force count, and the cap."""

import importlib.util
from dataclasses import replace
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.observer import Steps
from batchlab.seam import View
from support.large_cases import QUICK, big_cases
from support.python_schedulers import FirstFit
from support.schedule_cases import Case, disturbed
from support.schedule_runs import NodeEvents, workload_of
from support.schedule_systems import system_of

TWO_KINDS = bl.System(
    (bl.NodeGroup("thin", 2, {"core": 4, "gpu": 0}), bl.NodeGroup("fat", 1, {"core": 8, "gpu": 2}))
)
DRAWS = {
    "thin": bl.NodePower(idle=100, busy=160, per_unit={"core": 10}, drained=5),
    "fat": bl.NodePower(idle=200, busy=300, per_unit={"core": 12, "gpu": 250}, drained=20),
}


def test_by_hand() -> None:
    """Two jobs share a node, one takes GPUs, a node fails: every joule is where paper and pencil put it."""
    columns = {
        "submit_time": [0.0, 0.0, 10.0],
        "run_time": [100.0, 40.0, 30.0],
        "tasks": [1, 1, 1],
        "core": [3, 1, 2],
        "gpu": [0, 0, 2],
    }
    workload = bl.Workload.from_table(columns, resources=("core", "gpu"))
    # Jobs 1 and 2 share node 0 over [0, 40); job 1 has it alone until 70, and runs again on node 1.
    failures = bl.Failures({"node": [0], "time": [70.0], "repair_time": [50.0]}, on_failure="requeue")
    result = bl.simulate(workload, TWO_KINDS, "first_fit", observers=[bl.Power(DRAWS), failures])
    idle = 100 + 100 + 200
    assert result.observations["power"].rows() == [
        (0.0, idle + 60 + 40),
        (10.0, idle + 60 + 40 + 100 + 24 + 500),
        (40.0, idle + 60 + 30),
        (70.0, 5 + 100 + 60 + 30 + 200),
        (120.0, 100 + 100 + 60 + 30 + 200),
        (170.0, idle),
    ]
    job_1 = 30 * 40 + 30 * 40 + 60 * 30 + 30 * 30 + 90 * 100
    job_2 = 10 * 40 + 30 * 40
    job_3 = (24 + 500 + 100) * 30
    assert result.jobs["energy"].to_list() == pytest.approx([job_1, job_2, job_3], abs=1e-9)
    per_node = result.observations["energy_per_node"]
    node_0 = 100 * 70 + 60 * 70 + 40 * 40 + 30 * 30 + 5 * 50 + 100 * 50
    node_1 = 100 * 170 + 90 * 100
    node_2 = 200 * 170 + job_3
    assert per_node["energy"].to_list() == pytest.approx([node_0, node_1, node_2], abs=1e-9)
    assert per_node["group"].to_list() == ["thin", "thin", "fat"]
    energy = result.metrics()["energy"]
    assert energy == {
        "total": pytest.approx(node_0 + node_1 + node_2, abs=1e-9),
        "jobs": pytest.approx(job_1 + job_2 + job_3, abs=1e-9),
        "mean_power": pytest.approx((node_0 + node_1 + node_2) / 170, abs=1e-9),
        "peak_power": 1124.0,
    }
    assert "energy        27.1 Wh, 9.56 Wh of it by jobs, 1.12 kW at most" in result.summary()


def draw_of(rng: Random, resources: tuple[str, ...]) -> bl.NodePower:
    """Draw what a node draws."""
    idle = rng.choice((0, 50, 99.7))
    per_unit = {name: rng.choice((0, 1, 12.3)) for name in resources if rng.random() < 0.8}
    return bl.NodePower(idle, idle + rng.choice((0, 33.3, 60)), per_unit, drained=rng.choice((0, 7)))


def counted(case: Case, result: bl.Result, draws: list[bl.NodePower]) -> dict[str, object]:
    """Add energies up run by run and node by node, from the first submission to the last change."""
    outcome, log = result.outcome, result.outcome.tables.get("interruptions")
    assert log is not None
    runs: list[tuple[int, float, float, dict[int, int]]] = []
    for starts, ends, placed, rows in (
        (outcome.start_time, outcome.end_time, outcome, range(len(outcome.state))),
        (log["start_time"], log["end_time"], log, log["row"]),
    ):
        names = ("placement_offsets", "placement_nodes", "placement_tasks")
        found = placed if isinstance(placed, dict) else {name: getattr(placed, name) for name in names}
        offsets = found["placement_offsets"]
        for number, row in enumerate(rows):
            part = slice(offsets[number], offsets[number + 1])
            nodes = found["placement_nodes"][part].tolist(), found["placement_tasks"][part].tolist()
            runs.append((int(row), starts[number], ends[number], dict(zip(*nodes, strict=True))))
    times = [time for run in runs for time in run[1:3] if not np.isnan(time)]
    events = [event.time for event in case.node_events if event.time <= outcome.now]
    first = min(job.submit_time for job in case.jobs)
    instants = sorted({first, outcome.now, *times, *(time for time in events if time > first)})
    per_node, per_job = np.zeros(len(draws)), np.zeros(len(case.jobs))
    powers = []
    for begin, end in zip(instants, [*instants[1:], instants[-1]], strict=True):
        power = 0.0
        for node, draw in enumerate(draws):
            there = [run for run in runs if run[1] <= begin < run[2] and node in run[3]]
            watts = draw.lit if there else draw.drained if closed_at(case, node, begin) else draw.idle
            for row, _, _, shares in there:
                job, capacity = case.jobs[row], case.machine.capacity[node]
                held = capacity if job.exclusive else [shares[node] * amount for amount in job.request]
                used = sum(
                    draw.per_unit.get(name, 0) * amount
                    for name, amount in zip(case.machine.resources, held, strict=True)
                )
                watts += used
                per_job[row] += (used + (draw.lit - draw.idle) / len(there)) * (end - begin)
            per_node[node] += watts * (end - begin)
            power += watts
        powers.append((begin, power))
    return {"nodes": per_node, "jobs": per_job, "powers": powers}


def closed_at(case: Case, node: int, time: float) -> bool:
    """Tell whether a node is closed."""
    acts = [e.act for e in case.node_events if e.node == node and e.act != "withhold" and e.time <= time]
    return bool(acts) and acts[-1] == "close"


@QUICK
@given(big_cases(), st.integers(0, 2**32))
def test_brute_force_counts_the_same(case: Case, seed: int) -> None:
    """Steps, and the energies of nodes and jobs, are those of a count at every instant."""
    rng = Random(seed)  # noqa: S311 - no secret
    case = disturbed(replace(case, jobs=case.jobs[:40], walltime="run"), rng)
    system = system_of(case.machine)
    of_groups = {group.name: draw_of(rng, system.resources) for group in system.groups}
    draws = [of_groups[group.name] for group in system.groups for _ in range(group.count)]
    power = bl.Power(of_groups)
    result = bl.simulate(workload_of(case), system, "first_fit", observers=[power, NodeEvents(case)])
    expected = counted(case, result, draws)
    largest = 1 + max(draw.lit for draw in draws) * result.outcome.now * len(draws)
    observed = result.observations
    assert observed["energy_per_node"]["energy"].to_numpy() == pytest.approx(
        expected["nodes"], abs=1e-9 * largest
    )
    assert observed["jobs"]["energy"].to_numpy() == pytest.approx(expected["jobs"], abs=1e-9 * largest)
    steps = Steps(observed["power"]["time"].to_numpy(), observed["power"]["power"].to_numpy())
    powers = expected["powers"]
    assert isinstance(powers, list)
    for time, watts in powers:
        assert steps.at(time) == pytest.approx(watts, abs=1e-6)
    assert steps.integral(steps.times[0], result.outcome.now) == pytest.approx(
        float(observed["energy_per_node"]["energy"].sum()), abs=1e-9 * largest
    )


class Exact(FirstFit):
    """Checks on the way what it is told of the power."""

    def schedule(self, view: View) -> None:
        """Start what fits, and compare what was foretold with what came."""
        power = view.values["power"]
        for job in view.candidates():
            foretold, before, added = power.with_job(job), power.total, power.added_by(job)
            if view.start(job):
                assert power.total == foretold
                assert added == foretold - before
                assert power.nodes.sum() == pytest.approx(foretold)
            else:
                assert foretold is None
                assert not power.allows(job)


@QUICK
@given(big_cases(), st.integers(0, 2**32))
def test_foretold_power_is_exact(case: Case, seed: int) -> None:
    """What a start would add is what it adds, to the last bit, also between two starts of one pass."""
    rng = Random(seed)  # noqa: S311 - no secret
    case = disturbed(case, rng)
    power = bl.Power(draw_of(rng, case.machine.resources))
    named: Any = case
    policy = bl.Policy(case.order_text, allocator=named.allocator, scheduler=Exact())
    bl.simulate(
        workload_of(case),
        system_of(case.machine),
        policy,
        seed=case.seed,
        observers=[power, NodeEvents(case)],
    )


def example(name: str) -> object:
    """Import an example."""
    path = Path(__file__).parents[2] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@QUICK
@given(big_cases(), st.integers(0, 2**32))
def test_example_keeps_to_the_cap(case: Case, seed: int) -> None:
    """Whatever the jobs and however the cap moves above what idle nodes draw: it is never exceeded."""
    rng = Random(seed)  # noqa: S311 - no secret
    mended = [replace(job, requested_time=max(job.run_time, job.requested_time)) for job in case.jobs]
    case = replace(case, jobs=tuple(mended))
    draw = draw_of(rng, case.machine.resources)
    system = system_of(case.machine)
    idle = sum(draw.idle * group.count for group in system.groups)
    used = sum(draw.per_unit.get(name, 0) * amount for name, amount in system.total.items())
    most = system.nodes * (draw.lit - draw.idle) + used
    last = max(job.submit_time for job in case.jobs)
    times = sorted({0.0, *(rng.uniform(0, 2 * last + 10) for _ in range(rng.randint(0, 5)))})
    cap = Steps(times, [idle + rng.choice((0, rng.random(), 1)) * most for _ in times])
    scheduler = example("power_capped").PowerCapped()  # type: ignore[attr-defined]
    named: Any = case
    policy = bl.Policy(case.order_text, allocator=named.allocator, scheduler=scheduler)
    result = bl.simulate(workload_of(case), system, policy, observers=[bl.Power(draw, cap=cap)])
    drawn = Steps(*result.observations["power"].select("time", "power"))
    first, end = drawn.times[[0, -1]].tolist()
    for time in {*drawn.times.tolist(), *(time for time in times if first <= time <= end)}:
        assert drawn.at(time) <= cap.at(time)


def test_a_cap_below_nothing_is_refused() -> None:
    """A machine cannot draw less than nothing."""
    with pytest.raises(bl.ObserverError, match=r"cap = -1; must be >= 0"):
        bl.Power(bl.NodePower(idle=10), cap=Steps([0, 60], [100, -1]))


def test_policy_is_asked_when_the_cap_rises() -> None:
    """A job that the cap forbids starts when the cap allows it, though nothing else happens then."""
    workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [50.0], "tasks": [4]})
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    power = bl.Power(bl.NodePower(10, per_unit={"core": 5}), cap={"time": [0, 700], "value": [25, 30.0]})
    scheduler = example("power_capped").PowerCapped()  # type: ignore[attr-defined]
    result = bl.simulate(workload, system, scheduler, observers=[power])
    assert result.jobs["start_time"].to_list() == [700.0]


def test_fork_measures_on() -> None:
    """A fork has a meter of its own, and so has a policy that kept what it was given."""

    class Keeper(FirstFit):
        def begin(self, view: View) -> None:
            self.power = view.values["power"]

        def schedule(self, view: View) -> None:
            super().schedule(view)
            assert self.power.total == view.values["power"].total

    workload = bl.Workload.from_table({"submit_time": [0.0, 5.0], "run_time": [50.0, 50.0], "tasks": [4, 4]})
    system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    simulation = bl.Simulation(workload, system, Keeper(), observers=[bl.Power(bl.NodePower(10, 30))])
    simulation.run_until(20.0)
    fork = simulation.fork()
    fork.run_until()
    assert simulation.result().observations["energy_per_node"]["energy"].item() == 150.0
    assert simulation.result().jobs["energy"].to_list() == [100.0, 0.0]
    assert fork.result().observations["energy_per_node"]["energy"].item() == 3000.0
    assert fork.result().jobs["energy"].to_list() == [1000.0, 1000.0]


def test_without_a_cap() -> None:
    """Without a cap there is none."""
    seen = []

    class Looker(FirstFit):
        def begin(self, view: View) -> None:
            power = view.values["power"]
            seen.append((power.cap, power.lowest_cap(inf), power.energy, repr(power)))

    workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [50.0], "tasks": [1]})
    system = bl.System.homogeneous(nodes=2, resources={"core": 4})
    bl.simulate(workload, system, Looker(), observers=[bl.Power(bl.NodePower(10))])
    assert seen == [(inf, inf, 0.0, "<PowerNow: 20 W of at most inf W>")]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bl.NodePower(-1), r"idle = -1; must be a number of watts from 0 to 10\^15"),
        (lambda: bl.NodePower(1e308), r"idle = 1e\+308; must be a number of watts from 0"),
        (lambda: bl.NodePower(10, 5), "busy = 5 W; must not be below idle = 10 W"),
        (lambda: bl.NodePower(10, per_unit={"core": inf}), r"per_unit\['core'\] = inf"),
        (lambda: bl.Power(bl.NodePower(1), cap="nowhere.csv"), "Power: cap: nowhere.csv: No such file"),
        (
            lambda: run_with(bl.NodePower(1, per_unit={"cores": 1})),
            "no resource named 'cores'. Did you mean 'core'",
        ),
        (lambda: run_with({"thin": bl.NodePower(1)}), "what do nodes of group 'fat' draw"),
        (
            lambda: run_with({**DRAWS, "fatt": bl.NodePower(1)}),
            "no node group named 'fatt'. Did you mean 'fat'",
        ),
    ],
)
def test_errors(make: object, message: str) -> None:
    """What is wrong is named, with the rule."""
    assert callable(make)
    with pytest.raises(bl.ObserverError, match=message):
        make()


def run_with(nodes: bl.NodePower | dict[str, bl.NodePower]) -> bl.Result:
    """Run one job on the two kinds of nodes."""
    workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [5.0], "tasks": [1]})
    return bl.simulate(workload, TWO_KINDS, "fcfs", observers=[bl.Power(nodes)])


def test_tables() -> None:
    """The observations have the columns that they promise; jobs' energy stands among the results."""
    result = run_with(bl.NodePower(1))
    assert result.observations["energy_per_node"].schema == {
        "node": pl.UInt32,
        "group": pl.String,
        "energy": pl.Float64,
    }
    assert result.jobs.columns[-3:] == ["allocated_core", "allocated_gpu", "energy"]
