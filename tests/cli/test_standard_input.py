"""Inputs from standard input and pipes: each is read once, by all commands and options that take one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from threading import Thread
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.experiment.specification import read_specification
from cli.conftest import LOG
from support.live_dumps import FOLDER, NOW
from support.small_centre import configured, submitted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SYSTEM = '[[groups]]\nname = "all"\ncount = 8\nresources = { core = 1 }\n[[queues]]\nname = "batch"\n'
TABLE = "job_id,submit_time,run_time,requested_time,tasks\n1,0,100,200,8\n2,10,50,60,8\n3,20,10,20,2\n"
JOBCOMP = (
    "JobId=1 UserId=a(1) GroupId=a(1) Name=x JobState=COMPLETED Partition=p TimeLimit=10 "
    "StartTime=2024-01-01T00:00:10 EndTime=2024-01-01T00:01:10 NodeList=n1 NodeCnt=1 ProcCnt=2 "
    "SubmitTime=2024-01-01T00:00:00\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write what the commands read besides the trace."""
    (tmp_path / "system.toml").write_text(SYSTEM)
    (tmp_path / "small.swf").write_text(LOG)
    return tmp_path


def answer(folder: Path, words: Sequence[str], given: str | bytes) -> subprocess.CompletedProcess[bytes]:
    """Run a command with a trace on standard input."""
    data = given.encode() if isinstance(given, str) else given
    return subprocess.run(  # noqa: S603  # our own code
        [sys.executable, "-m", "batchlab", *words],
        input=data,
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=300,
        env=os.environ | {"TMPDIR": str(folder)},
    )


@pytest.mark.parametrize(
    "words",
    [
        ["-"],
        ["/dev/stdin", "--system", "system.toml"],
        ["-", "--system", "system.toml", "--format", "json"],
        ["-", "--nodes", "8", "--stream"],
    ],
    ids=" ".join,
)
def test_a_run_reads_standard_input(folder: Path, words: list[str]) -> None:
    """All jobs are simulated, by whichever way; nothing is left of a copy."""
    done = answer(folder, ["run", *words], LOG)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert (b'"completed": 3' if "json" in words else b"3 completed") in done.stdout
    assert sorted(each.name for each in folder.iterdir()) == ["small.swf", "system.toml"]


@pytest.mark.parametrize(("form", "jobs"), [("csv", 3), ("parquet", 3), ("gzip", 3), ("jobcomp", 1)])
def test_the_form_is_found_from_the_content(folder: Path, form: str, jobs: int) -> None:
    """As that of a file is, which may have any name."""
    import gzip  # noqa: PLC0415
    import io  # noqa: PLC0415

    buffer = io.BytesIO()
    pl.read_csv(io.StringIO(TABLE)).write_parquet(buffer)
    content: dict[str, str | bytes] = {
        "csv": TABLE,
        "parquet": buffer.getvalue(),
        "gzip": gzip.compress(LOG.encode()),
        "jobcomp": JOBCOMP,
    }
    done = answer(folder, ["run", "-", "--nodes", "8"], content[form])
    assert done.returncode == 0, done.stderr
    assert f"{jobs} completed".encode() in done.stdout


@pytest.mark.parametrize("stream", [False, True])
def test_a_named_pipe_is_read_once(folder: Path, *, stream: bool) -> None:
    """A run opens it once: a second time would wait for another writer."""
    os.mkfifo(folder / "pipe")
    writer = Thread(target=(folder / "pipe").write_text, args=(LOG,), daemon=True)
    writer.start()
    words = ["run", "pipe", "--nodes", "8", *(["--stream"] if stream else [])]
    done = answer(folder, words, "")
    writer.join(10)
    assert done.returncode == 0, done.stderr
    assert b"3 completed" in done.stdout


EVENT = '{"time": 0, "event": "drain", "nodes": "0"}\n'
PLATFORM = (
    '<?xml version="1.0"?><platform version="4.1">'
    '<zone id="z" routing="Full"><host id="a" speed="1Gf"/></zone></platform>'
)
RUN = ["run", "small.swf"]
EXPERIMENT = 'policies = ["fcfs"]\nworkloads.log = "small.swf"\nsystems.small = "{}"\nevents = "{}"\n'
# What is read besides a dump of a live cluster, with IN for this one; and its file.
LIVE = ["slurm", "forecast", "--conf", str(FOLDER), "--now", str(NOW), "--samples", "2", "--job", "8"]
JOBS_OF_LIVE = ("--squeue", str(FOLDER / "squeue.json"))
LIVE_DUMPS = [
    (["--squeue", "IN"], "squeue.json"),
    ([*JOBS_OF_LIVE, "--nodes", "IN"], "sinfo.json"),
    ([*JOBS_OF_LIVE, "--reservations", "IN"], "res.txt"),
    ([*JOBS_OF_LIVE, "--sprio", "IN"], "sprio.txt"),
]
# Commands, with IN for what is read only once; and its content.
OTHER_INPUTS = [
    ([*RUN, "--system", "IN"], SYSTEM),
    ([*RUN, "--system", "IN", "--stream"], SYSTEM.partition("[[queues]]")[0]),
    ([*RUN, "--nodes", "8", "--external-events", "IN"], EVENT),
    (["platform", "IN"], PLATFORM),
    *(([*LIVE, *others], (FOLDER / name).read_text()) for others, name in LIVE_DUMPS),
    (["experiment", "system.toml IN"], SYSTEM),
    (["experiment", "events IN"], EVENT),
]


@pytest.mark.parametrize(
    ("words", "content"), OTHER_INPUTS, ids=[" ".join(words) for words, _ in OTHER_INPUTS]
)
def test_other_inputs_are_read_once(folder: Path, words: list[str], content: str) -> None:
    """Machines, events and platforms: from standard input, and from a pipe."""
    (folder / "events").write_text(EVENT)
    os.mkfifo(folder / "pipe")
    for name in ("-", "pipe"):
        filled = [word.replace("IN", name) for word in words]
        if words[0] == "experiment":
            system, events = (name, "events") if "system" in words[1] else ("system.toml", name)
            (folder / "case.toml").write_text(EXPERIMENT.format(system, events))
            filled = ["experiment", "case.toml", "--store", f"runs of {name}"]
        writer = Thread(target=lambda: (folder / "pipe").write_text(content), daemon=True)
        if name == "pipe":
            writer.start()
        done = answer(folder, filled, content if name == "-" else "")
        assert done.returncode == 0, done.stderr
        assert done.stdout


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (
            ["run", "-", "--system", "-"],
            b"'TRACE': is standard input, which only one of 'TRACE' and --system",
        ),
        (["run", "-", "--system", "-", "--stream"], b"which only one of 'TRACE' and --system can be"),
        (["adequacy", "-", "-"], b"which only one of 'MODEL' and 'REAL' can be"),
        ([*LIVE, "--squeue", "-", "--nodes", "-"], b"which only one of --nodes and --squeue can be"),
    ],
    ids=["run", "stream", "adequacy", "live"],
)
def test_standard_input_has_one_reader(folder: Path, words: list[str], arguments: bytes) -> None:
    """Two inputs cannot share it."""
    done = answer(folder, words, SYSTEM)
    assert done.returncode == 2
    assert arguments in done.stderr


def test_an_experiment_reads_standard_input(folder: Path) -> None:
    """As one log of its file, which is read once for all runs; the library itself reads none."""
    text = 'policies = ["fcfs", "easy"]\nworkloads.log = "-"\nsystems.small = "system.toml"\n'
    (folder / "case.toml").write_text(text)
    done = answer(folder, ["experiment", "case.toml", "--out", "out"], LOG)
    assert done.returncode == 0, done.stderr
    assert b"2 policies done" in done.stdout
    inputs = json.loads((folder / "out/manifest.json").read_text())["inputs"]
    assert inputs["log"]["path"] == "standard input"
    with pytest.raises(bl.ExperimentError, match=r"workloads\.log: standard input is read by the command"):
        read_specification(folder / "case.toml")


def test_manifests_and_errors_call_it_standard_input(folder: Path) -> None:
    """The same input writes the same bytes; a line of an error is that of the input."""
    manifests = []
    for out in ("one", "two"):
        assert answer(folder, ["run", "-", "--nodes", "8", "--out", out], LOG).returncode == 0
        manifests.append(json.loads((folder / out / "manifest.json").read_text()))
    assert manifests[0]["inputs"] == manifests[1]["inputs"]
    assert manifests[0]["inputs"]["trace"]["path"] == "standard input"
    assert manifests[0]["inputs"]["trace"]["bytes"] == len(LOG)
    assert answer(folder, ["run", "--out", "one", "-", "--nodes", "8"], LOG).returncode == 0
    done = answer(folder, ["run", "-", "--nodes", "8", "--invalid", "raise"], LOG + "4 0 x\n")
    assert done.returncode == 2
    assert done.stderr.startswith(b"batchlab: standard input:6: ")


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "-", "--nodes", "8"],
        ["generate", "--like", "-", "--jobs", "5", "--nodes", "8", "--out", "made.csv"],
        ["mix", "-", "--background", "ring", "--out", "mixed.csv"],
        ["adequacy", "-", "small.swf"],
        ["vnodes", "-", "--conf", "now", "--nodes", "8", "--mode", "model"],
    ],
    ids=lambda words: words[0],
)
def test_all_commands_take_it(folder: Path, words: list[str]) -> None:
    """Every command that takes a trace."""
    (folder / "now").mkdir()
    (folder / "now/slurm.conf").write_text("")
    done = answer(folder, words, LOG)
    # Logs without waits cannot be compared: what is wrong with them is found after they were read.
    said = done.stderr.decode()
    assert done.returncode == 0 or (words[0] == "adequacy" and "standard input" in said), said


def test_slurm_takes_it(folder: Path) -> None:
    """What-if studies, and fits likewise."""
    twin = bl.twin.read_twin(configured(folder / "now"))
    jobs = submitted(40, load=0.6)
    start = pl.Series("start_time", twin.run(jobs).outcome.start_time)
    table = jobs.jobs.with_columns(start).write_csv()
    configured(folder / "other")
    words = ["slurm", "what-if", "-", "--conf", "now", "--conf", "other", "--resamples", "2", "--seeds", "1"]
    done = answer(folder, words, table)
    assert done.returncode == 0, done.stderr
