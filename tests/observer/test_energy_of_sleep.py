"""The energy of nodes that sleep: by hand, and what must add up in every run (S21, Power)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from properties.test_sleep import case_of
from support.schedule_runs import events_of, observers_of, options_of, policy_of, workload_of
from support.schedule_systems import system_of

if TYPE_CHECKING:
    from batchlab.seam import View
    from support.schedule_cases import Case

CASES = 120
NODE = bl.NodePower(idle=100, busy=150, per_unit={"core": 10}, drained=20)
OFF = bl.SleepState("off", power=5, enter_time=10, enter_power=80, wake_time=30, wake_power=120)


def powered(case: Case) -> tuple[bl.Result, bl.NodePower]:
    """Run a case whose power is measured."""
    per_unit = {name: 3.0 + place for place, name in enumerate(case.machine.resources)}
    draw = bl.NodePower(idle=90, busy=140, per_unit=per_unit, drained=7)
    result = bl.simulate(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        options=options_of(case),
        observers=[bl.Power(draw), *observers_of(case)],
        events=events_of(case),
    )
    return result, draw


def test_by_hand() -> None:
    """One node: 100 s of a job, 60 s idle, 10 s down, 30 s off, 30 s up with a job, 50 s of that job."""
    workload = bl.Workload.from_table(
        {"submit_time": [0, 200], "run_time": [100, 50], "tasks": [1, 2], "core": [2, 2]}, resources=("core",)
    )
    system = bl.System.homogeneous(nodes=1, resources={"core": 4}, sleep_states=(OFF,))
    result = bl.simulate(workload, system, "fcfs", sleep="timeout(60)", observers=[bl.Power(NODE)])
    assert result.observations["power"].rows() == [
        (0.0, 170.0),
        (100.0, 100.0),
        (160.0, 80.0),
        (170.0, 5.0),
        (200.0, 120.0),
        (230.0, 190.0),
        (280.0, 100.0),
    ]
    # What a node draws as it wakes is of no job.
    assert result.jobs["energy"].to_list() == [70 * 100, 90 * 50]
    states = {"idle": 6000.0, "busy": 17_000.0 + 9500.0, "drained": 0.0}
    states |= {"entering off": 800.0, "off": 150.0, "waking from off": 3600.0}
    energy: Any = result.metrics()["energy"]
    assert energy["states"] == states
    assert energy["total"] == sum(states.values())
    table = result.observations["energy_per_state"]
    assert table.filter(state="off").rows() == [("nodes", "off", 150.0, 30.0)]


def test_transitions_draw_as_an_idle_node_unless_said() -> None:
    """Watts that are not given are those of the idle node."""
    workload = bl.Workload.from_table({"submit_time": [0, 200], "run_time": [1, 1], "tasks": [1, 1]})
    state = bl.SleepState("off", enter_time=10, wake_time=30)
    system = bl.System.homogeneous(nodes=1, resources={"core": 1}, sleep_states=(state,))
    result = bl.simulate(workload, system, "fcfs", sleep="timeout(60)", observers=[bl.Power(NODE)])
    energy: Any = result.metrics()["energy"]
    assert energy["states"]["entering off"] == 1000.0
    assert energy["states"]["waking from off"] == 3000.0


@pytest.mark.parametrize("number", range(CASES))
def test_energy_adds_up(number: int) -> None:
    """States, nodes and the machine agree, and nodes have that of jobs, of idleness, and of sleep."""
    case = case_of(number)
    result, draw = powered(case)
    states = result.observations["energy_per_state"]
    total = float(states["energy"].sum())
    energy: Any = result.metrics().get("energy")
    assert float(result.observations["energy_per_node"]["energy"].sum()) == pytest.approx(total, rel=1e-9)
    assert energy["total"] == pytest.approx(total, rel=1e-9)
    seconds = states.group_by("state").agg(pl.col("node_seconds").sum())
    spent = dict(seconds.rows())
    own = draw.idle * (spent["idle"] + spent["busy"]) + draw.drained * spent["drained"]
    asleep = states.filter(~pl.col("state").is_in(["idle", "busy", "drained"]))
    jobs = float(result.jobs["energy"].sum())
    assert own + float(asleep["energy"].sum()) + jobs == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("number", range(CASES))
def test_states_have_their_watts_times_their_seconds(number: int) -> None:
    """The energy of each sleep state and transition is that of the table of power states."""
    case = case_of(number)
    result, draw = powered(case)
    system = result.system
    lasts = (
        result.power_states.with_columns(lasts=pl.col("end_time") - pl.col("start_time"))
        .cast({"group": pl.String, "state": pl.String})
        .group_by("group", "state")
        .agg(pl.col("lasts").sum())
    )
    seconds = {(group, state): lasted for group, state, lasted in lasts.rows()}
    watts: dict[tuple[str, str], float] = {}
    for group in system.groups:
        for state in group.sleep_states:
            drawn = (state.enter_power, state.power, state.wake_power)
            for label, at in zip(state.labels, drawn, strict=True):
                watts[group.name, label] = draw.idle if at is None else at
    table = result.observations["energy_per_state"]
    for group_name, state_name, energy, node_seconds in table.rows():
        key = (group_name, state_name)
        if key in watts:
            assert node_seconds == pytest.approx(seconds.get(key, 0.0), rel=1e-9, abs=1e-9)
            assert energy == pytest.approx(watts[key] * node_seconds, rel=1e-9)


class Foreseeing(bl.Scheduler):
    """Starts what fits, and checks that the power is then what was said before."""

    def schedule(self, view: View) -> None:
        power = view.values["power"]
        for job in view.candidates():
            foreseen = power.with_job(job)
            if view.start(job):
                assert power.total == foreseen


def test_policies_foresee_the_power_of_waking_nodes() -> None:
    """The power with a job is that which the machine draws once the job has its nodes."""
    checked = 0
    for number in range(80):
        case = case_of(number)
        if case.machine.limits or case.machine.reservations or case.machine.preemption:
            continue
        checked += 1
        bl.simulate(
            workload_of(case),
            system_of(case.machine),
            Foreseeing(),
            options=options_of(case),
            observers=[bl.Power(bl.NodePower(idle=90, busy=140))],
        )
    assert checked > 20
