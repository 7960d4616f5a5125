"""Logs of Slurm and PBS stand wherever logs of the archive do, known by their first line."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main
from batchlab.workload.formats import log_format

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.core.vocabulary import LogFormat

SACCT = (
    "JobID|Submit|Start|End|State|ReqCPUS|Timelimit\n"
    "1|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T10:02:00|COMPLETED|2|00:05:00\n"
    "2|2024-03-01T10:00:30|2024-03-01T10:02:00|2024-03-01T10:03:00|COMPLETED|2|00:05:00\n"
)
JOBCOMP = (
    "JobId=1 JobState=COMPLETED TimeLimit=5 ProcCnt=2 StartTime=2024-03-01T10:00:00 "
    "EndTime=2024-03-01T10:02:00 SubmitTime=2024-03-01T10:00:00\n"
)
PBS = (
    "03/01/2024 10:02:00;E;1.server;queue=batch qtime=1709287200 start=1709287200 end=1709287320 "
    "Resource_List.ncpus=2 Resource_List.walltime=00:05:00\n"
)
LSF = (
    '"JOB_FINISH" "10.1" 1709287320 1 501 2 2 1709287200 0 0 1709287200 "a" "q" "" "" "" "m" "/" "" "" "" '
    '"x" 0 1 "2*n1" 64 1.0 "" "run"\n'
)
SGE = (
    "q:n:g:a:x:1:sge:0:1709287200:1709287200:1709287320:0:0:120" + ":0" * 17 + ":NONE:d:mpi:2:0:1:1:0:"
    "-l h_rt=300 -pe mpi 2:0:NONE:0\n"
)
COBALT = (
    "03/01/2024 10:02:00;E;1;Exit_status=0 Resource_List.nodect=2 Resource_List.walltime=0:05:00 "
    "ctime=1709287200.0 end=1709287320.0 mode=script queue=q start=1709287200.0\n"
)
MAUI = (
    "1 1 2 a g 300 Completed [q:1] 1709287200 1709287200 1709287200 1709287320 - - - >= 0 >= 0 - 1709287200 "
    "2 2 - - - - - 0 0 - 1 0\n"
)
GWF = f"# grid\n1 1709287200 0 120 2 -1 -1 2 300 -1 1 U1{' -1' * 17}\n"
SWF = "; MaxProcs: 2\n1 0 0 120 2 -1 -1 2 300 -1 1 1 1 -1 1 -1 -1 -1\n"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (SACCT, "sacct"),
        ("User,Submit,JobIDRaw\n", "sacct"),
        ("User^~JobID^~Submit\n", "sacct"),
        (f"sacct: warning: slow\n{SACCT}", "sacct"),
        ("JobID   JobName  State\n", "sacct"),
        (JOBCOMP, "jobcomp"),
        (PBS, "pbs"),
        (LSF, "lsf"),
        (GWF, "gwf"),
        ("WorkflowID, JobID     , SubmitTime\n", "gwf"),
        (MAUI, "maui"),
        ("22:20:00 1700000400:12 node n1 NODEUP\n", "maui"),
        (COBALT, "cobalt"),
        (f"03/01/2024 10:02:00;{COBALT}", "cobalt"),
        ("03/01/2024 10:02:00;QA;1;x\n", "cobalt"),
        (SGE, "sge"),
        (f"# Version: 8\n1709287321:acct:{SGE}", "sge"),
        (SWF, "swf"),
        ("", "swf"),
    ],
)
def test_formats_are_known_by_the_first_line(text: str, form: LogFormat, tmp_path: Path) -> None:
    """Plain and packed, after blank lines."""
    plain, packed = tmp_path / "log", tmp_path / "log.gz"
    plain.write_text(f"\n{text}", "utf-8")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert log_format(plain) == log_format(packed) == form


@pytest.mark.timeout(20)
@pytest.mark.parametrize("word", ["# ", "sacct: ", "VERSION ", "JobID "])
def test_long_first_lines_are_looked_at_once(word: str, tmp_path: Path) -> None:
    """No form tries all ways to split a line."""
    path = tmp_path / "log"
    path.write_text(word * 2000 + "x", "utf-8")
    assert log_format(path) in ("swf", "sacct")


@pytest.mark.parametrize("text", [SACCT, JOBCOMP, PBS, LSF, SGE, COBALT, MAUI, GWF, SWF])
def test_run(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is replayed."""
    path = tmp_path / "log.txt"
    path.write_text(text, "utf-8")
    assert main(["run", str(path), "--nodes", "2", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["makespan"] == (180.0 if text == SACCT else 120.0)
    assert main(["compare", str(path), "--nodes", "2", "--policy", "fcfs", "--format", "json"]) == 0


def test_experiments_and_generators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They read what the commands read."""
    (tmp_path / "log.txt").write_text(SACCT, "utf-8")
    spec = tmp_path / "experiment.toml"
    spec.write_text(
        'policies = ["fcfs"]\n[workloads]\nours = "log.txt"\n'
        "[systems.small]\ngroups = [{ name = 'n', count = 2, resources = { core = 1 } }]\n",
        "utf-8",
    )
    assert main(["experiment", str(spec), "--format", "json"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        (SACCT, ["--stream"], "--stream: reads SWF logs"),
        (SWF, ["--timezone", "UTC"], "--timezone: is no option of logs of format swf"),
        (SACCT, ["--timezone", "Mars"], "--timezone: 'Mars'; must be a name of the IANA's list"),
        (SACCT, ["--log-format", "pbs"], "log.txt:1: no line is a record of a job"),
        (SACCT, [], "Pass --nodes and --cores"),
    ],
)
def test_wrong_uses(
    text: str, arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line says which, and why."""
    path = tmp_path / "log.txt"
    path.write_text(text, "utf-8")
    nodes = ["--nodes", "2"] if arguments else []
    assert main(["run", str(path), *nodes, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
