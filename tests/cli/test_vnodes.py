"""`batchlab vnodes`: a stream fed to a real Slurm on virtual nodes, and to our model."""

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from support.virtual_clusters import (
    FRAGMENTS,
    clusters,
    configured,
    needs_compiler,
    needs_slurm,
    one_at_a_time,
)


@pytest.fixture
def alone() -> Iterator[None]:
    with one_at_a_time():
        yield


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Write a stream of 8 jobs of 1 to 4 s within 11 s, which fill 8 nodes for about 20 s."""
    count = 8
    jobs = {
        "job_id": range(1, count + 1),
        "submit_time": [1.5 * place for place in range(count)],
        "run_time": [1.0 + place * 7 % 4 for place in range(count)],
        "requested_time": [60 + 30 * (place % 2) for place in range(count)],
        "tasks": [1 + place * 5 % 8 for place in range(count)],
    }
    path = tmp_path / "stream.csv"
    pl.DataFrame(jobs).write_csv(path)
    return path


def test_model_time(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Model time needs no Slurm: the model runs the stream with limits in whole minutes."""
    command = ["vnodes", str(trace), "--conf", str(configured(tmp_path)), "--nodes", "8", "--mode", "model"]
    assert main([*command, "--out", str(tmp_path / "out"), "--format", "json"]) == 0
    printed = capsys.readouterr()
    numbers = json.loads(printed.out)
    assert numbers == json.loads((tmp_path / "out/metrics.json").read_text())
    assert numbers["model"]["states"]["completed"] == 8
    assert "real" not in numbers
    assert "limits are whole minutes: 15.0 s longer on average, 30.0 s at most" in printed.err
    jobs = pl.read_csv(tmp_path / "out/jobs.csv")
    assert set(jobs["requested_time"]) == {60.0, 120.0}
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert (manifest["policy"], manifest["slurm"], len(manifest["nodes"])) == (
        "slurm(select=cores)",
        None,
        8,
    )


def test_machine(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes are those of slurm.conf unless they are given."""
    conf = configured(tmp_path, "NodeName=a[1-4] CPUs=4\nSchedulerType=sched/builtin\n")
    command = ["vnodes", str(trace), "--conf", str(conf), "--mode", "model"]
    assert main(command) == 0
    assert "4 virtual nodes, 16 cores" in capsys.readouterr().out
    assert main([*command, "--nodes", "8"]) == 0
    assert "8 virtual nodes, 8 cores" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "match"),
    [
        (["--cores", "2"], "are those of --nodes; pass both"),
        (["--clock", "0"], "--clock: '0'; must be real, auto or a factor from 1 to 10,000."),
        (["--nodes", "8", "--policy", "esay"], "no policy named 'esay'"),
    ],
)
def test_wrong_usage(
    trace: Path, tmp_path: Path, options: list[str], match: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be run is one line, and exit code 2."""
    conf = configured(tmp_path)
    assert main(["vnodes", str(trace), "--conf", str(conf), "--mode", "model", *options]) == 2
    assert match in capsys.readouterr().err


def test_without_slurm(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where Slurm is missing one line names the packages that have it."""
    monkeypatch.setattr("shutil.which", lambda name, path: None)
    command = ["vnodes", str(trace), "--conf", str(configured(tmp_path)), "--nodes", "8"]
    assert main(command) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith("Install with: apt-get install munge slurm-client slurmctld slurmd")


@pytest.mark.usefixtures("alone")
@pytest.mark.timeout(300)
@needs_slurm()
class TestWithSlurm:
    """A private Slurm on 8 nodes."""

    def test_fed_and_compared(self, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The stream comes back, P is that of the two tables, and no daemon is left."""
        conf, out = configured(tmp_path, FRAGMENTS["fcfs"]), tmp_path / "out"
        before = clusters()
        assert main(["vnodes", str(trace), "--conf", str(conf), "--nodes", "8", "--out", str(out)]) == 0
        assert clusters() <= before
        printed = capsys.readouterr()
        real, model = (pl.read_csv(out / name) for name in ("jobs.csv", "model.csv"))
        assert (real["state"] == "completed").all()
        assert real["submit_time"].to_list() == pytest.approx(real["planned_submit_time"], abs=5.0)
        # Slurm cuts off the fractions of both instants, and its daemons need some time.
        planned = pl.read_csv(trace)
        longer = (real["run_time"] - planned["run_time"]).to_list()
        assert min(longer) > -1.0
        # sched/builtin starts jobs in the order of their submission.
        assert real.sort("start_time", "job_id")["job_id"].to_list() == planned["job_id"].to_list()
        numbers = json.loads((out / "metrics.json").read_text())
        assert numbers["P"] == pytest.approx(bl.adequacy.compare(real, model).P)
        assert f"{numbers['P']:.2f} s between Slurm and the model" in printed.out
        logged = bl.read_jobcomp(out / "jobcomp.txt").jobs.sort("job_id")
        started = logged["submit_time"] + logged["logged_wait_time"]
        origin = started[0] - real["start_time"][0]
        assert (started - origin).to_list() == real["start_time"].to_list()
        said = json.loads((out / "manifest.json").read_text())["slurm"]
        assert said["version"]
        assert said["lateness"]["max"] == max(real["lateness"])
        assert "SelectType=select/linear" in said["configuration"]

    def test_jobs_that_never_start(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What its partition never allows is cancelled; P is of the rest."""
        short = "PartitionName=short Nodes=ALL Default=YES MaxTime=1\n"
        conf = configured(tmp_path, f"{short}PartitionName=down Nodes=ALL State=INACTIVE\n")
        jobs = {
            "submit_time": [0, 0, 0],
            "run_time": [1, 1, 1],
            "requested_time": [60, 600, 60],
            "tasks": [1, 1, 1],
            "partition": [None, None, "down"],
        }
        path = tmp_path / "three.csv"
        pl.DataFrame(jobs).write_csv(path)
        command = ["vnodes", str(path), "--conf", str(conf), "--nodes", "1", "--patience", "3"]
        assert main([*command, "--format", "json"]) == 0
        printed = capsys.readouterr()
        assert "cancelled when nothing ran: 1 job, 2" in printed.err
        assert "note: job 3: refused:" in printed.err
        numbers = json.loads(printed.out)
        states = numbers["real"]["states"]
        assert (states["completed"], states["queued"], states["rejected"]) == (1, 1, 1)
        assert numbers["P"] is not None


@pytest.mark.usefixtures("alone")
@pytest.mark.timeout(300)
@needs_slurm(accounting=True)
class TestWithAccounts:
    """A private Slurm with a slurmdbd and a database."""

    def test_accounts(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Accounts and qualities of service are loaded, charged, and in what sacct tells."""
        conf = configured(tmp_path, f"{WITH_ACCOUNTS}AccountingStorageEnforce=associations,limits,qos\n")
        (conf / "sacctmgr.txt").write_text("add qos high priority=100  # first\n\n")
        (conf / "accounts.cfg").write_text(ACCOUNTS)
        jobs = {
            "submit_time": [0, 0, 1],
            "run_time": [2, 2, 1],
            "tasks": [2, 2, 2],
            "account": ["bio", "chem", "nobody"],
            "qos": ["normal", "high", "normal"],
        }
        path, out = tmp_path / "three.csv", tmp_path / "out"
        pl.DataFrame(jobs).write_csv(path)
        before = clusters()
        command = ["vnodes", str(path), "--conf", str(conf), "--nodes", "1", "--cores", "2"]
        assert main([*command, "--out", str(out)]) == 0
        assert clusters() <= before
        said = capsys.readouterr().err
        assert "note: the model has no accounts" in said
        assert "note: job 3: refused: " in said
        real = pl.read_csv(out / "jobs.csv")
        assert real["state"].to_list() == ["completed", "completed", "rejected"]
        told = bl.read_sacct(out / "sacct.txt").jobs.sort("job_id")
        assert told["account"].to_list() == ["bio", "chem"]
        assert told["qos"].to_list() == ["normal", "high"]
        started = told["submit_time"] + told["logged_wait_time"]
        apart = (started - real["start_time"][:2]).to_list()
        assert apart[0] == apart[1]


WITH_ACCOUNTS = (
    "PriorityType=priority/multifactor\nPriorityWeightFairshare=1000\nPriorityWeightQOS=500\n"
    "Epilog=/bin/true\nSchedulerParameters=bf_interval=2\n"
)
ACCOUNTS = """\
Cluster - 'elsewhere':Fairshare=1:QOS='normal,high'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'bio':Description='bio':Organization='lab':Fairshare=20:QOS='high,normal'
Account - 'chem':Description='chem':Organization='lab':Fairshare=30:QOS='high,normal'
"""


@needs_slurm()
@needs_compiler
@pytest.mark.timeout(300)
def test_repeated_runs_in_virtual_time(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each run of Slurm has a directory of its own, and is compared with the others and with the model."""
    conf = configured(tmp_path, "SchedulerType=sched/builtin\nSelectType=select/linear\n")
    command = ["vnodes", str(trace), "--conf", str(conf), "--nodes", "8", "--clock", "auto", "--repeat", "2"]
    with one_at_a_time():
        assert main([*command, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    for text in ("times real time", "Slurm, Slurm  P ", "Slurm, model  P ", "run-1 to run-2"):
        assert text in said
    for run in ("run-1", "run-2"):
        assert pl.read_csv(tmp_path / "out" / run / "jobs.csv").height == 8
    assert main([*command, "--mode", "model"]) == 2
    assert "is for runs of Slurm" in capsys.readouterr().err
