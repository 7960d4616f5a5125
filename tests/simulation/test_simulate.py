"""The one verb: its options, its errors, and what it does with requests that a machine cannot grant."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import batchlab as bl


def starts(result: bl.Result) -> list[float | None]:
    return result.jobs["start_time"].to_list()


def test_schedule(four: bl.Workload, pair: bl.System) -> None:
    """The schedule that one finds by hand; the options of the run are kept."""
    result = bl.simulate(four, pair, "fcfs", seed=7)
    assert starts(result) == [0, 10, 20, 20]
    assert result.jobs["end_time"].to_list() == [10, 20, 20, 21]
    assert result.jobs["nodes"].to_list() == [[0, 1], [0], [0, 1], [0]]
    assert result.jobs["allocated_core"].to_list() == [2, 1, 2, 1]
    assert result.options == bl.RunOptions(seed=7)
    assert result.policy == bl.Policy()


def test_policy_as_object_or_text(four: bl.Workload, pair: bl.System) -> None:
    """A policy and its spec string are the same to `simulate`."""
    policy = bl.Policy(order="sjf", backfill="easy")
    one, other = (bl.simulate(four, pair, each) for each in (policy, str(policy)))
    assert one.jobs.equals(other.jobs)
    assert one.policy == other.policy


def test_walltime(pair: bl.System) -> None:
    """A job runs on past its limit, or is killed there."""
    jobs = {"submit_time": [0], "run_time": [10], "requested_time": [6], "tasks": [1]}
    workload = bl.Workload.from_table(jobs, overrun="keep")
    ends = {}
    for walltime in ("run", "kill"):
        job = bl.simulate(workload, pair, "fcfs", walltime=walltime).jobs.row(0, named=True)
        ends[walltime] = job["state"], job["end_time"]
    assert ends == {"run": ("completed", 10), "kill": ("killed", 6)}


def test_seed_is_that_of_the_allocator(pair: bl.System) -> None:
    """The run's seed moves what is placed at random, not the order `random`, which has its own."""
    jobs = {"submit_time": [0] * 30, "run_time": [1] * 30, "tasks": [1] * 30}
    workload = bl.Workload.from_table(jobs)
    first, again, other = (
        bl.simulate(workload, pair, "random(3, allocator=random)", seed=seed) for seed in (0, 0, 1)
    )
    assert first.jobs.equals(again.jobs)
    assert starts(first) == starts(other)
    assert first.jobs["nodes"].to_list() != other.jobs["nodes"].to_list()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"walltime": "forever"}, r"walltime = 'forever'; must be 'run' or 'kill'"),
        ({"order_at_instant": 1}, r"order_at_instant = 1; must be 'completions_first', 'arrivals_first' or"),
        ({"seed": -1}, r"seed = -1; must be a whole number from 0 to 2\^64 - 1"),
        ({"seed": 2**64}, r"seed = 18446744073709551616; must be a whole number from 0 to 2\^64 - 1"),
        ({"seed": 1.0}, r"seed = 1\.0; must be a whole number"),
        ({"seed": True}, r"seed = True; must be a whole number"),
    ],
)
def test_wrong_options(
    four: bl.Workload, pair: bl.System, options: Mapping[str, object], message: str
) -> None:
    """An option's error names it, its value and what it must be."""
    with pytest.raises(bl.SimulationError, match=message):
        bl.simulate(four, pair, "fcfs", **options)  # type: ignore[arg-type]  # that is the point


def test_unknown_policy(four: bl.Workload, pair: bl.System) -> None:
    """A wrong spec is the policy's error."""
    with pytest.raises(bl.PolicyNotFound, match=r"no policy named 'esay'\. Did you mean 'easy'\?"):
        bl.simulate(four, pair, "esay")
    with pytest.raises(bl.PolicyError, match=r"At character 12 of 'easy\(order=\)'"):
        bl.simulate(four, pair, "easy(order=)")


class TestFormulas:
    """Orders by the user's formula."""

    def test_column_of_the_workload(self, pair: bl.System) -> None:
        """A formula may name any column of numbers that rides along."""
        jobs = {"submit_time": [0] * 3, "run_time": [1] * 3, "tasks": [2] * 3, "priority": [3, 1, 2]}
        workload = bl.Workload.from_table(jobs)
        assert starts(bl.simulate(workload, pair, 'expression("priority")')) == [2, 0, 1]
        assert starts(bl.simulate(workload, pair, 'expression("-priority * tasks")')) == [0, 2, 1]

    def test_missing_values(self, pair: bl.System) -> None:
        """A missing value makes the key no number, which counts as 0."""
        jobs = {"submit_time": [0] * 3, "run_time": [1] * 3, "tasks": [2] * 3, "priority": [1, None, -1]}
        result = bl.simulate(bl.Workload.from_table(jobs), pair, 'expression("priority")')
        assert starts(result) == [2, 1, 0]

    @pytest.mark.parametrize(
        ("formula", "message"),
        [
            ("priority +", r"must stand here, not the end\. At character 11 of the formula"),
            ("2 * (tasks", r"At character \d+ of the formula"),
            ("now - colour", r"no column named 'colour'.*At character 7 of the formula"),
            ("run_time", r"run_time is hidden from schedulers; requested_time is what they see"),
        ],
    )
    def test_wrong_formulas(self, four: bl.Workload, pair: bl.System, formula: str, message: str) -> None:
        """The error names the policy, what is wrong, and where in the formula."""
        with pytest.raises(bl.PolicyError, match=rf'^expression\("{formula[:3]}.*{message}'):
            bl.simulate(four, pair, f'expression("{formula}")')

    def test_column_of_text(self, four: bl.Workload, pair: bl.System) -> None:
        """Names of people have no order."""
        with pytest.raises(
            bl.BatchlabError, match=r"column 'user' is String; a formula can only use columns"
        ):
            bl.simulate(four, pair, 'expression("user")')


class TestRequests:
    """What jobs ask for, on machines that may lack it."""

    def test_equivalence(self) -> None:
        """A processor of a log is what the system says: here a core and two units of memory."""
        system = bl.System.homogeneous(
            nodes=1, resources={"core": 4, "mem": 6}, equivalence={"core": 1, "mem": 2}
        )
        jobs = {"submit_time": [0, 0, 0], "run_time": [5, 5, 5], "tasks": [3, 1, 4]}
        table = bl.simulate(bl.Workload.from_table(jobs), system, "first_fit").jobs
        assert table["start_time"].to_list() == [0, 5, None]
        assert table["allocated_mem"].to_list() == [6, 2, 0]

    def test_equivalence_is_for_processors_only(self) -> None:
        """A job that says how many cores each task takes is taken at its word; memory rides beside."""
        system = bl.System.homogeneous(nodes=1, resources={"core": 4, "mem": 9}, equivalence={"core": 2})
        jobs = {"submit_time": [0, 0], "run_time": [5, 5], "tasks": [2, 2], "mem": [1, 1]}
        asked = bl.Workload.from_table({**jobs, "core": [1, 1]})
        assert starts(bl.simulate(asked, system, "fcfs")) == [0, 0]
        table = bl.simulate(bl.Workload.from_table(jobs), system, "fcfs").jobs
        assert table["start_time"].to_list() == [0, 5]
        assert table["allocated_core"].to_list() == [4, 4]
        assert table["allocated_mem"].to_list() == [2, 2]

    def test_resource_that_the_system_lacks(self, pair: bl.System) -> None:
        """Who asks for it is rejected, and recorded; who asks for none of it runs."""
        jobs = {"submit_time": [0, 0], "run_time": [5, 5], "tasks": [1, 1], "gpu": [1, 0]}
        table = bl.simulate(bl.Workload.from_table(jobs), pair, "fcfs").jobs
        assert table["state"].to_list() == ["rejected", "completed"]
        assert table["start_time"].to_list() == [None, 0]
        assert table["nodes"].to_list() == [[], [0]]

    def test_too_much(self, pair: bl.System) -> None:
        """What can never fit is rejected, and does not block those behind it."""
        jobs = {"submit_time": [0, 0], "run_time": [5, 5], "tasks": [3, 2]}
        table = bl.simulate(bl.Workload.from_table(jobs), pair, "fcfs").jobs
        assert table["state"].to_list() == ["rejected", "completed"]

    def test_empty_workload(self, pair: bl.System) -> None:
        """No jobs, no events: every table is there, and empty."""
        empty = bl.Workload.from_table({"submit_time": [], "run_time": [], "tasks": []})
        result = bl.simulate(empty, pair, "easy", dispatch=True)
        assert result.jobs.is_empty()
        assert result.dispatch.is_empty()
        assert result.timeline.is_empty()
        assert "no jobs" in result.summary()


class TestDispatch:
    """The cost of scheduling passes."""

    def test_one_pass_per_instant(self, four: bl.Workload, pair: bl.System) -> None:
        """Each pass tells how many waited when it began and how many it started; zero times make another."""
        table = bl.simulate(four, pair, "fcfs", dispatch=True).dispatch
        assert table.select("time", "queue_length", "started").rows() == [
            (0, 2, 1),
            (5, 2, 0),
            (10, 3, 1),
            (20, 2, 1),
            (20, 1, 1),
            (21, 0, 0),
        ]
        assert table.schema["cpu_time"] == pl.Float64
        assert (table["cpu_time"] >= 0).all()
        assert table.columns[2:5] == ["cpu_time", "other_cpu_time", "memory"]
        assert table["other_cpu_time"][0] == 0
        assert (table["other_cpu_time"][1:] > 0).all()
        if Path("/proc/self/statm").exists():
            assert (table["memory"] > 10_000_000).all()

    def test_one_pass_per_event(self, four: bl.Workload, pair: bl.System) -> None:
        """With arrivals first each submission and each completion has its own pass."""
        result = bl.simulate(four, pair, "fcfs", dispatch=True, order_at_instant="arrivals_first")
        assert result.dispatch["time"].to_list() == [0, 0, 5, 10, 10, 20, 20, 21]

    def test_not_asked_for(self, four: bl.Workload, pair: bl.System) -> None:
        """Without dispatch=True nothing is recorded."""
        with pytest.raises(bl.ResultError, match=r"pass dispatch=True to simulate\(\)"):
            _ = bl.simulate(four, pair, "fcfs").dispatch


def test_repeated_runs_leave_inputs_alone(four: bl.Workload, pair: bl.System) -> None:
    """A workload can be simulated again and again."""
    before = four.jobs.clone()
    first, second = (bl.simulate(four, pair, "conservative").jobs for _ in range(2))
    assert first.equals(second)
    assert four.jobs.equals(before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": None}, "policy = None; must be a Policy"),
        ({"system": None}, "system = None; must be a System"),
        ({"workload": [1]}, r"workload = \[1\]; must be a Workload"),
    ],
)
def test_wrong_kinds(four: bl.Workload, pair: bl.System, arguments: dict[str, Any], message: str) -> None:
    """What is no policy, system or workload is named, with what to give instead."""
    with pytest.raises(bl.BatchlabError, match=message):
        bl.simulate(**{"workload": four, "system": pair, "policy": "easy", **arguments})


def test_a_formula_knows_the_columns_of_its_workload(pair: bl.System) -> None:
    """A misspelt column is told from those that are there."""
    table = {"submit_time": [0], "run_time": [1], "tasks": [1], "priority": [3]}
    with pytest.raises(bl.PolicyError, match=r"no column named 'priorty'\. Did you mean 'priority'"):
        bl.simulate(bl.Workload.from_table(table), pair, 'expression("priorty")')
