"""``batchlab report`` and ``batchlab plot``: what was written is drawn and told without being run again."""

from pathlib import Path

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.generate import demo_system, demo_workload

# The words are right, but what they ask for cannot be drawn.
FAILED = ("this plot shows one", "must be the label of one of the results")


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
    """The reasons of waits, of the one run that is given."""
    folder = bl.simulate(demo_workload(60), demo_system(), "easy", reasons=True).write(tmp_path / "run")
    assert main(["plot", "waiting_reasons", str(folder), "-o", str(tmp_path / "reasons.png")]) == 0


def test_labels_and_title_are_drawn(folders: list[str], tmp_path: Path) -> None:
    """Where each folder has a label, it stands in place of the policy; one label is one group."""
    target = tmp_path / "wait.svg"
    named = [f"{label}={folder}" for label, folder in zip(("old", "new"), folders, strict=True)]
    assert main(["plot", "wait", *named, "-o", str(target), "--title", "Both"]) == 0
    assert all(f"<!-- {text} -->" in target.read_text() for text in ("old", "new", "Both"))


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
        (["plot", "wait", "fcfs", "-o", "a.gif"], "must end in .png, .pdf, .svg"),
        (
            ["plot", "wait", ".", "-o", "a.png"],
            "result.zip: is what results are read from, and there is none",
        ),
        (["plot", "wait", "A=fcfs", "easy", "-o", "a.png"], "'easy' has no label, others have"),
        (["plot", "gantt", "fcfs", "easy", "-o", "a.png"], "this plot shows one"),
        (["plot", "wait", "fcfs", "-o", "nowhere/a.png"], "is no directory"),
        (["report", "fcfs", "-o", "nowhere/page.html"], "is no file in a directory that is there"),
        (["why", "fcfs", "9999"], "job_id = 9999: no job of this run has this number"),
        (["why", "fcfs", "1"], "job 1 did not wait: it started when it was submitted"),
        (["why", "fcfs", "--by", "usr"], "by = 'usr'; must be 'size' or a column of the jobs"),
        (["why", "fcfs", "--of", "gates"], "explain=True"),
        (["why", "fcfs", "2", "--by", "user_id"], "--by: is for all jobs"),
        (["why", ".", "1"], "result.zip: is what results are read from, and there is none"),
        (["report", "fcfs", "--baseline", "esay"], "must be the label of one of the results"),
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
    assert main(words) == (1 if message in FAILED else 2)
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
