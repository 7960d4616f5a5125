"""A log of Slurm on its own configuration: memory, GPUs and limits of partitions are simulated by default."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.cli.request import gives_memory

if TYPE_CHECKING:
    from pathlib import Path

CONFIGURATION = """
ClusterName=small
SlurmctldHost=ctl
SelectType=select/cons_tres
SelectTypeParameters={parameters}
GresTypes=gpu
NodeName=n[1-2] CPUs=8 RealMemory=64000 Gres=gpu:2
PartitionName=batch Nodes=ALL Default=YES MaxTime=02:00:00
"""
HEAD = "JobID|State|Submit|Start|End|Timelimit|ReqCPUS|NNodes|ReqMem|ReqTRES|Partition"
TIMES = "COMPLETED|2024-03-01T10:00:0{0}|2024-03-01T10:00:0{0}|2024-03-01T11:00:0{0}"
NO_MEMORY = "the column requested_memory of 3 jobs is not used"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write a log of three jobs of 40 GB each, of which one has two GPUs."""
    rows = ["cpu=1,mem=40G,node=1", "cpu=1,mem=40G,node=1", "cpu=1,gres/gpu=2,mem=40G,node=1"]
    lines = [
        f"{number}|{TIMES.format(number)}|Partition_Limit|1|1|40G|{row}|batch"
        for number, row in enumerate(rows, 1)
    ]
    path = tmp_path / "jobs.txt"
    path.write_text("\n".join([HEAD, *lines]))
    return path


def configuration(folder: Path, parameters: str) -> str:
    folder.mkdir()
    (folder / "slurm.conf").write_text(CONFIGURATION.format(parameters=parameters))
    return str(folder)


def metrics(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    assert main([*arguments, "--format", "json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("parameters", "options", "hours"),
    [
        ("CR_Core_Memory", [], 2),
        ("CR_Core_Memory", ["--use-memory"], 2),
        ("CR_Core_Memory", ["--no-use-memory"], 1),
        ("CR_Core", [], 1),
    ],
)
def test_memory(
    log: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    parameters: str,
    options: list[str],
    hours: int,
) -> None:
    """It is taken where slurm.conf gives it to jobs, and as the option says."""
    system = configuration(tmp_path / "conf", parameters)
    for command in ["run", str(log)], ["compare", str(log), "--policy", "fcfs"]:
        capsys.readouterr()
        assert main([*command, "--system", system, *options]) == 0
        text = capsys.readouterr().out
        assert (NO_MEMORY in text) == ("--no-use-memory" in options)
    found = metrics(capsys, "run", str(log), "--system", system, *options)
    assert found["makespan"] == pytest.approx(3600 * hours, abs=10)


def test_what_if_takes_memory_where_it_is(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of two configurations one gives memory to jobs: these wait there."""
    two = [configuration(tmp_path / "a", "CR_Core_Memory"), configuration(tmp_path / "b", "CR_Core")]
    found = metrics(capsys, "slurm", "what-if", str(log), "--conf", two[0], "--conf", two[1])
    waits = found["configurations"]
    assert isinstance(waits, dict)
    assert [each["mean_waits"][0] for each in waits.values()] == pytest.approx([1200, 0], abs=2)
    arguments = ["slurm", "what-if", str(log), "--conf", two[0], "--conf", two[1], "--no-use-memory"]
    assert main(arguments) == 0
    assert f"note: {NO_MEMORY}" in capsys.readouterr().err


def test_systems_of_ones_own_take_no_memory(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Memory of a log is not asked for on a machine that has no slurm.conf, and this is said."""
    path = tmp_path / "machine.toml"
    path.write_text(
        '[[groups]]\nname = "a"\ncount = 2\nresources = { core = 8, mem = 65_536_000, gpu = 2 }\n'
    )
    assert main(["run", str(log), "--system", str(path)]) == 0
    assert NO_MEMORY in capsys.readouterr().out
    assert main(["run", str(log), "--system", str(path), "--use-memory"]) == 0
    assert NO_MEMORY not in capsys.readouterr().out


def test_plain_runs_name_memory_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log in SWF says how much memory jobs asked for; without the option it is not taken."""
    path, system = tmp_path / "log.swf", tmp_path / "machine.toml"
    path.write_text("; MaxProcs: 8\n1 0 -1 60 4 -1 -1 4 100 500 1 1 1 1 1 -1 -1 -1\n")
    system.write_text('[[groups]]\nname = "a"\ncount = 2\nresources = { core = 4, mem = 100_000 }\n')
    said = "the column requested_memory of 1 job is not used, though nodes have mem"
    for options, told in ([], True), (["--use-memory"], False):
        assert main(["run", str(path), "--system", str(system), *options]) == 0
        assert (said in capsys.readouterr().out) == told


SHARED = """JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|Timelimit|ReqCPUS|NNodes|NodeList|Partition
1|ann|NODE_FAIL|2024-03-01T10:00:00|2024-03-01T10:00:00|2024-03-01T10:10:00|600|02:00:00|8|1|n1|batch
2|ann|CANCELLED by 7|2024-03-01T10:00:01|2024-03-01T10:00:01|2024-03-01T10:05:01|300|02:00:00|8|1|n2|batch
3|ann|COMPLETED|2024-03-01T10:00:02|2024-03-01T10:10:00|2024-03-01T10:40:00|1800|02:00:00|8|1|n2|batch
"""
LISTING = """Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User
c1|n1|2024-03-01T10:20:00|2024-03-01T10:30:00|DOWN*|Not responding|slurm(64030)
c1|n2|2024-03-01T10:15:00|2024-03-01T10:30:00|DOWN*|Not responding|slurm(64030)
c1|old|2024-03-01T10:15:00|2024-03-01T10:30:00|DOWN*|Not responding|slurm(64030)
"""


def test_node_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes go down as in the listing, with the jobs that are there; the log's failure ends no job."""
    system = configuration(tmp_path / "conf", "CR_Core")
    (tmp_path / "jobs.txt").write_text(SHARED)
    (tmp_path / "nodes.txt").write_text(LISTING)
    trace, listing = str(tmp_path / "jobs.txt"), str(tmp_path / "nodes.txt")
    plain = metrics(capsys, "run", trace, "--system", system)
    assert plain["jobs"]["killed"] == 1  # type: ignore[index]
    assert "interrupted" not in plain
    assert main(["run", trace, "--system", system, "--node-events", listing, "--format", "json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["jobs"]["completed"] == 2
    assert found["jobs"]["cancelled"] == 1
    # Job 3 was on n2 from 10:05 on, and begins again.
    assert found["interrupted"]["jobs"] == 1
    assert "1 nodes that the machine does not have: not used" in err
    compared = ["compare", trace, "--system", system, "--node-events", listing, "--policy", "fcfs"]
    assert main([*compared, "--format", "json"]) == 0
    capsys.readouterr()
    conf = ["--conf", f"{system}/slurm.conf", "--seeds", "1", "--resamples", "2"]
    study = metrics(capsys, "slurm", "what-if", trace, *conf, "--node-events", listing)
    waits = {row["statistic"]: row["wait"] for row in study["waits"] if row["by"] == "all"}  # type: ignore[attr-defined]
    assert waits["p95"] >= 1500


def test_node_events_need_names(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Only a slurm.conf has the names of the nodes; --stream reads no log of Slurm."""
    (tmp_path / "nodes.txt").write_text(LISTING)
    listing = ["--node-events", str(tmp_path / "nodes.txt")]
    assert main(["run", str(log), "--nodes", "2", "--cores", "8", *listing]) == 2
    assert "names nodes as slurm.conf does" in capsys.readouterr().err
    assert main(["run", str(log), "--nodes", "2", "--stream", *listing]) == 2
    assert "--node-events" in capsys.readouterr().err


def test_limits_of_partitions(log: Path, tmp_path: Path) -> None:
    """A job with Partition_Limit asked for MaxTime."""
    system = configuration(tmp_path / "conf", "CR_Core")
    assert main(["run", str(log), "--system", system, "--out", str(tmp_path / "out")]) == 0
    head, first = (tmp_path / "out" / "jobs.csv").read_text().splitlines()[:2]
    row = dict(zip(head.split(","), first.split(","), strict=False))
    assert (row["requested_time"], row["state"]) == ("7200.0", "completed")


def test_dumps_without_a_header(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their fields are named by an option; without it the command says so."""
    lines = log.read_text().splitlines()[1:]
    log.write_text("\n".join(lines))
    machine = ["--nodes", "2", "--cores", "8"]
    assert main(["run", str(log), *machine]) == 2
    assert "looks like a dump of sacct without a header; name its fields" in capsys.readouterr().err
    assert main(["run", str(log), *machine, "--fields", HEAD.replace("|", ",")]) == 0
    assert "3 completed" in capsys.readouterr().out
    log.write_text("\n".join(lines).replace("|", ";;"))
    other = ["--fields", HEAD.replace("|", ","), "--delimiter", ";;"]
    assert main(["compare", str(log), *machine, "--policy", "fcfs", *other]) == 0


@pytest.mark.parametrize(("option", "value"), [("--fields", "JobID,Submit"), ("--delimiter", ";")])
def test_options_of_sacct_for_other_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    """They are refused for logs of other formats."""
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 8\n1 0 -1 60 4 -1 -1 4 100 500 1 1 1 1 1 -1 -1 -1\n")
    assert main(["run", str(path), option, value, "--log-format", "swf"]) == 2
    assert f"{option}: is no option of logs of format swf" in capsys.readouterr().err


def test_processors_that_do_not_fill_their_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job of 7 processors on 2 nodes stops nothing: they may be on any nodes."""
    path = tmp_path / "jobs.txt"
    path.write_text(f"{HEAD}\n1|{TIMES.format(1)}|01:30:00|7|2|0|cpu=7,node=2|batch\n")
    folder = configuration(tmp_path / "conf", "CR_Core")
    for command in (["run"], ["compare", "--policy", "easy"]):
        assert main([*command, str(path), "--system", folder]) == 0
        said = capsys.readouterr()
        assert "1 job does not fill nodes evenly with tasks: under select=cores" in said.out + said.err


def test_memory_of_a_configured_policy() -> None:
    """A system whose policy has Slurm's backfilling under any order gives memory to jobs."""
    system = bl.System.homogeneous(nodes=2, resources={"core": 4, "mem": 1000})
    for policy, gives in {
        "": False,
        "easy": False,
        "slurm": True,
        "slurm(select=cores)": True,
        "sjf(backfill=slurm(select=cores))": True,
    }.items():
        assert gives_memory(replace(system, policy=policy)) == gives, policy
