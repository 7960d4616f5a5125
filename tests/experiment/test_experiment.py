"""Experiments: what is crossed, what is kept, what comes out."""

from __future__ import annotations

import dataclasses
import json
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.experiment import Experiment, LogFile
from batchlab.experiment.store import Store
from batchlab.result.table import PASS_COSTS
from support.experiments import COSTS, SYSTEM, failing, made, small

if TYPE_CHECKING:
    from pathlib import Path


def journal(store: Path) -> list[str]:
    """Give the events of a store, in order."""
    lines = (store / "journal.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line)["event"] for line in lines]


def test_everything_is_crossed(tmp_path: Path) -> None:
    """2 workloads × 2 systems × 3 policies × 2 seeds × 2 replications are 48 runs, in this order."""
    systems = [SYSTEM, bl.System.homogeneous(nodes=4, resources={"core": 4})]
    workloads = {"few": small(5), "many": small(9)}
    experiment = Experiment(workloads, systems, ["fcfs", "sjf", "easy"], seeds=(3, 4), replications=2)
    assert len(experiment) == 48
    table = experiment.run(store=tmp_path / "runs").table
    assert table.height == 48
    assert table.row(0)[1:6] == ("few", "pair", "fcfs", 3, 0)
    assert table.row(1)[1:6] == ("few", "pair", "fcfs", 3, 1)
    assert table.row(4)[1:4] == ("few", "pair", "sjf")
    assert table.row(47)[1:6] == ("many", "4 nodes", "easy", 4, 1)
    assert table["status"].unique().to_list() == ["done"]


def test_numbers_are_those_of_simulate(tmp_path: Path) -> None:
    """A row has the measures that the run has by itself, and a result its tables."""
    runs = Experiment(small(), SYSTEM, "easy(order=sjf)", dispatch=True).run(store=tmp_path / "runs")
    alone = bl.simulate(small(), SYSTEM, "easy(order=sjf)", dispatch=True)
    row = runs.table.row(0, named=True)
    metrics = alone.metrics()
    assert row["wait_mean"] == metrics["wait"]["mean"]  # type: ignore[index]
    assert row["utilisation_core"] == metrics["utilisation"]["core"]  # type: ignore[index]
    assert row["jobs_completed"] == 20
    assert row["dispatch_passes"] == alone.dispatch.height
    stored = runs.results()["easy(order=sjf)"][0]
    assert stored.jobs.equals(alone.jobs)
    assert stored.jobs.schema == alone.jobs.schema
    assert stored.placements.equals(alone.placements)
    assert stored.timeline.equals(alone.timeline)
    assert stored.metrics() == metrics
    assert stored.metrics(threshold=60) == alone.metrics(threshold=60)
    assert stored.dispatch.schema == alone.dispatch.schema
    assert stored.dispatch.drop(PASS_COSTS).equals(alone.dispatch.drop(PASS_COSTS))
    assert stored.dispatch["cpu_time"].sum() == pytest.approx(row["dispatch_cpu_time"])
    assert stored.options == alone.options
    assert stored.elapsed == row["elapsed"]
    assert stored.summary().startswith("workload      20 jobs")


def test_what_is_finished_is_not_repeated(tmp_path: Path) -> None:
    """A second time nothing is run; a further policy adds its own runs only."""
    store = tmp_path / "runs"
    first = Experiment(small(), SYSTEM, ["fcfs", "sjf"], seeds=(0, 1)).run(store=store)
    again = Experiment(small(), SYSTEM, ["fcfs", "sjf"], seeds=(0, 1)).run(store=store)
    assert journal(store).count("started") == 4
    assert again.table.equals(first.table)
    Experiment(small(), SYSTEM, ["fcfs", "sjf", "easy"], seeds=(0, 1)).run(store=store)
    assert journal(store).count("started") == 6


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"workloads": small(21)}, id="workload"),
        pytest.param({"systems": bl.System.homogeneous(nodes=3, resources={"core": 4})}, id="system"),
        pytest.param({"policies": "fcfs(allocator=best_fit)"}, id="policy"),
        pytest.param({"seeds": 1}, id="seed"),
        pytest.param({"walltime": "kill"}, id="option"),
        pytest.param({"dispatch": True}, id="record of passes"),
    ],
)
def test_a_run_is_known_by_all_that_determines_it(other: dict[str, object], tmp_path: Path) -> None:
    """Whatever is changed, the run is another."""
    parts: dict[str, object] = {"workloads": small(), "systems": SYSTEM, "policies": "fcfs"}
    Experiment(**parts).run(store=tmp_path / "runs")  # type: ignore[arg-type]
    Experiment(**{**parts, **other}).run(store=tmp_path / "runs")  # type: ignore[arg-type]
    assert journal(tmp_path / "runs").count("finished") == 2


OTHER_GROUPS: dict[str, Any] = {
    "name": "large",
    "count": 3,
    "resources": {"core": 8},
    "sleep_states": (bl.SleepState("off", enter_time=5, wake_time=60),),
    "weight": 7,
    "features": ("fast",),
}
"""Another value of each field of a group of nodes."""


@pytest.mark.parametrize("field", [each.name for each in dataclasses.fields(bl.NodeGroup)])
def test_a_run_is_known_by_every_field_of_its_nodes(field: str, tmp_path: Path) -> None:
    """Systems that differ in one field of a group have runs of their own."""
    group = bl.NodeGroup("nodes", 2, {"core": 4})
    other = dataclasses.replace(group, **{field: OTHER_GROUPS[field]})
    for each in (group, other):
        Experiment(small(), bl.System((each,)), "fcfs").run(store=tmp_path / "runs")
    assert journal(tmp_path / "runs").count("finished") == 2


def test_labels_do_not_bear_on_what_is_run(tmp_path: Path) -> None:
    """Runs that differ in labels alone are done once, and stand in the table under both."""
    policies = {"one": "easy", "other": bl.Policy(backfill="easy")}
    progress: list[tuple[int, int]] = []
    experiment = Experiment(small(), SYSTEM, policies)
    table = experiment.run(store=tmp_path / "runs", progress=lambda *at: progress.append(at)).table
    assert table["policy"].to_list() == ["one", "other"]
    assert table["run"].n_unique() == 1
    assert journal(tmp_path / "runs").count("started") == 1
    assert progress == [(0, 2), (2, 2)]


def test_a_failed_run_stops_no_other(tmp_path: Path) -> None:
    """Its error is in the table of failures, with the place where it was raised; later it is tried again."""
    store = tmp_path / "runs"
    runs = Experiment(failing, SYSTEM, ["fcfs", "sjf"], seeds=range(4)).run(store=store)
    assert runs.table["status"].to_list() == ["done", "failed"] * 4
    assert runs.table.filter(status="failed")["wait_mean"].null_count() == 4
    assert repr(runs) in {"<Runs: 4 done, 4 failed>", "<Runs: 4 failed, 4 done>"}
    failure = runs.failures.row(0, named=True)
    assert (failure["policy"], failure["seed"]) == ("fcfs", 1)
    assert (failure["error"], failure["message"]) == ("RuntimeError", "no workload for seed 1")
    assert "experiments.py" in failure["traceback"]
    assert len(runs.results()["fcfs"]) == 2
    Experiment(failing, SYSTEM, ["fcfs", "sjf"], seeds=range(4)).run(store=store)
    assert journal(store).count("started") == 8 + 4


def test_a_failure_that_is_mended_is_forgotten(tmp_path: Path) -> None:
    """The store holds a run's failure until the run succeeds."""
    store = tmp_path / "runs"
    experiment = Experiment(failing, SYSTEM, "fcfs", seeds=1)
    experiment.run(store=store)
    assert experiment.load(store).failures.height == 1
    key = experiment.plan()[0].key
    Store(store).write_record(key, {})
    assert experiment.load(store).failures.height == 0


def test_replications_have_workloads_of_their_own(tmp_path: Path) -> None:
    """A function is called with one seed per replication, the same for all policies."""
    table = (
        Experiment(made, SYSTEM, ["fcfs", "sjf"], seeds=(7, 8), replications=3)
        .run(store=tmp_path / "runs")
        .table
    )
    jobs = table["jobs_submitted"].to_list()
    assert jobs[:6] == jobs[6:]
    assert len({*jobs[:6]}) > 3
    seeds = table["run_seed"].to_list()
    assert (seeds[0], seeds[3]) == (7, 8)
    assert len({*seeds}) == 6


def test_replications_of_chance_differ(tmp_path: Path) -> None:
    """A policy that draws lots gives another schedule in each replication, the same at any time."""
    experiment = Experiment(small(60, 3.0), SYSTEM, "fcfs(allocator=random)", replications=4)
    one, other = (experiment.run(store=tmp_path / name) for name in ("a", "b"))
    nodes = [tuple(map(tuple, result.jobs["nodes"])) for result in one.results()["fcfs(allocator=random)"]]
    assert len({*nodes}) == 4
    assert one.table.drop(COSTS).equals(other.table.drop(COSTS))


def test_logs_are_read_where_they_are_needed(tmp_path: Path) -> None:
    """A path stands for the log in it, an option of reading for another workload."""
    log = tmp_path / "tiny.swf"
    log.write_text("1 0 -1 100 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n")
    workloads = [str(log), LogFile(log, {"overrun": "cut"})]
    with pytest.raises(
        bl.ExperimentError, match=r"workloads: two are called 'tiny'. Give a mapping of labels"
    ):
        Experiment(workloads, SYSTEM, "fcfs")
    labelled = dict(zip(("whole", "cut"), workloads, strict=True))
    table = Experiment(labelled, SYSTEM, "fcfs").run(store=tmp_path / "runs").table
    assert table["makespan"].to_list() == [100, 60]


def test_a_log_that_changes_is_another(tmp_path: Path) -> None:
    """It is known by its content, not by its name or date."""
    log = tmp_path / "tiny.swf"
    for run_time in (100, 90, 100):
        log.write_text(f"1 0 -1 {run_time} 1 -1 -1 1 100 -1 1 1 1 -1 -1 -1 -1 -1\n")
        table = Experiment(log, SYSTEM, "fcfs").run(store=tmp_path / "runs").table
        assert table["makespan"].item() == run_time
    assert journal(tmp_path / "runs").count("started") == 2


def test_equal_schedules_are_kept_once(tmp_path: Path) -> None:
    """Replications under a policy without chance share what became of the jobs."""
    runs = Experiment(small(), SYSTEM, "fcfs", replications=5, dispatch=True).run(store=tmp_path / "runs")
    assert len([*(tmp_path / "runs/schedules").rglob("*.zip")]) == 1
    assert len([*(tmp_path / "runs/costs").rglob("*.zip")]) == 5
    results = runs.results()["fcfs"]
    first, last = results[0], results[-1]
    assert first.jobs is last.jobs
    assert not first.dispatch.equals(last.dispatch)
    assert len(results[1:3]) == 2
    assert repr(results) == "<5 results of fcfs>"


def test_results_are_named_by_what_distinguishes_them(tmp_path: Path) -> None:
    """By policy alone where workload and system are the same everywhere."""
    one = Experiment(small(), SYSTEM, ["fcfs", "sjf"]).run(store=tmp_path / "runs")
    assert list(one.results()) == ["fcfs", "sjf"]
    two = Experiment({"a": small(), "b": small(7)}, SYSTEM, "fcfs").run(store=tmp_path / "runs")
    assert list(two.results()) == ["a", "b"]


def test_what_is_there_can_be_looked_at(tmp_path: Path) -> None:
    """`load` runs nothing: what is not there is missing."""
    Experiment(small(), SYSTEM, "fcfs").run(store=tmp_path / "runs")
    runs = Experiment(small(), SYSTEM, ["fcfs", "sjf"]).load(tmp_path / "runs")
    assert runs.table["status"].to_list() == ["done", "missing"]
    assert len(runs) == 2
    assert list(runs.results()) == ["fcfs"]
    nothing = Experiment(small(), SYSTEM, ["fcfs", "sjf"]).load(tmp_path / "other")
    assert nothing.table.columns[-1] == "memory_maximum"
    assert nothing.summary().height == 2 * 6


def test_tables_are_written(tmp_path: Path) -> None:
    """As CSV or Parquet, the same in both."""
    runs = Experiment(failing, SYSTEM, "fcfs", seeds=range(3)).run(store=tmp_path / "runs")
    runs.write(tmp_path / "out")
    runs.write(tmp_path / "packed", form="parquet")
    assert pl.read_parquet(tmp_path / "packed/table.parquet").equals(runs.table)
    assert pl.read_csv(tmp_path / "out/table.csv")["status"].to_list() == ["done", "failed", "done"]
    assert pl.read_parquet(tmp_path / "packed/summary.parquet").equals(runs.summary())
    assert pl.read_csv(tmp_path / "out/failures.csv")["message"].to_list() == ["no workload for seed 1"]
    runs.write(tmp_path / "out", form="parquet")
    assert not (tmp_path / "out/table.csv").exists()
    with pytest.raises(bl.ExperimentError, match=r"form = 'cvs'; must be one of these. Did you mean 'csv'"):
        runs.write(tmp_path / "out", form="cvs")  # type: ignore[arg-type]  # that is the point
    (tmp_path / "file").write_text("")
    with pytest.raises(bl.ExperimentError, match=r"Choose another directory"):
        runs.write(tmp_path / "file")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        pytest.param({"workloads": []}, "workloads is empty", id="no workload"),
        pytest.param(
            {"workloads": 7}, "workloads: 7; must be a Workload, the path of a log, or a", id="number"
        ),
        pytest.param(
            {"workloads": pl.DataFrame({"tasks": [1]})}, "must be a Workload, the path of", id="table"
        ),
        pytest.param({"systems": {}}, "systems is empty", id="no system"),
        pytest.param(
            {"systems": [SYSTEM, 3]}, "systems: 3; must be a System or the path", id="no such system"
        ),
        pytest.param({"policies": ["easy", "easy"]}, "policies: two are called 'easy'", id="twice"),
        pytest.param({"policies": "esay"}, "no policy named 'esay'. Did you mean 'easy'", id="misspelt"),
        pytest.param({"policies": 1}, "policies: 1; must be a Policy, its spec string", id="no policy"),
        pytest.param({"seeds": ()}, "seeds = .*; must be one or more", id="no seed"),
        pytest.param({"seeds": (1, 1)}, "all different", id="seed twice"),
        pytest.param({"seeds": -1}, r"seed = -1; must be a whole number from 0 to 2\^64 - 1", id="seed"),
        pytest.param({"replications": 0}, "replications = 0; must be a whole number >= 1", id="replications"),
        pytest.param({"walltime": "stop"}, "walltime = 'stop'; must be 'run' or 'kill'", id="option"),
    ],
)
def test_wrong_experiments_are_refused_at_once(wrong: dict[str, object], message: str) -> None:
    """With the argument, the value and the rule."""
    parts: dict[str, object] = {"workloads": small(), "systems": SYSTEM, "policies": "fcfs"}
    with pytest.raises(bl.BatchlabError, match=message):
        Experiment(**{**parts, **wrong})  # type: ignore[arg-type]


def test_a_missing_log_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """It is an error of the experiment, not of its runs."""
    experiment = Experiment(["gone.swf"], SYSTEM, "fcfs")
    with pytest.raises(bl.WorkloadError, match=r"gone.swf: cannot be read"):
        experiment.run(store=tmp_path / "runs")


def test_what_a_function_gives_is_checked(tmp_path: Path) -> None:
    """What is no workload is the run's failure."""
    runs = Experiment(partial(dict, a=1), SYSTEM, "fcfs").run(store=tmp_path / "runs")
    assert runs.failures["message"].to_list() == [
        "workloads: dict(seed=0) gave {'a': 1, 'seed': 0}; must be a Workload."
    ]


def test_dispatchers_are_all_pairs() -> None:
    """Every scheduler, whatever its own allocator, with every allocator."""
    policies = bl.dispatchers(["fcfs", bl.Policy.parse("easy(allocator=random)")], ["first_fit", "worst_fit"])
    expected = ["fcfs", "fcfs(allocator=worst_fit)", "easy", "easy(allocator=worst_fit)"]
    assert [*map(str, policies)] == expected
    with pytest.raises(bl.PolicyNotFound, match=r"no allocator named 'frist_fit'. Did you mean 'first_fit'"):
        bl.dispatchers("fcfs", "frist_fit")


class LastNodes(bl.Allocator):
    """Takes nodes from the end."""

    def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:
        nodes: list[int] = []
        for node in reversed(range(len(view.free))):
            nodes += [node] * min(view.slots(job, node), job.tasks - len(nodes))
        return nodes if len(nodes) == job.tasks else None


def test_dispatchers_take_allocators_in_python(tmp_path: Path) -> None:
    """With names, by themselves, and with schedulers in Python; what is neither is refused."""
    policies = bl.dispatchers(["easy", "sjf"], ["best_fit", LastNodes()])
    expected = ["easy(allocator=best_fit)", "easy(allocator=LastNodes)"]
    assert [*map(str, policies)] == [*expected, "sjf(allocator=best_fit)", "sjf(allocator=LastNodes)"]
    runs = Experiment(
        bl.Workload.from_table({"submit_time": [0], "run_time": [5], "tasks": [1]}), SYSTEM, policies
    )
    table = runs.run(store=tmp_path / "runs").table
    assert table["status"].to_list() == ["done"] * 4
    assert [str(policy) for policy in bl.dispatchers("easy", LastNodes())] == expected[1:]
    with pytest.raises(bl.PolicyError, match="allocator = 7; must be a name"):
        bl.dispatchers("fcfs", [7])


@pytest.mark.parametrize(
    "much", [{"replications": 10**8}, {"seeds": range(10**8)}, {"seeds": range(2000), "replications": 1000}]
)
def test_too_many_runs_are_refused(much: dict[str, Any]) -> None:
    """At once, with both numbers."""
    rule = r"[12][\d,]+ .* an experiment has at most 1,000,000 runs\. Split it\."
    with pytest.raises(bl.ExperimentError, match=rule):
        Experiment(small(), SYSTEM, "fcfs", **much)
