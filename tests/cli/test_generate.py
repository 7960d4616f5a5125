"""`batchlab generate`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

WRITER = """
import batchlab as bl

class Sizes(bl.Writer):
    def line(self, job):
        return str(job["tasks"])

class Other:
    pass
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give a log to be like."""
    path = tmp_path / "trace.swf"
    bl.write_swf(bl.generate.lublin(400, nodes=32, seed=1), path)
    return path


@pytest.mark.parametrize("model", ["lublin", "feitelson", "jann"])
def test_models(model: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each writes the workload that the library makes, and says so."""
    out = tmp_path / "made.swf.gz"
    given = ["--like", str(trace)] if model == "jann" else ["--nodes", "16", "--cores", "2"]
    assert main(["generate", model, "--jobs", "50", "--seed", "3", *given, "--out", str(out)]) == 0
    assert f"written to {out}" in capsys.readouterr().out
    if model == "jann":
        made = bl.generate.jann(50, bl.generate.JannModel.fit(bl.read_swf(trace)), seed=3)
    else:
        made = getattr(bl.generate, model)(50, nodes=32, seed=3)
    columns = ["submit_time", "run_time", "requested_time", "tasks"]
    assert bl.read_swf(out).jobs.select(columns).equals(made.jobs.select(columns))


def test_like_a_log(trace: Path, tmp_path: Path) -> None:
    """All that can be said of machine, performance and limits is passed on."""
    system = bl.System((bl.NodeGroup("a", 4, {"core": 8, "gpu": 2}),), name="a")
    bl.write_system(system, tmp_path / "system.toml")
    out = tmp_path / "made.parquet"
    words = "--performance core=2,gpu=30 --performance-of-log core=1.5 --least core=2 --most core=6,gpu=1"
    given = [*words.split(), "--period", "86400", "--whole-seconds", "--seed", "7", "--estimates", "run_time"]
    assert (
        main(
            [
                "generate",
                "--like",
                str(trace),
                "--jobs",
                "30",
                "--system",
                str(tmp_path / "system.toml"),
                *given,
                "--out",
                str(out),
            ]
        )
        == 0
    )
    made = bl.generate.like(
        bl.read_swf(trace),
        30,
        system=system,
        performance={"core": 2, "gpu": 30},
        performance_of_log={"core": 1.5},
        request_limits={"min": {"core": 2}, "max": {"core": 6, "gpu": 1}},
        period=86400,
        whole_seconds=True,
        requested_time="run_time",
        seed=7,
    )
    assert bl.read_table(out).jobs.equals(made.jobs)


def test_the_machine_of_the_log(trace: Path, tmp_path: Path) -> None:
    """Without any said, it is that of the log's header; a table will do as a log too."""
    table = tmp_path / "trace.csv"
    bl.write_table(bl.read_swf(trace), table)
    assert main(["generate", "--like", str(trace), "--jobs", "9", "--out", str(tmp_path / "a.csv")]) == 0
    assert (
        main(
            [
                "generate",
                "--like",
                str(table),
                "--jobs",
                "9",
                "--nodes",
                "32",
                "--out",
                str(tmp_path / "b.csv"),
            ]
        )
        == 0
    )
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_estimates(tmp_path: Path) -> None:
    """The model of Tsafrir et al. goes with every other model."""
    out = tmp_path / "made.csv"
    assert main(["generate", "lublin", "--jobs", "80", "--estimates", "tsafrir", "--out", str(out)]) == 0
    made = bl.generate.estimates(bl.generate.lublin(80))
    assert bl.read_table(out).jobs["requested_time"].equals(made.jobs["requested_time"])


def test_ones_own_writer(tmp_path: Path) -> None:
    """A class in a Python file writes what it wants, whatever the suffix."""
    (tmp_path / "sizes.py").write_text(WRITER)
    out = tmp_path / "made.txt"
    writer = f"{tmp_path / 'sizes.py'}:Sizes"
    assert main(["generate", "lublin", "--jobs", "5", "--out", str(out), "--writer", writer]) == 0
    assert out.read_text().split() == [str(size) for size in bl.generate.lublin(5).jobs["tasks"]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param([], "name a model (lublin, feitelson, jann), or pass --like TRACE", id="nothing"),
        pytest.param(["lubin"], "'lubin' is not one of", id="no model"),
        pytest.param(["jann"], "takes its parameters from a log; pass --like", id="jann without log"),
        pytest.param(["lublin", "--like", "TRACE"], "does not apply to the model lublin", id="two"),
        pytest.param(["lublin", "--system", "cori"], "pass --nodes and --cores", id="system"),
        pytest.param(["lublin", "--estimates", "log"], "pass tsafrir", id="estimates"),
        pytest.param(["lublin", "--seed", "-1"], "'--seed': -1", id="seed"),
        pytest.param(["feitelson", "--load", "0"], "--load: 0.0; must be a finite number > 0", id="load"),
        pytest.param(
            ["--like", "TRACE", "--most", "core=1.5"], "core=1.5; must be a whole number", id="fraction"
        ),
        pytest.param(
            ["--like", "TRACE", "--most", "4"], "'4'; must be resources and numbers", id="no resource"
        ),
        pytest.param(
            ["--like", "TRACE", "--performance", "core=x"], "'core=x'; must be resources", id="no number"
        ),
        pytest.param(["--like", "TRACE", "--least", "gpu=1"], "the system has no such resource", id="no gpu"),
        pytest.param(["lublin", "--load", "0.5"], "on the model lublin; leave it out, and", id="load"),
        pytest.param(["feitelson", "--kind", "batch"], "--kind: has no effect on", id="kind"),
        pytest.param(["feitelson", "--period", "9"], "--period: has no effect on", id="period"),
        pytest.param(["jann", "--like", "TRACE", "--nodes", "9"], "--nodes: has no effect on", id="nodes"),
        pytest.param(["--like", "TRACE", "--kind", "batch"], "on workloads like a log", id="kind like"),
        pytest.param(["lublin", "--writer", "no.py:A"], "must be FILE.py:NAME", id="no file"),
        pytest.param(
            ["lublin", "--writer", "OWN:Other"], "has no class 'Other' derived from", id="no writer"
        ),
        pytest.param(["lublin", "--writer", "TRACE:A"], "is no Python file", id="no Python"),
    ],
)
def test_wrong_usage_is_told(
    given: list[str], said: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line, with the exit code 2, and nothing is written."""
    (tmp_path / "own.py").write_text(WRITER)
    names = {"TRACE": str(trace), "TRACE:A": f"{trace}:A", "OWN:Other": f"{tmp_path / 'own.py'}:Other"}
    words = [names.get(word, word) for word in given]
    out = tmp_path / "made.swf"
    assert main(["generate", *words, "--jobs", "5", "--out", str(out)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("out", "said"),
    [("made.xyz", "must end in .swf, .swf.gz, .csv, .parquet"), ("nowhere/made.swf", "is no directory")],
)
def test_where_nothing_can_be_written(
    out: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told before anything is made."""
    assert main(["generate", "lublin", "--jobs", "5", "--out", str(tmp_path / out)]) == 2
    assert said in capsys.readouterr().err
