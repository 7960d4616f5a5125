"""Experiments described in files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.experiment.source import LogFile, generators
from batchlab.experiment.specification import Specification, read_specification
from batchlab.generate import demo_workload

WHOLE = """
title = "Order matters"
policies = ["fcfs", "easy(order=sjf)"]
seeds = [0, 7]
replications = 2

[workloads]
log = "tiny.swf"
cut = { path = "tiny.swf", overrun = "cut" }
made = { generator = "demo", jobs = 30 }

[systems]
file = "system.json"
nodes = { nodes = 4, resources = { core = 2 }, equivalence = { core = 2 } }
groups = { groups = [{ name = "a", count = 3, resources = { core = 8 } }] }

[dispatchers]
schedulers = { FIFO = "fcfs", EBF = "easy" }
allocators = { FF = "first_fit", BF = "best_fit" }

[options]
walltime = "kill"
dispatch = true
sensing = { interval = 60, links = ["up"] }

[run]
executor = "processes"
workers = 2
store = "kept"

[output]
directory = "out"
report = "report.html"
baseline = "log, nodes, FIFO-FF"
plots = ["slowdown", "cpu_time"]
"""

LEAST = """
policies = ["fcfs"]
workloads.made = { generator = "demo", jobs = 30 }
systems.small = { nodes = 4, resources = { core = 8 } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with a log and a system."""
    (tmp_path / "tiny.swf").write_text("1 0 -1 100 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n")
    groups = [{"name": "a", "count": 2, "resources": {"core": 4}}]
    (tmp_path / "system.json").write_text(json.dumps({"groups": groups}))
    return tmp_path


def read(folder: Path, text: str) -> Specification:
    """Read a text as a file in the folder."""
    (folder / "case.toml").write_text(text)
    return read_specification(folder / "case.toml")


def test_all_that_a_file_may_say(folder: Path) -> None:
    """Paths count from the file's folder; dispatchers are beside policies, labelled by both."""
    said = read(folder, WHOLE)
    experiment = said.experiment
    assert said.title == "Order matters"
    assert list(experiment.workloads) == ["log", "cut", "made"]
    assert {label: system.total for label, system in experiment.systems.items()} == {
        "file": {"core": 8},
        "nodes": {"core": 8},
        "groups": {"core": 24},
    }
    assert {label: str(policy) for label, policy in experiment.policies.items()} == {
        "fcfs": "fcfs",
        "easy(order=sjf)": "easy(order=sjf)",
        "FIFO-FF": "fcfs",
        "FIFO-BF": "fcfs(allocator=best_fit)",
        "EBF-FF": "easy",
        "EBF-BF": "easy(allocator=best_fit)",
    }
    assert (experiment.seeds, experiment.replications, len(experiment)) == ((0, 7), 2, 3 * 3 * 6 * 4)
    assert experiment.options == bl.RunOptions(
        walltime="kill", dispatch=True, sensing=bl.Sensing(60, ("up",))
    )
    assert (said.executor, said.workers, said.store) == ("processes", 2, folder / "kept")
    assert (said.directory, said.report) == (folder / "out", folder / "report.html")
    assert (said.baseline, said.plots) == ("log, nodes, FIFO-FF", ("slowdown", "cpu_time"))
    assert list(said.inputs) == ["specification", "log", "cut"]


OWN_ALLOCATOR = """
import batchlab as bl

class Last(bl.Allocator):
    def __init__(self, leave=0):
        self.leave = leave

    def allocate(self, job, view):
        nodes = []
        for node in reversed(range(len(view.free) - self.leave)):
            nodes += [node] * min(view.slots(job, node), job.tasks - len(nodes))
        return nodes if len(nodes) == job.tasks else None

def nothing():
    return 5
"""


def test_allocators_of_python_files(folder: Path) -> None:
    """They are paired with every scheduler, run, and kept in a store."""
    (folder / "own_allocator.py").write_text(OWN_ALLOCATOR)
    own = ["own_allocator.py:Last", "own_allocator.py:Last(leave=1)"]
    pairs = f"[dispatchers]\nschedulers = ['fcfs', 'easy(order=sjf)']\nallocators = {['first_fit', *own]}"
    text = LEAST.replace('policies = ["fcfs"]', "") + pairs
    experiment = read(folder, text).experiment
    assert list(experiment.policies) == [
        "fcfs",
        *(f"fcfs(allocator={each})" for each in own),
        "easy(order=sjf)",
        *(f"easy(order=sjf, allocator={each})" for each in own),
    ]
    runs = experiment.run(store=folder / "runs")
    placed = {name: sorted(results[0].jobs["nodes"][0]) for name, results in runs.results().items()}
    assert placed["fcfs"][0] == 0
    assert placed["fcfs(allocator=own_allocator.py:Last)"][-1] == 3
    assert placed["fcfs(allocator=own_allocator.py:Last(leave=1))"][-1] == 2


def test_what_is_no_allocator(folder: Path) -> None:
    """The error names what the file defines."""
    (folder / "no_allocator.py").write_text(OWN_ALLOCATOR)
    pairs = '[dispatchers]\nschedulers = ["fcfs"]\nallocators = ["no_allocator.py:nothing"]'
    text = LEAST.replace('policies = ["fcfs"]', "") + pairs
    with pytest.raises(bl.BatchlabError, match=r"allocators\[0\]: no_allocator.py:nothing is no allocator"):
        read(folder, text)


def test_the_controller_of_slurm_is_stored(folder: Path) -> None:
    """Its runs are read again from the store: the same jobs, and none is run a second time."""
    policy = '"slurm(select=cores, bf_interval=2, main_phase=0.25, order=multifactor(age=10))"'
    text = LEAST.replace('policies = ["fcfs"]', f"policies = [{policy}]\nseeds = [0, 1]")
    experiment = read(folder, text).experiment
    first = experiment.run(store=folder / "runs")
    again = read(folder, text).experiment.run(store=folder / "runs")
    started = [line for line in (folder / "runs/journal.jsonl").read_text().splitlines() if "started" in line]
    assert len(started) == len(experiment) == 2
    (label,) = experiment.policies
    for one, other in zip(first.results()[label], again.results()[label], strict=True):
        assert one.jobs.equals(other.jobs)
        assert one.jobs["start_time"].drop_nulls().len() > 0


def test_what_is_described_runs(folder: Path) -> None:
    """The described workloads are those that the functions give."""
    experiment = read(folder, WHOLE).experiment
    table = experiment.run(store=folder / "runs").table
    assert table["status"].unique().to_list() == ["done"]
    some = table.filter(system="groups", policy="fcfs", seed=7, replication=0)
    assert some.select("workload", "makespan", "jobs_submitted").rows()[:2] == [
        ("log", 60.0, 1),
        ("cut", 60.0, 1),
    ]
    alone = bl.simulate(demo_workload(30, seed=7), experiment.systems["groups"], "fcfs", walltime="kill")
    assert some["wait_mean"][2] == alone.metrics()["wait"]["mean"]  # type: ignore[index]


def test_little_need_be_said(folder: Path) -> None:
    """The rest is as for `Experiment`."""
    said = read(folder, LEAST)
    assert said.title == "case"
    assert (said.executor, said.workers, said.store, said.directory, said.report) == (None,) * 5
    assert len(said.experiment) == 1
    pairs = 'dispatchers = { schedulers = ["fcfs", "easy"], allocators = ["first_fit"] }\n'
    alone = read(folder, pairs + LEAST.replace('policies = ["fcfs"]', ""))
    assert list(alone.experiment.policies) == ["fcfs", "easy"]


def test_generators_can_be_like_a_log(folder: Path) -> None:
    """The log that they imitate is read from its path, and counts for what they make."""
    log = folder / "some.swf"
    bl.write_swf(demo_workload(300), log)
    text = LEAST.replace('generator = "demo"', 'generator = "like", workload = "some.swf"')
    assert "like" in generators()
    before = read(folder, text).experiment.plan()[0].key
    bl.write_swf(demo_workload(301), log)
    assert read(folder, text).experiment.plan()[0].key != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "policies",
            "polices",
            r"case.toml: polices = .*; is not a key of an experiment. Did you mean 'policies'",
        ),
        (
            '["fcfs"]',
            '["fcfs", "esay"]',
            r"case.toml: policies\[1\]: no policy named 'esay'. Did you mean 'easy'",
        ),
        ('["fcfs"]', '["fcfs", "fcfs"]', r"policies = .*; holds one twice. Leave it out"),
        ('["fcfs"]', '{ mine = "fcsf" }', r"policies.mine: no policy named 'fcsf'"),
        ('["fcfs"]', "[3]", r"policies\[0\] = 3; must be a text"),
        ('policies = ["fcfs"]', "", "policies is missing; add policies = "),
        (
            "jobs = 30",
            "job = 30",
            "workloads.made: job: generator demo has no such parameter. Did you mean 'jobs'",
        ),
        ('"demo"', '"dema"', "workloads.made: generator = 'dema'; there is none. Did you mean 'demo'"),
        (
            '{ generator = "demo", jobs = 30 }',
            "3",
            "workloads.made = 3; must be a path, or a table with path",
        ),
        (
            'generator = "demo"',
            'path = "a", overun = 1',
            "workloads.made.overun = 1; is not a key of an experiment",
        ),
        (
            'generator = "demo", jobs = 30',
            'path = "a", overrun = "cot"',
            "workloads.made.overrun = 'cot'; must be",
        ),
        ("nodes = 4", "nodes = 0", "systems.small.nodes = 0; must be a whole number >= 1"),
        ("core = 8", "core = 8.5", "systems.small.resources.core = 8.5; must be a whole number"),
        ("nodes = 4", "node = 4", "systems.small: .*node.* is not a key"),
        (
            "{ nodes = 4, resources = { core = 8 } }",
            "[]",
            r"systems.small = \[\]; must be a path, the name of a ready machine, or a table",
        ),
        ("{ nodes = 4, resources = { core = 8 } }", '"gone.json"', "gone.json: cannot be read: No such file"),
        ("policies", "replications = 0\npolicies", "replications = 0; must be a whole number >= 1"),
        ("policies", "seeds = []\npolicies", r"seeds = \[\]; is empty; name at least one"),
        (
            "policies",
            'options = { walltim = "kill" }\npolicies',
            "options.walltim: no such key. Did you mean 'walltime'",
        ),
        (
            "policies",
            'options = { walltime = "stop" }\npolicies',
            "options.walltime = 'stop'; must be 'run'",
        ),
        (
            "policies",
            "options = { task_times = 1 }\npolicies",
            "options.task_times = 1; must be true or false",
        ),
        (
            "policies",
            "options = { sensing = 3 }\npolicies",
            "options.sensing = 3; must be a .*Sensing",
        ),
        ("policies", "options = { sensing = {} }\npolicies", "options.sensing.interval is missing; add it"),
        (
            "policies",
            "options = { invocation = { interval = -1 } }\npolicies",
            "options.invocation.interval = -1; must be a finite number",
        ),
        (
            "policies",
            "options = { seed = 3 }\npolicies",
            "options.seed: no such key; .* has seeds",
        ),
        ("policies", "run = { workers = true }\npolicies", "run.workers = True; must be a whole number"),
        (
            "policies",
            'output = { plot = ["x"] }\npolicies',
            "output.plot = .*; is not a key of an experiment. Did you mean 'plots'",
        ),
        (
            "policies",
            'output = { plots = ["slow"] }\npolicies',
            r"output.plots\[0\] = 'slow'; must be one of slowdown",
        ),
        (
            "policies",
            'dispatchers = { schedulers = ["fcfs"], allocators = ["firstfit"] }\npolicies',
            r"dispatchers.allocators\[0\]: no allocator named 'firstfit'. Did you mean 'first_fit'",
        ),
        (
            "policies",
            'dispatchers = { schedulers = ["fcfs"], allocators = ["first_fit"] }\npolicies',
            "dispatchers: 'fcfs' is among the policies too",
        ),
        (
            "policies",
            'output = { baseline = "fcsf" }\npolicies',
            "output.baseline = 'fcsf'; must be the label of one .* Did you mean 'fcfs'",
        ),
        (
            "policies",
            'output = { plots = ["cpu_time"] }\npolicies',
            r"output.plots: cpu_time needs .* add dispatch = true to \[options\]",
        ),
        ("policies", "= policies", "is not TOML: .*line 2"),
        (
            "workloads.made",
            "workload.made",
            "workload = .*; is not a key of an experiment. Did you mean 'workloads'",
        ),
        ('workloads.made = { generator = "demo", jobs = 30 }', "", "workloads is missing; add it"),
    ],
)
def test_wrong_files(old: str, new: str, message: str, folder: Path) -> None:
    """Are refused with the file, the path into it, the value and the rule."""
    assert old in LEAST
    with pytest.raises(bl.ExperimentError, match=message):
        read(folder, LEAST.replace(old, new, 1))


def test_files_that_are_none(tmp_path: Path) -> None:
    """A directory, a missing one, a huge one."""
    with pytest.raises(bl.ExperimentError, match=r"gone.toml: cannot be read: No such file"):
        read_specification(tmp_path / "gone.toml")
    (tmp_path / "huge.toml").write_text("#" * (1 << 20) + "\n")
    with pytest.raises(bl.ExperimentError, match="has more than 1 MiB"):
        read_specification(tmp_path / "huge.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\x00")
    with pytest.raises(bl.ExperimentError, match=r"is not UTF-8 text \(byte 0\)"):
        read_specification(tmp_path / "binary.toml")


NAMED = """
policies = ["fcfs"]
workloads = { kth = "kth" }
systems = { small = { nodes = 100, resources = { core = 1 } } }
"""


def test_logs_of_the_catalogue_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fetched log is found; one that was not says how to get it; a file of this name comes first."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("BATCHLAB_CACHE", str(cache))
    file = tmp_path / "study.toml"
    file.write_text(NAMED)
    with pytest.raises(bl.ExperimentError, match=r"workloads\.kth: .*kth does not exist; .*traces fetch KTH"):
        read_specification(file)
    cache.mkdir()
    fetched = cache / "KTH-SP2-1996-2.1-cln.swf.gz"
    monkeypatch.setattr("batchlab.trace.traces.path", lambda _name: fetched)
    assert read_specification(file).inputs["kth"] == fetched
    (tmp_path / "kth").write_text("1 0 -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n")
    assert read_specification(file).inputs["kth"] == tmp_path / "kth"


def test_the_examples_name_no_files_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They run from a checkout alone, once the log is fetched."""
    monkeypatch.setattr("batchlab.trace.traces.path", lambda _name: tmp_path / "log.swf.gz")
    for file in (Path(__file__).parents[2] / "examples").glob("*.toml"):
        assert ".." not in file.read_text("utf-8").replace("…", "")
        assert read_specification(file).experiment.policies


def test_the_case_study_measures_as_its_paper(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Plain slowdowns, the requested times of the log, and the schedulers and rankings of AccaSim."""
    monkeypatch.setattr("batchlab.trace.traces.path", lambda _name: tmp_path / "log.swf.gz")
    study = read_specification(Path(__file__).parents[2] / "examples/case_study.toml")
    log = study.experiment.workloads["seth"]
    assert isinstance(log, LogFile)
    assert log.options["overrun"] == "keep"
    assert study.plots is not None
    assert "plain_slowdown" in study.plots
    assert "slowdown" not in study.plots
    assert "easy_accasim(allocator=best_fit(by=free))" in map(str, study.experiment.policies.values())


@pytest.mark.parametrize("dispatch", [False, True])
def test_all_plots(tmp_path: Path, *, dispatch: bool) -> None:
    """All for which the runs record what they need, the slowdown without a bound among them."""
    text = NAMED.replace('"kth" }', '"log.swf" }') + f"options = {{ dispatch = {str(dispatch).lower()} }}\n"
    (tmp_path / "study.toml").write_text(text + 'output = { plots = "all" }\n')
    plots = read_specification(tmp_path / "study.toml").plots
    assert plots is not None
    assert {"slowdown", "plain_slowdown", "turnaround", "queue_size"} <= set(plots)
    assert ({"cpu_time", "memory"} <= set(plots)) == dispatch


def test_a_log_has_all_options_of_reading(folder: Path) -> None:
    """A dump of sacct without a header, in the time of a place, of which the first jobs are read."""
    rows = [
        f"{number}|2024-03-01T10:0{number}:00|2024-03-01T11:00:00|2024-03-01T12:00:00" for number in range(9)
    ]
    (folder / "dump.txt").write_text("\n".join(f"{row}|COMPLETED|4|90" for row in rows))
    options = 'fields = "JobID,Submit,Start,End,State,ReqCPUS,TimelimitRaw", timezone = "Europe/Berlin"'
    text = LEAST.replace(
        '{ generator = "demo", jobs = 30 }', f'{{ path = "dump.txt", max_jobs = 3, {options} }}'
    )
    (folder / "case.toml").write_text(text)
    (workload,) = read_specification(folder / "case.toml").experiment.workloads.values()
    loaded = workload.load(0)
    assert len(loaded) == 3
    assert loaded.header.unix_start_time == 1709283600  # 09:00 UTC
    (folder / "case.toml").write_text(text.replace("max_jobs = 3", 'log_format = "pbs"'))
    (workload,) = read_specification(folder / "case.toml").experiment.workloads.values()
    with pytest.raises(bl.WorkloadError, match=r"fields = .*; logs of format pbs, .* have no such option"):
        workload.load(0)
