"""`batchlab experiment` and `batchlab compare`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

SPEC = """
title = "Small"
seeds = [0, 1]
policies = { first = "fcfs", short = "sjf" }

[workloads]
small = "small.swf"

[systems]
eight = { nodes = 4, resources = { core = 2 } }
"""


@pytest.fixture
def specification(log: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Describe the small log on 8 cores, first come and shortest first, for two seeds."""
    monkeypatch.chdir(log.parent)
    path = log.parent / "case.toml"
    path.write_text(SPEC)
    return path


def lines(captured: pytest.CaptureFixture[str]) -> list[list[str]]:
    """Give the words of every line that was printed."""
    return [line.split() for line in captured.readouterr().out.splitlines()]


def test_an_experiment_is_run_and_told(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line per policy: waits of 0, 90 and 130 s, or of 0, 100 and 80 s."""
    assert main(["experiment", str(specification)]) == 0
    said = lines(capsys)
    assert said[0] == ["Small:", "4", "runs", "done"]
    assert said[5][:3] == ["first", "00:01:13", "00:01:30"]
    assert said[6][0] == "short"
    assert ["kept", "in", "runs"] in said
    assert len([*(specification.parent / "runs/runs").rglob("*.json")]) == 4


def test_what_is_finished_is_not_run_again(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The store keeps it, wherever it is."""
    for _ in range(2):
        assert main(["experiment", str(specification), "--store", "kept", "--workers", "1"]) == 0
    journal = (specification.parent / "kept/journal.jsonl").read_text("utf-8")
    assert journal.count("started") == 4
    assert ["kept", "in", "kept"] in lines(capsys)


def test_programs_get_json(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All tables, and nothing else."""
    assert main(["experiment", str(specification), "--format", "json"]) == 0
    written = capsys.readouterr()
    document = json.loads(written.out)
    assert written.err == ""
    assert [row["wait_max"] for row in document["table"]] == [130, 130, 100, 100]
    assert document["failures"] == []
    assert {row["method"] for row in document["summary"] if row["metric"] == "wait_max"} == {
        "Student's t, 95 %"
    }


def test_files_are_written(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, figures, and a manifest with the hashes of what they were made from."""
    spec = SPEC + '[output]\ndirectory = "out"\nplots = ["slowdown"]\n'
    specification.write_text(spec)
    assert main(["experiment", str(specification)]) == 0
    out = specification.parent / "out"
    assert sorted(path.name for path in out.iterdir()) == [
        "failures.csv",
        "manifest.json",
        "slowdown.png",
        "summary.csv",
        "table.csv",
    ]
    assert pl.read_csv(out / "table.csv").height == 4
    assert (out / "slowdown.png").read_bytes().startswith(b"\x89PNG")
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"] == f"batchlab experiment {specification}"
    assert list(manifest["inputs"]) == ["specification", "small"]
    assert manifest["policies"] == {"first": "fcfs", "short": "sjf"}
    assert set(manifest["outputs"]) == {"table.csv", "summary.csv", "failures.csv"}
    assert "slowdown.png, manifest.json" in capsys.readouterr().out


def test_a_report_is_written(specification: Path) -> None:
    """With the title and the labels of the file, and with what the runs cost."""
    assert main(["experiment", str(specification), "--report", "report.html"]) == 0
    text = (specification.parent / "report.html").read_text("utf-8")
    assert "<title>Small</title>" in text
    assert "short" in text
    assert ">What a run cost<" in text
    assert ">CPU time<" in text


def test_failures_are_told_at_the_end(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line, with exit code 1; the other runs are done and told."""
    specification.write_text(SPEC.replace('"sjf"', "'expression(\"no_column\")'"))
    assert main(["experiment", str(specification)]) == 1
    written = capsys.readouterr()
    assert written.out.startswith("Small: 2 policies done, 2 failed")
    assert written.err.startswith(
        "batchlab: 2 of 4 runs failed; the first (short, seed 0, replication 0): PolicyError: "
    )
    assert written.err.count("\n") == 1


def test_no_table_compares_runs_that_all_failed(
    specification: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to compare: no rows of names alone. The file is wrong: exit code 2."""
    wrong = "'expression(\"no_column\")'"
    specification.write_text(SPEC.replace('"sjf"', wrong).replace('"fcfs"', wrong.replace("no_", "such_")))
    assert main(["experiment", str(specification)]) == 2
    said = capsys.readouterr().out
    assert said.startswith("Small: 4 failed")
    assert "policy" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPEC.replace("policies", "polcies"), "is not a key of an experiment. Did you mean 'policies'?"),
        (SPEC.replace("small.swf", "gone.swf"), "gone.swf: cannot be read: No such file or directory"),
    ],
)
def test_wrong_files_are_told_in_a_line(
    text: str, message: str, specification: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2."""
    specification.write_text(text)
    assert main(["experiment", str(specification)]) == 2
    assert message in capsys.readouterr().err


def test_outputs_are_checked_first(specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before anything is run."""
    for options in (["--report", "nowhere/report.html"], ["--report", "."], ["--store", "small.swf/x"]):
        assert main(["experiment", str(specification), *options]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert "nowhere/report.html is no file in a directory that is there" in errors[0]
    assert "--report" in errors[1]
    assert "--store" in errors[2]
    specification.write_text(f'{SPEC}\n[output]\ndirectory = "small.swf/x"\n')
    assert main(["experiment", str(specification)]) == 2
    assert "output.directory" in capsys.readouterr().err
    assert not (specification.parent / "runs").exists()


def test_names_are_no_markup(
    specification: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither brackets, which terminals would take for colours, nor what looks like a repr."""
    text = SPEC.replace("Small", "<Runs: a> b").replace("first =", '"[/red] x" =')
    specification.write_text(text)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "160")
    assert main(["experiment", str(specification)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("<Runs: a> b: 4 runs done")
    assert "[/red] x" in said


def compared(*arguments: object, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Give the table of `batchlab compare`."""
    assert main(["compare", *map(str, arguments), "--format", "json"]) == 0
    table: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["table"]
    return table


def test_policies_are_compared(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On the machine of the options or of the log's header; nothing is left behind."""
    policies = ["--policy", "fcfs", "--policy", "sjf(allocator=best_fit)"]
    table = compared(log, *policies, capsys=capsys)
    assert [(row["policy"], row["wait_max"]) for row in table] == [
        ("fcfs", 130),
        ("sjf(allocator=best_fit)", 100),
    ]
    assert compared(log, "--nodes", 4, "--cores", 2, *policies, capsys=capsys)[0]["wait_max"] == 130
    assert compared(log, "--nodes", 8, "--cores", 2, *policies, capsys=capsys)[0]["wait_max"] == 40
    assert [path.name for path in log.parent.iterdir()] == ["small.swf"]


def test_comparison_has_usual_policies(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where none is named."""
    assert len(compared(log, capsys=capsys)) == 4


def test_comparison_has_replications(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And options of the simulation and of reading."""
    options = [
        "--policy",
        "fcfs",
        "--replications",
        3,
        "--dispatch",
        "--walltime",
        "kill",
        "--overrun",
        "keep",
    ]
    table = compared(log, *options, "--store", log.parent / "kept", capsys=capsys)
    assert [row["replication"] for row in table] == [0, 1, 2]
    assert all(row["dispatch_passes"] > 0 for row in table)
    assert (log.parent / "kept/store.json").exists()
    assert main(["compare", str(log), *map(str, options)]) == 0
    said = capsys.readouterr().out
    assert "of it decisions" in said
    assert "±" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--policy", "esay"], "no policy named 'esay'. Did you mean 'easy'"),
        (
            ["--policy", "easy", "--policy", "easy"],
            "names a policy twice; different are: easy. Leave one out",
        ),
        (["--replications", "0"], "0; must be >= 1"),
        (["--use-memory"], "ask for mem, which the machine lacks"),
    ],
)
def test_wrong_comparisons(
    options: list[str], message: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Are told in a line, with exit code 2."""
    assert main(["compare", str(log), *options]) == 2
    assert message in capsys.readouterr().err


def test_bad_input_has_one_exit_code(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That of `batchlab run`, where all policies fail for it; 1 where one does, or for anything else."""
    machine = tmp_path / "machine.toml"
    machine.write_text(
        '[[groups]]\nname = "n"\ncount = 8\nresources = {core = 1}\n'
        '[[partitions]]\nname = "other"\nnodes = "0-7"\n'
    )
    placed = tmp_path / "placed.swf"
    placed.write_text(log.read_text().replace("1 -1 -1 -1 -1 -1\n", "1 -1 -1 7 -1 -1\n"))
    words = [str(placed), "--system", str(machine), "--odd-jobs", "error"]
    assert main(["run", *words]) == 2
    rule = "must be a partition of the system. Known: other."
    assert rule in capsys.readouterr().err
    assert main(["compare", *words, "--policy", "fcfs", "--policy", "easy"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(
        "batchlab: 2 of 2 runs failed; the first (fcfs, seed 0, replication 0): WorkloadError"
    )
    assert told.endswith(f"{rule}\n")
    assert main(["compare", str(log), "--policy", "fcfs", "--policy", "expression('no_column')"]) == 1
    wrong = tmp_path / "returning_three.py"
    wrong.write_text(
        "import batchlab\n\nclass Mine(batchlab.Scheduler):\n    def schedule(self, view): return 3\n"
    )
    assert main(["compare", str(log), "--policy", f"{wrong}:Mine"]) == 1


@pytest.mark.parametrize(("columns", "titles"), [(60, 3), (80, 3), (200, 1)])
def test_terminals_get_as_much_as_fits(
    columns: int,
    titles: int,
    log: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Further measures where there is room; broken titles where there is little; letters for long specs."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    long = "easy(order=sjf, allocator=best_fit)"
    assert main(["compare", str(log), "--policy", "fcfs", "--policy", long]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == ["A             fcfs", f"B             {long}"]
    assert max(map(len, lines)) <= columns
    assert lines[5 + titles - 1].startswith("policy  ")
    assert [line[0] for line in lines[5 + titles :][:2]] == ["A", "B"]
    words = "".join(lines[5 : 5 + titles])
    assert ("jobs a day" in words) == (columns == 200)
    assert "in use" in "".join(lines)


def test_files_get_tables_of_the_usual_width(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 80 columns, with all measures: their titles take several lines."""
    assert main(["compare", str(log), "--policy", "fcfs", "--policy", "easy(order=sjf)"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[2].split() == ["mean"]
    assert lines[3].split() == ["mean", "median", "bounded", "longest", "core"]
    assert lines[4].split() == ["policy", "wait", "wait", "slowdown", "queue", "makespan", "in", "use"]
    assert len(lines[5].split()) == len(lines[6].split())


def test_colours_are_for_terminals(
    log: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for files, and not where NO_COLOR asks for none."""
    words = ["run", str(log)]
    assert main(words) == 0
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert main(words) == 0
    assert "\x1b[36mworkload" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(words) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_policies_are_compared_with_events(log: Path, tmp_path: Path) -> None:
    """`batchlab compare` takes them, and its manifest names the file."""
    events = tmp_path / "events.jsonl"
    events.write_text('{"time": 0, "event": "cancel", "job_id": 1}\n')
    words = ["compare", str(log), "--nodes", "8", "--policy", "fcfs"]
    assert main([*words, "--external-events", str(events), "--out", str(tmp_path / "out")]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["inputs"]["external_events"]["path"] == str(events)


CONFIGURATION = """
ClusterName=small
PriorityType=priority/basic
SelectType=select/linear
SchedulerParameters=bf_interval=60
AuthType=auth/munge
NodeName=n[1-8] CPUs=1
NodeName=n9 CPUs=1 State=DOWN
PartitionName=all Nodes=ALL Default=YES
"""


def test_the_configured_policy_comes_first(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a slurm.conf its policy is run first, and the page says what it is."""
    file = tmp_path / "slurm.conf"
    file.write_text(CONFIGURATION)
    given = [
        *("compare", str(log), "--system", str(file), "--policy", "fcfs"),
        "--policy",
        "slurm(bf_interval=30)",
    ]
    assert main(given) == 0
    page = capsys.readouterr().out
    assert "configured    slurm(bf_interval=60)\n              1 node DOWN; keys: " in page
    assert main([*given, "--policy", "configured", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["table"]
    assert [row["policy"] for row in rows] == ["configured", "fcfs", "slurm(bf_interval=30)"]
    assert main(["compare", str(log), "--nodes", "8", "--policy", "configured"]) == 2
    assert "has no policy. Give Slurm's slurm.conf as the system" in capsys.readouterr().err


def test_run_takes_the_configured_policy(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless another is given; `slurm(…)` replaces single parameters, and several policies are refused."""
    file = tmp_path / "slurm.conf"
    file.write_text(CONFIGURATION)
    expected = {
        (): "slurm(bf_interval=60)",
        ("configured",): "slurm(bf_interval=60)",
        ("slurm",): "slurm(bf_interval=60)",
        ("slurm(defer=true)",): "slurm(defer=true, bf_interval=60)",
        ("easy",): "easy",
    }
    for specs, policy in expected.items():
        options = [f"--policy={spec}" for spec in specs]
        assert main(["run", str(log), "--system", str(file), *options]) == 0
        page = capsys.readouterr().out
        assert f"\npolicy        {policy}\n" in page
        assert "\n              1 node DOWN; keys: 1 without effect; see batchlab slurm check\n" in page
    assert main(["run", str(log), "--policy", "easy", "--policy", "sjf(backfill=easy)"]) == 2
    message = capsys.readouterr().err
    assert (
        "is given 2 times; run takes one policy. Compare them: batchlab compare TRACE --policy easy "
        in message
    )


def test_results_of_a_comparison_are_plotted_later(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--out` keeps each result with its label, once more where it is written again."""
    file, folder = tmp_path / "slurm.conf", tmp_path / "out"
    file.write_text(CONFIGURATION)
    given = ["compare", str(log), "--system", str(file), "--policy", "easy(order=sjf)", "--out", str(folder)]
    for _ in range(2):
        assert main(given) == 0
    names = {"configured": ["results/1-configured"], "easy(order=sjf)": ["results/2-easy-order-sjf"]}
    assert json.loads((folder / "results.json").read_text("utf-8")) == names
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "configured" in page
    assert main(["plot", "wait", str(folder), "-o", str(tmp_path / "wait.png")]) == 0
    capsys.readouterr()
    (folder / "results.json").write_text("{3")
    assert main(["report", str(folder), "--out", str(tmp_path / "other.html")]) == 2
    assert "results.json: is no list of results. Write them again" in capsys.readouterr().err


OBSERVER = """
import batchlab

class Mine(batchlab.Observer):
    def start(self, job, view):
        self.count_ended()
    def endet(self, job, view): pass
    def count_ended(self): pass
    def summarise(self): pass
"""


def test_misspelt_hooks_are_warnings(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A method that is nearly called like a hook, and that nothing calls; helpers are none."""
    (tmp_path / "mine.py").write_text(OBSERVER)
    assert main(["run", str(log), "--observer", f"{tmp_path / 'mine.py'}:Mine"]) == 0
    warned = capsys.readouterr().err.splitlines()
    assert warned == [
        "batchlab: warning: observer Mine: nothing calls its method endet. Did you mean 'ended'?",
        "batchlab: warning: observer Mine: nothing calls its method start. Did you mean 'started'?",
    ]
