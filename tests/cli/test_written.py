"""``batchlab report`` and ``batchlab plot``: what was written is drawn and told without being run again."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from matplotlib.axes import Axes

import batchlab as bl
from batchlab.cli import main
from batchlab.cli.plot import plot_kinds
from batchlab.generate import demo_system, demo_workload
from batchlab.result.plots import UNWRITTEN, plots_of_results
from batchlab.result.recorded import TABLES

# The words are right, but what they ask for cannot be drawn.


@pytest.fixture
def folders(tmp_path: Path) -> list[str]:
    """Write a run under each of two policies."""
    jobs, system = demo_workload(60), demo_system()
    return [str(bl.simulate(jobs, system, policy).write(tmp_path / policy)) for policy in ("fcfs", "easy")]


def test_a_plot_that_is_not_there(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest name is suggested; plots of comparisons are none of results."""
    assert main(["plot", "gant", *folders, "-o", "gantt.png"]) == 2
    assert "no plot of results has this name. Did you mean 'gantt'?" in " ".join(
        capsys.readouterr().err.split()
    )
    assert main(["plot", "adequacy_starts", *folders, "-o", "starts.png"]) == 2


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_a_plot_in_each_form(folders: list[str], suffix: str, tmp_path: Path) -> None:
    """A picture of both policies."""
    target = tmp_path / f"wait.{suffix}"
    assert main(["plot", "wait", *folders, "-o", str(target)]) == 0
    beginning = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[suffix]
    assert target.read_bytes().startswith(beginning)


def test_what_was_recorded_is_drawn(tmp_path: Path) -> None:
    """Why jobs waited in the one run that is given."""
    folder = bl.simulate(demo_workload(60), demo_system(), "easy", explain=True).write(tmp_path / "run")
    assert main(["plot", "waiting_reasons", str(folder), "-o", str(tmp_path / "reasons.png")]) == 0


def test_labels_and_title_are_drawn(folders: list[str], tmp_path: Path) -> None:
    """Where each folder has a label, it stands in place of the policy; one label is one group."""
    target = tmp_path / "wait.svg"
    named = [f"{label}={folder}" for label, folder in zip(("old", "new"), folders, strict=True)]
    assert main(["plot", "wait", *named, "-o", str(target), "--title", "Both"]) == 0
    assert all(f"<!-- {text} -->" in target.read_text() for text in ("old", "new", "Both"))


def test_options_are_the_arguments_of_plots() -> None:
    """Each argument of each plot of results is an option, but for axes, titles and prices."""
    kinds = plot_kinds()
    for name, draw in plots_of_results().items():
        if name not in kinds:
            continue
        arguments = [*inspect.signature(draw).parameters][1:]
        assert [*kinds[name].arguments] == [
            each for each in arguments if each not in {"ax", "title", "prices"}
        ]
        assert all(each.text or name != "wait" for each in kinds[name].arguments.values())


def test_options_have_the_values_of_arguments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folders: list[str]
) -> None:
    """Words, switches, instants, pairs and amounts arrive as the functions take them."""
    taken: list[dict[str, object]] = []

    def drawing(draw: Callable[..., Axes]) -> Callable[..., Axes]:
        @functools.wraps(draw)
        def kept(results: object, **given: object) -> Axes:
            taken.append({name: value for name, value in given.items() if name not in {"ax", "title"}})
            return draw(results, **given)

        return kept

    known = {name: drawing(draw) for name, draw in plots_of_results().items()}
    monkeypatch.setattr("batchlab.result.plots.plots_of_results", lambda: known)
    log = bl.Workload.from_table({"submit_time": [0, 60], "run_time": [90, 30], "tasks": [1, 1]})
    dated = log.starting_at(1_085_875_200)
    run = str(bl.simulate(dated, demo_system(), "easy").write(tmp_path / "dated"))
    for words in (
        f"wait {folders[0]} --kind cdf --no-log --zoom 0:1h --size 5x3",
        f"slowdown {folders[0]} {folders[1]} --threshold none --policy fcfs",
        f"gantt {run} --from 2004-05-30T00:00:30 --to 2m --by size --labels",
        f"gflops {folders[0]} --performance core=1.5",
        f"job_nodes {folders[0]} --at 0.5h",
    ):
        assert main(["plot", *words.split(), "-o", str(tmp_path / "a.svg"), "--overwrite"]) == 0
    assert taken == [
        {"kind": "cdf", "log": False, "zoom": (0.0, 3600.0)},
        {"threshold": None},
        {"start": 30.0, "end": 120.0, "colour_by": "size", "labels": True},
        {"performance": {"core": 1.5}},
        {"time": 1800.0},
    ]


def test_a_comparison_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of its folder, all runs or those of a policy."""
    log, out = tmp_path / "log.csv", tmp_path / "cmp"
    log.write_text("submit_time,run_time,tasks\n0,90,1\n60,30,1\n", "utf-8")
    command = ["compare", str(log), "--nodes", "1", "--policy", "fcfs", "--policy", "easy", "--out", str(out)]
    assert main(command) == 0
    target = tmp_path / "wait.svg"
    assert main(["plot", "wait", str(out), "-o", str(target)]) == 0
    assert all(f"<!-- {label} -->" in target.read_text() for label in ("fcfs", "easy"))
    assert main(["plot", "gantt", str(out), "--policy", "easy", "-o", str(tmp_path / "one.svg")]) == 0
    capsys.readouterr()


def test_a_comparison_is_not_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands for one run name the folder of one."""
    folder = str(tmp_path / "both")
    log = str(tmp_path / "jobs.csv")
    bl.write_workload(demo_workload(20), log)
    assert main(["compare", log, "--nodes", "64", "-p", "fcfs", "-p", "easy", "--out", folder]) == 0
    for words in (["why", folder], ["bundle", "make", folder, "-o", str(tmp_path / "fault.zip")]):
        assert main(words) == 2
        assert "has several runs; name the folder of one, as " in capsys.readouterr().err


def test_kinds_are_listed_one_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two columns, in 80 columns of a terminal, none cut."""
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["plot", "--help"]) == 0
    lines = capsys.readouterr().out.partition("Kinds")[2].splitlines()[1:-1]
    assert [line.split()[1] for line in lines if line.startswith("│")] == [*plot_kinds()]
    assert all(len(line) <= 80 and "…" not in line for line in lines)


def test_a_report(folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One page about both."""
    target = tmp_path / "page.html"
    assert main(["report", *folders, "-o", str(target), "--title", "Two runs", "--baseline", "easy"]) == 0
    assert capsys.readouterr().out == f"report        {target}\n"
    assert "<h1>Two runs</h1>" in target.read_text("utf-8")


def test_why_a_job_waited(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The answer is that of the result, in lines of any length where nobody looks."""
    result = bl.read_result(folders[0])
    waited = result.jobs.filter(result.jobs["start_time"] > result.jobs["submit_time"])["job_id"][0]
    assert main(["why", folders[0], str(waited)]) == 0
    assert capsys.readouterr().out == f"{result.why(waited).text(None)}\n"


def test_the_help_of_why_has_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    """The help of arguments and options keeps what stands in brackets."""
    assert main(["why", "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "The job_id. [default: all jobs]" in told
    assert "Group the jobs by this column. [default: size, by powers of two]" in told


def test_why_all_jobs_waited(folders: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a job all waiting is summarised, as the options ask for it."""
    result = bl.read_result(folders[0])
    assert main(["why", folders[0]]) == 0
    assert capsys.readouterr().out == f"{result.waiting_summary().text(None)}\n"
    assert main(["why", folders[0], "--by", "user_id", "--every", "36000", "--of", "holders"]) == 0
    expected = result.waiting_summary("user_id", of="holders", every=36000).text(None)
    assert capsys.readouterr().out == f"{expected}\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["plot", "wayt", "fcfs", "-o", "a.png"], "no plot of results has this name. Did you mean 'wait'?"),
        (
            ["plot", "wait", "fcfs", "-o", "a.png", "--by", "user"],
            "for --by: wait does not have it; its options",
        ),
        (
            ["plot", "wait", "fcfs", "-o", "a.png", "--kind", "pie"],
            "for --kind: 'pie'; must be a known word.",
        ),
        (["plot", "wait", "fcfs", "-o", "a.png", "--policy", "eas"], "no run has this policy or label."),
        (
            ["plot", "wait", "fcfs", "-o", "a.png", "--zoom", "0:1h"],
            "for --zoom: (0.0, 3600.0); it is for --kind",
        ),
        (["plot", "wait", "fcfs", "-o", "a.png", "--zoom", "5"], "'5'; must be LOW:HIGH, such as 0:1h."),
        (["plot", "wait", "fcfs", "-o", "a.png", "--size", "4"], "must be WIDTHxHEIGHT in inches"),
        (["plot", "why", "fcfs", "-o", "a.png", "--job", "1.5"], "for --job: '1.5'; must be a whole number."),
        (
            ["plot", "gantt", "fcfs", "-o", "a.png", "--from", "soon"],
            "must be seconds, or a duration such as 36h",
        ),
        (["plot", "gantt", "fcfs", "-o", "a.png", "--from", "2020-01-01"], "no common date of time 0"),
        (
            ["plot", "gantt", "fcfs", "-o", "a.png", "--from", "2d", "--to", "1d"],
            "Invalid value for --from: 172800.0 s, --to 86400.0 s; must be seconds",
        ),
        (
            ["plot", "gflops", "fcfs", "-o", "a.png", "--performance", "core"],
            "must be NAME=VALUE, or several",
        ),
        (["plot", "wait", "fcfs", "-o", "a.gif"], "must end in .png, .pdf, .svg"),
        (
            ["plot", "wait", ".", "-o", "a.png"],
            "result.zip: results are read from this file, and it is missing",
        ),
        (["plot", "wait", "A=fcfs", "easy", "-o", "a.png"], "'easy' has no label, others have"),
        (["plot", "gantt", "fcfs", "easy", "-o", "a.png"], "this plot shows one. Pass --policy."),
        (["plot", "wait", "fcfs", "-o", "nowhere/a.png"], "is no directory"),
        (["report", "fcfs", "-o", "nowhere/page.html"], "is no file in a directory that is there"),
        (["why", "fcfs", "9999"], "JOB: 9999: no job of this run has this number"),
        (["why", "fcfs", "--by", "usr"], "--by: 'usr'; must be 'size' or a column of the jobs"),
        (["why", "fcfs", "--of", "gates"], "run it again with --explain."),
        (["why", "fcfs", "2", "--by", "user_id"], "--by: is for all jobs"),
        (["why", "eazy"], "eazy: there is no such directory. Did you mean 'easy'"),
        (["plot", "wait", "eazy", "-o", "a.png"], "eazy: there is no such directory. Did you mean 'easy'"),
        (["why", ".", "1"], "result.zip: results are read from this file, and it is missing"),
        (
            ["report", "fcfs", "--baseline", "esay"],
            "--baseline: 'esay'; must be the label of one of the results",
        ),
    ],
)
def test_what_is_refused(
    words: list[str],
    message: str,
    folders: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line, and the exit code that goes with it."""
    monkeypatch.chdir(Path(folders[0]).parent)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_plots_of_costs_are_not_offered(
    folders: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Files have no costs of the simulation: exactly the plots that need them are refused, by name."""
    refused = {name for name in plots_of_results() if name not in plot_kinds()}
    assert refused == {"cpu_time", "cpu_time_by_queue_size", "memory", "scalability"}
    assert main(["plot", "scalability", folders[0], "-o", str(tmp_path / "a.png")]) == 2
    assert "needs elapsed of results, which is not written to files" in capsys.readouterr().err


def test_what_files_of_results_lack(folders: list[str]) -> None:
    """A read result has no value, or refuses, for what is declared unwritten."""
    result = bl.read_result(folders[0])
    assert result.elapsed is None
    unwritten = {
        name for name, table in TABLES.items() if table.option == name and not table.is_written(result)
    }
    assert unwritten == UNWRITTEN - {"elapsed"}
