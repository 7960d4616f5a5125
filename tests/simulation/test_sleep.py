"""Nodes that sleep, by hand (S21)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl

if TYPE_CHECKING:
    from pathlib import Path

OFF = bl.SleepState("off", power=5, enter_time=10, enter_power=80, wake_time=30, wake_power=120)
NAP = bl.SleepState("nap", power=40, wake_time=2)


def system(nodes: int = 2, *states: bl.SleepState) -> bl.System:
    """Give nodes of one core."""
    return bl.System.homogeneous(nodes=nodes, resources={"core": 1}, sleep_states=states or (OFF,))


def jobs(*rows: tuple[float, float, int], **more: list[Any]) -> bl.Workload:
    """Give jobs by submission, run time and tasks."""
    submit_time, run_time, tasks = (list(column) for column in zip(*rows, strict=True))
    return bl.Workload.from_table({"submit_time": submit_time, "run_time": run_time, "tasks": tasks, **more})


def states(result: bl.Result, node: int) -> list[tuple[str, float, float]]:
    """Give what a node was when."""
    table = result.power_states.filter(node=node)
    return table.select("state", "start_time", "end_time").rows()


def test_a_node_sleeps_and_is_booted_for_a_job() -> None:
    """Both nodes go down; the job of one task at 200 boots the first, and holds it meanwhile."""
    result = bl.simulate(jobs((0, 100, 2), (200, 50, 1)), system(), "easy", sleep="timeout(60)")
    assert states(result, 0) == [
        ("on", 0, 160),
        ("entering off", 160, 170),
        ("off", 170, 200),
        ("waking from off", 200, 230),
        ("on", 230, 280),
    ]
    assert states(result, 1)[-1] == ("off", 170, 280)
    assert result.jobs["start_time"].to_list() == [0, 200]
    assert result.jobs["end_time"].to_list() == [100, 280]
    assert result.jobs["launch_time"].to_list() == [0, 30]


def test_a_node_on_its_way_down_goes_there_first() -> None:
    """Chosen at 165, it is off at 170 and on at 200."""
    result = bl.simulate(jobs((0, 100, 1), (165, 50, 1)), system(1), "easy", sleep="timeout(60)")
    assert result.jobs["end_time"].to_list() == [100, 250]
    assert states(result, 0)[1:4] == [
        ("entering off", 160, 170),
        ("waking from off", 170, 200),
        ("on", 200, 250),
    ]


def test_a_job_waits_for_the_slowest_of_its_nodes() -> None:
    """One node naps, the other is off: the launch takes 30 s, and an overhead comes on top of it."""
    groups = (bl.NodeGroup("a", 1, {"core": 1}, (NAP,)), bl.NodeGroup("b", 1, {"core": 1}, (OFF,)))
    workload = jobs((0, 10, 2), (200, 50, 2))
    result = bl.simulate(
        workload, bl.System(groups), "fcfs", sleep="timeout(60)", overheads=bl.Overheads(launch=3)
    )
    assert result.jobs["launch_time"].to_list() == [3, 33]
    assert result.jobs["end_time"].to_list() == [13, 283]


def test_a_ladder_of_states() -> None:
    """It naps after 60 s, and goes from there to being off after 100 s."""
    rules = bl.NodeSleep({"nap": 60, "off": 100})
    result = bl.simulate(jobs((0, 10, 1), (500, 10, 1)), system(1, NAP, OFF), "fcfs", sleep=rules)
    assert states(result, 0)[:4] == [
        ("on", 0, 70),
        ("nap", 70, 110),
        ("entering off", 110, 120),
        ("off", 120, 500),
    ]


def test_limits_count_from_when_the_nodes_are_on() -> None:
    """As in Slurm; or from the start."""
    table = {"submit_time": [0, 200], "run_time": [10, 50], "requested_time": [10, 20], "tasks": [1, 1]}
    workload = bl.Workload.from_table(table, overrun="keep")
    ends = []
    for counted in (False, True):
        rules = bl.NodeSleep(60, counted=counted)
        result = bl.simulate(workload, system(1), "fcfs", sleep=rules, walltime="kill")
        ends.append(result.jobs["end_time"][1])
    # 20 s from 230 on; or from 200 on, which is over by then.
    assert ends == [250, 230]


def test_estimates_begin_when_the_nodes_are_on() -> None:
    """A job that would end too late because its node boots is not backfilled."""
    # The second job boots its node, and is expected to end at 280; the head waits for it. On a sleeping node
    # 60 s from 200 on end at 290, and 50 s at 280.
    for seconds, start in ((60.0, 320.0), (50.0, 200.0)):
        workload = jobs((0, 10, 2), (100, 150, 1), (200, 10, 3), (200, seconds, 1))
        for policy in ("easy", "easy(reservations=2)", "conservative"):
            result = bl.simulate(workload, system(3), policy, sleep=bl.NodeSleep(80))
            expected = [0, 100, 280, start]
            if policy == "conservative":
                # It plans as if nodes were on, and anew where they are not.
                expected[2:] = [200 + 30 + seconds, 200]
            assert result.jobs["start_time"].to_list() == expected, policy


def test_warm_nodes() -> None:
    """Two of four stay on; when one is taken another is woken."""
    rules = bl.NodeSleep(60, keep=2)
    result = bl.simulate(jobs((0, 10, 4), (300, 100, 1), (400, 1, 1)), system(4), "fcfs", sleep=rules)
    assert states(result, 3) == [("on", 0, 70), ("entering off", 70, 80), ("off", 80, 401)]
    assert states(result, 2)[2:] == [("off", 80, 300), ("waking from off", 300, 330), ("on", 330, 401)]
    assert [state for state, _, _ in states(result, 0)] == ["on"]
    assert result.jobs["launch_time"].to_list() == [0, 0, 0]


def test_warm_nodes_by_the_time_of_day() -> None:
    """All nodes are woken at eight, and none stays on after six."""
    rules = bl.NodeSleep(600, keep={"08:00": 2, "18:00": 0})
    day = 86_400.0
    result = bl.simulate(jobs((0, 10, 2), (2 * day, 10, 1)), system(), "fcfs", sleep=rules)
    found = states(result, 0)
    assert ("waking from off", 28_800, 28_830) in found
    assert ("on", 28_830, 64_800) in found
    assert ("waking from off", day + 28_800, day + 28_830) in found


def test_nodes_wake_for_the_queue() -> None:
    """While the first job waits for the busy node, those that sleep are woken, and are on when it starts."""
    workload = jobs((0, 10, 3), (200, 300, 1), (350, 10, 3))
    for wake, end in (("job", 540.0), ("queue", 510.0)):
        rules = bl.NodeSleep.parse(f"timeout(60, wake={wake})")
        result = bl.simulate(workload, system(3, NAP, OFF), "fcfs", sleep=rules)
        assert result.jobs["start_time"].to_list()[2] == 502.0
        # Nodes that nap wake fast; those that are off do not.
        result = bl.simulate(workload, system(3), "fcfs", sleep=rules)
        assert result.jobs["end_time"].to_list()[2] == end + 30


def test_a_job_goes_to_nodes_that_are_on() -> None:
    """Unless these are not enough, or it is to go by the allocator alone."""
    workload = jobs((0, 10, 2), (0, 100, 1), (120, 100, 1))
    for prefer_on, node in ((True, [2]), (False, [0])):
        rules = bl.NodeSleep(60, prefer_on=prefer_on)
        # The third node is idle since 100.
        result = bl.simulate(workload, system(3), "fcfs", sleep=rules)
        assert result.jobs["nodes"].to_list()[2] == node


def test_a_drained_node_is_left_as_it_is() -> None:
    """It does not fall asleep; resumed, its idle time begins anew."""
    events = [
        {"time": 50, "event": "drain", "nodes": "0"},
        {"time": 200, "event": "resume", "nodes": "0"},
    ]
    result = bl.simulate(
        jobs((0, 10, 1), (400, 10, 2)), system(), "fcfs", sleep="timeout(60)", events=bl.EventStream(events)
    )
    assert states(result, 0)[:2] == [("on", 0, 260), ("entering off", 260, 270)]


def test_a_killed_job_leaves_its_node_to_boot() -> None:
    """The transition goes on; the node is idle from its end on."""
    events = bl.EventStream([{"time": 210, "event": "kill", "job_id": 2}])
    result = bl.simulate(
        jobs((0, 10, 1), (200, 10, 1), (500, 1, 1)), system(1), "fcfs", sleep="timeout(60)", events=events
    )
    assert states(result, 0)[3:6] == [
        ("waking from off", 200, 230),
        ("on", 230, 290),
        ("entering off", 290, 300),
    ]
    assert result.jobs["state"].to_list() == ["completed", "killed", "completed"]


def test_forks_and_snapshots_go_on_alike() -> None:
    """Cut anywhere, the run ends as it does in one piece."""
    workload = jobs((0, 100, 2), (165, 50, 2), (220, 500, 1), (900, 5, 2))
    rules = bl.NodeSleep({"nap": 20, "off": 60}, keep=[(0, 0), (600, 1)], wake="queue")
    whole = bl.simulate(workload, system(2, NAP, OFF), "conservative", sleep=rules)
    simulation = bl.Simulation(workload, system(2, NAP, OFF), "conservative", sleep=rules)
    for _ in range(40):
        restored = bl.Simulation.restore(simulation.snapshot(), workload, system(2, NAP, OFF), "conservative")
        for copy in (simulation.fork(), restored):
            copy.run_until()
            assert copy.result().jobs.equals(whole.jobs)
            assert copy.result().power_states.equals(whole.power_states)
        if not simulation.step():
            break


def test_without_rules_no_node_sleeps() -> None:
    """Sleep states alone change nothing, and there is no table of power states."""
    result = bl.simulate(jobs((0, 10, 1), (500, 10, 1)), system(), "fcfs")
    assert result.jobs["end_time"].to_list() == [10, 510]
    with pytest.raises(bl.ResultError, match="no node was to sleep"):
        result.power_states  # noqa: B018


@pytest.mark.parametrize(
    ("machine", "rules", "message"),
    [
        (bl.System.homogeneous(nodes=1, resources={"core": 1}), "timeout(60)", "with sleep states"),
        (system(), "timeout(of=60)", "no sleep state named 'of'. Did you mean 'off'"),
        (
            system(1, NAP, OFF),
            "timeout(nap=60, off=60)",
            r"after\['off'\] = 60; must be above after\['nap'\]",
        ),
    ],
)
def test_rules_that_do_not_fit_the_system(machine: bl.System, rules: str, message: str) -> None:
    """Errors say what to do."""
    with pytest.raises(bl.SimulationError, match=message):
        bl.simulate(jobs((0, 1, 1)), machine, "fcfs", sleep=rules)


def test_files_of_systems(tmp_path: Path) -> None:
    """Sleep states come back from TOML and JSON; errors name the path into the document."""
    described = system(2, NAP, OFF)
    for name in ("machine.toml", "machine.json"):
        bl.write_system(described, tmp_path / name)
        assert bl.read_system(tmp_path / name) == described
    document = json.loads((tmp_path / "machine.json").read_text())
    document["groups"][0]["sleep_states"][0]["wake_time"] = -1
    (tmp_path / "machine.json").write_text(json.dumps(document))
    with pytest.raises(bl.SystemDescriptionError, match=r"groups\[0\].sleep_states\[0\].*wake_time = -1"):
        bl.read_system(tmp_path / "machine.json")
    with pytest.raises(bl.SystemDescriptionError, match="must not be 'on'"):
        bl.SleepState("on")
    with pytest.raises(bl.SystemDescriptionError, match="must be unique"):
        bl.NodeGroup("a", 1, {"core": 1}, (OFF, OFF))


def test_power_states_cover_every_node_and_time() -> None:
    """Each node's rows follow each other without gaps."""
    result = bl.simulate(jobs((5, 10, 1), (300, 10, 3)), system(3), "fcfs", sleep="timeout(60)")
    table = result.power_states.with_columns(before=pl.col("end_time").shift().over("node"))
    assert table.filter(pl.col("before") != pl.col("start_time")).is_empty()
    assert table.group_by("node").agg(pl.col("start_time").min(), pl.col("end_time").max()).sort(
        "node"
    ).rows() == [(node, 5.0, 340.0) for node in range(3)]


class Watching(bl.Scheduler):
    """Starts what fits, and notes what the first node is when it is asked, and once it was given a job."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, str, str]] = []

    def schedule(self, view: bl.View) -> None:
        """Start all."""
        before = view.power_state(0)
        for job in view.candidates():
            view.start(job)
        self.seen.append((view.now, before, view.power_state(0)))
        with pytest.raises(bl.DecisionError, match="node 2"):
            view.power_state(2)


def test_schedulers_see_power_states() -> None:
    """A node wakes as soon as it is given a job."""
    scheduler = Watching()
    workload = jobs((0, 100, 2), (165, 1, 1), (400, 50, 1), (410, 1, 1))
    bl.simulate(workload, system(), scheduler, sleep=bl.NodeSleep(60, prefer_on=False))
    assert scheduler.seen == [
        (0.0, "on", "on"),
        (165.0, "entering off", "entering off"),
        (400.0, "off", "waking from off"),
        (410.0, "waking from off", "waking from off"),
    ]


def test_experiments_keep_power_states(tmp_path: Path) -> None:
    """They are read back from the store."""
    workload = jobs((0, 100, 2), (300, 50, 1))
    options = bl.RunOptions(sleep="timeout(60)")
    runs = bl.Experiment({"few": workload}, system(), ["fcfs", "easy"], options=options).run(store=tmp_path)
    direct = bl.simulate(workload, system(), "easy", options=options)
    stored = runs.results()["easy"][0]
    assert stored.power_states.equals(direct.power_states)
    assert stored.jobs.equals(direct.jobs)
