"""``batchlab slurm forecast``: starts of the waiting jobs of a live cluster."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main
from batchlab.slurm import read_configuration, read_dump, translate_dump
from support.live_dumps import FOLDER, NOW

if TYPE_CHECKING:
    from pathlib import Path

DUMPS = [
    *("--conf", str(FOLDER), "--squeue", str(FOLDER / "squeue.json"), "--now", str(NOW)),
    *("--nodes", str(FOLDER / "sinfo.json"), "--reservations", str(FOLDER / "res.txt")),
    *("--sprio", str(FOLDER / "sprio.txt"), "--order", "dump"),
]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    """The text has a line for each waiting job, its cause, and what is not modelled."""
    assert main(["slurm", "forecast", *DUMPS, "--samples", "20"]) == 0
    out, err = capsys.readouterr()
    assert "Starts of waiting jobs, from now on" in out
    assert "4_3" in out
    text = " ".join(out.split())
    assert "dependency; Slurm: Dependency (it depends on other jobs: afterok:1)" in text
    assert "more jobs in the table" in out
    assert "note: nodes that are down or drained are out of service (2: n1, n4)" in err


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """The JSON has intervals in seconds from now: ordered, not before now, not after the plan by limits."""
    command = [
        "slurm",
        "forecast",
        *DUMPS,
        "--samples",
        "40",
        "--job",
        "13",
        "--job",
        "8",
        "--format",
        "json",
    ]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["now"], found["samples"], found["release"]) == (NOW, 40, "22.05.8")
    assert sorted(job["slurm_id"] for job in found["jobs"]) == ["13", "8"]
    for job in found["jobs"]:
        assert 0 <= job["start_0.1"] <= job["start_0.5"] <= job["start_0.9"]
        assert job["jobs_before"] >= 0
    again = json.loads((main(command), capsys.readouterr().out)[1])
    assert again == found


def test_history(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With a history of jobs that run a tenth of their limits, jobs start earlier."""
    lines = ["JobID|User|State|Submit|Start|End|Elapsed|Timelimit|ReqCPUS"]
    for number in range(40):
        hour = f"2026-11-25T{number % 24:02}"
        times = f"{hour}:00:00|{hour}:00:01|{hour}:06:01|00:06:00|01:00:00"
        lines.append(f"{number + 1}|ann|COMPLETED|{times}|4")
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(lines))
    command = ["slurm", "forecast", *DUMPS, "--samples", "40", "--format", "json", "--job", "8"]
    assert main(command) == 0
    (without,) = json.loads(capsys.readouterr().out)["jobs"]
    assert main([*command, "--history", str(path)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["history"] == 40
    (job,) = found["jobs"]
    assert job["start_0.9"] < without["start_0.9"] <= without["planned_start"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (["--now", "soon"], "--now: 'soon'; must be seconds since 1970"),
        (["--job", "99"], "99: no such job waits"),
        (["--squeue", "none"], "does not exist"),
        (["--squeue", str(FOLDER / "slurm.conf")], "is no dump of jobs"),
        (["--history", str(FOLDER / "sprio.txt")], "sprio.txt"),
    ],
)
def test_wrong_usage(change: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be read or is not there is refused with exit code 2, in one line."""
    assert main(["slurm", "forecast", *DUMPS, *change]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_hidden_jobs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A dump with hidden jobs is refused, or accepted with --incomplete."""
    document = json.loads((FOLDER / "squeue.json").read_text())
    document["jobs"] = [job for job in document["jobs"] if job["name"] != "wide"]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(document))
    assert main(["slurm", "forecast", *DUMPS, "--squeue", str(path)]) == 2
    assert "16 CPUs are busy on 2 nodes (n5, n6)" in " ".join(capsys.readouterr().err.split())
    command = [
        "slurm",
        "forecast",
        *DUMPS,
        "--squeue",
        str(path),
        "--incomplete",
        "--samples",
        "10",
        "--job",
        "15",
    ]
    assert main(command) == 0


def test_in_python() -> None:
    """The object prints its tables, and has the forecast with all samples."""
    state = read_dump(FOLDER / "squeue.json", now=NOW, nodes=FOLDER / "sinfo.json")
    live = translate_dump(state, read_configuration(FOLDER), order="dump")
    found = live.forecast(20, (0.25, 0.75), jobs=[8], limits=False)
    assert found.forecast.starts.shape[0] == 20
    assert [name for name in found.table.columns if name.startswith("start_")] == ["start_0.25", "start_0.75"]
    assert "25 %" in str(found)


def test_one_job_from_standard_input(tmp_path: Path) -> None:
    """A dump of one job that waits: counts in the singular, and the input by its name, not that of a copy."""
    document = json.loads((FOLDER / "squeue.json").read_text())
    document["jobs"] = [job for job in document["jobs"] if job["job_id"] == 8]
    command = [sys.executable, "-m", "batchlab", "slurm", "forecast", "--conf", str(FOLDER)]
    command += ["--squeue", "-", "--now", str(NOW), "--samples", "5"]
    answers = [
        subprocess.run(  # noqa: S603  # our own code
            [*command, *words],
            input=json.dumps(document),
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        for words in ([], ["--format", "json"], ["--job", "9"])
    ]
    text = answers[0].stdout
    assert "running       0 jobs" in text
    assert "waiting       1 job\n" in text
    assert json.loads(answers[1].stdout)["files"] == ["standard input"]
    assert "9: no such job waits in standard input." in " ".join(answers[2].stderr.split())
