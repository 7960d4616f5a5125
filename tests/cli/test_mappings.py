"""`--mapping`, and data sets that are known by their columns, in every command that takes a log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.cli import main
from support.data_sets import FOLDER

LOG = "No;Queued;Began;Ended;NCPU;WallMin\n1;100;100;700;4;20\n2;101;701;1301;8;10\n3;102;1302;1362;4;20\n"
MAPPING = """machine = "two.toml"
[columns]
job_id = "No"
submit = "Queued"
start = "Began"
end = "Ended"
cores = "NCPU"
limit = { column = "WallMin", unit = "min" }
"""
TWO = '[[groups]]\nname = "n"\ncount = 2\nresources = { core = 4 }\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where a log of one's own, its mapping and its machine are."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("my.csv", LOG), ("my.toml", MAPPING), ("two.toml", TWO)):
        Path(name).write_text(text, "utf-8")


def waits(result: bl.Result) -> list[float]:
    """Return how long each job waited, seconds."""
    return (result.jobs["start_time"] - result.jobs["submit_time"]).to_list()


def test_run_takes_the_machine_of_the_mapping() -> None:
    """Unless options say which; the mapping is an input of the run, and no output may replace it."""
    assert main(["run", "my.csv", "--mapping", "my.toml", "--policy", "easy", "--out", "out"]) == 0
    assert waits(bl.read_result("out")) == [0.0, 599.0, 1198.0]
    inputs = json.loads(Path("out/manifest.json").read_text("utf-8"))["inputs"]
    assert {"trace", "mapping"} <= set(inputs)
    assert (
        main(["run", "my.csv", "--mapping", "my.toml", "--nodes", "4", "--cores", "4", "--out", "more"]) == 0
    )
    assert waits(bl.read_result("more")) == [0.0, 0.0, 0.0]


def test_every_command_takes_a_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    """Comparisons, synthetic workloads, adequacy and experiments read a log by its mapping."""
    mapped = ["--mapping", "my.toml"]
    assert main(["compare", "my.csv", *mapped, "--policy", "easy", "--policy", "fcfs"]) == 0
    assert (
        main(
            [
                "generate",
                "--like",
                "my.csv",
                *mapped,
                "--jobs",
                "5",
                "--nodes",
                "2",
                "--cores",
                "4",
                "--out",
                "g.swf",
            ]
        )
        == 0
    )
    assert main(["run", "my.csv", *mapped, "--policy", "easy", "--out", "out"]) == 0
    capsys.readouterr()
    assert main(["adequacy", "my.csv", "out", *mapped]) == 0
    assert "0" in capsys.readouterr().out
    Path("sub").mkdir()
    Path("sub/e.toml").write_text(
        'policies = ["easy"]\n[workloads]\nmine = { path = "../my.csv", mapping = "../my.toml" }\n'
        '[systems]\ntwo = "../two.toml"\n',
        "utf-8",
    )
    capsys.readouterr()
    assert main(["experiment", "sub/e.toml"]) == 0
    # (599 + 1198) / 3 s
    assert "00:09:59" in capsys.readouterr().out


def test_known_data_sets_need_no_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    """Nor a machine, if there is a ready one: Mustang's jobs take whole nodes of it."""
    shutil.copy(FOLDER / "mustang/mustang_release_v1.0beta.csv", "jobs_of_mustang.csv")
    assert main(["run", "jobs_of_mustang.csv"]) == 0
    said = capsys.readouterr().out
    assert "Mustang, 1,600 nodes, 38,400 cores" in said
    assert "2 completed" in said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "my.csv", "--mapping", "pm1000", "--nodes", "1"], "Did you mean 'pm100'?"),
        (["run", "my.csv", "--mapping", "my.toml", "--log-format", "sacct"], "leave one of the two out"),
        (["run", "my.csv", "--mapping", "my.toml", "--stream"], "reads SWF logs"),
        (["run", "both.csv"], "may be mustang, trinity, which have the same columns. Say which: --mapping"),
        (["generate", "lublin", "--jobs", "3", "--mapping", "my.toml", "--out", "g.swf"], "has no effect on"),
        (["traces", "show", "pm1000"], "Did you mean 'pm100'?"),
    ],
)
def test_what_cannot_be_read_is_refused(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 2, and one line that says why."""
    shutil.copy(FOLDER / "mustang/mustang_release_v1.0beta.csv", "both.csv")
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


def test_a_mapping_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is from; and as the file that it is."""
    assert main(["traces", "show", "philly"]) == 0
    assert "github.com/msr-fiddle/philly-traces" in capsys.readouterr().out
    assert main(["traces", "show", "philly", "--toml"]) == 0
    Path("own.toml").write_text(capsys.readouterr().out, "utf-8")
    log = FOLDER / "philly/cluster_job_log"
    assert bl.read_mapped(log, "own.toml").jobs.equals(bl.read_mapped(log).jobs)


@pytest.mark.parametrize("more", [[], ["--stream"]])
def test_a_data_set_that_is_read_as_swf(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A log of 21 fields in which field 5 holds nodes or cores is warned of by each way to run it."""
    path = str(FOLDER / "frontier" / "frontier-2024.swf")
    assert main(["run", path, "--log-format", "swf", "--nodes", "9408", "--cores", "64", *more]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the fields of lines from the 19th on are not read" in said
    assert "batchlab run --mapping frontier" in said
