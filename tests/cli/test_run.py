"""`batchlab run`."""

from __future__ import annotations

import gzip
import json
import sys
from typing import TYPE_CHECKING

import polars as pl
import pytest

from batchlab.cli import main, output
from batchlab.options.run_options import RECORDED
from batchlab.workload import read_swf, write_table
from support.option_values import RUNS
from support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path


def metrics_of(*arguments: object, capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, float]]:
    assert main(["run", *map(str, arguments), "--format", "json"]) == 0
    written = capsys.readouterr()
    assert written.err == ""
    measured: dict[str, dict[str, float]] = json.loads(written.out)
    return measured


def test_the_answer_is_the_summary(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As text, what `Result.summary` says."""
    assert main(["run", str(log), "--nodes", "4", "--cores", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "workload      3 jobs submitted over 20 s"
    assert "jobs          3 completed" in lines
    assert "system        4 nodes, 8 cores" in lines


def test_policies_are_obeyed(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """First come: waits of 0, 90 and 130 s; shortest first, the small job goes before the large one."""
    assert metrics_of(log, "--nodes", 8, capsys=capsys)["wait"]["max"] == 130
    assert metrics_of(log, "--nodes", 8, "--policy", "sjf", capsys=capsys)["wait"]["max"] == 100


def test_the_log_tells_the_machine(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without options the header does, and the answer says so."""
    assert main(["run", str(log)]) == 0
    said = "system        as the log's header says (MaxNodes 4, MaxProcs 8), 4 nodes, 8 cores"
    assert said in capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("header", "options", "size"),
    [
        pytest.param("; MaxProcs: 8", [], (8, 8), id="processors only"),
        pytest.param("; MaxProcs: 8\n; MaxNodes: 3", [], (3, 8), id="they do not divide"),
        pytest.param("; MaxProcs: 9", ["--cores", "4"], (3, 12), id="cores given"),
        pytest.param("; MaxNodes: 5", ["--cores", "2"], (5, 10), id="nodes and cores given"),
        pytest.param("", ["--nodes", "9"], (9, 9), id="nodes given"),
    ],
)
def test_sizes_are_concluded(
    header: str, options: list[str], size: tuple[int, int], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From what the header and the options say together."""
    log.write_text(header + "\n1 0 -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n")
    assert main(["run", str(log), *options]) == 0
    nodes, cores = size
    assert f"{nodes} nodes, {cores} cores\n" in capsys.readouterr().out


def test_what_was_assumed_is_said(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the line of the system."""
    job = "1 0 -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n"
    for header, said in (
        ("; MaxProcs: 8\n", "(MaxProcs 8; each processor taken as a node), 8 nodes"),
        ("; MaxProcs: 8\n; MaxNodes: 3\n", "(MaxNodes 3, MaxProcs 8; shared out evenly), 3 nodes"),
    ):
        log.write_text(header + job)
        assert main(["run", str(log)]) == 0
        assert said in capsys.readouterr().out


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("file", "said"),
    [
        (("RICC-2010-2.swf", ""), "RICC-2010-2 of the catalogue, 1,024 nodes, 8,192 cores"),
        (
            ("CEA-Curie-2011-2.1-cln.swf", "; MaxProcs: 93312\n"),
            "CEA-Curie-2011-2.1-cln of the catalogue, 5,544 nodes, 93,312 cores",
        ),
        (("RICC-2010-2.swf", "; MaxProcs: 16\n"), "each processor taken as a node), 16 nodes"),
        (("RICC-2010.swf", "; MaxProcs: 16\n"), "each processor taken as a node), 16 nodes"),
    ],
)
def test_the_catalogue_knows_files_by_their_names(
    stream: list[str], file: tuple[str, str], said: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless the header tells of another machine."""
    name, header = file
    log = log.with_name(name)
    log.write_text(header + "1 0 -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n")
    assert main(["run", str(log), *stream]) == 0
    assert said in capsys.readouterr().out


def test_a_machine_that_nobody_tells_is_asked_for(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the options that would tell it."""
    log.write_text("1 0 -1 9 1 -1 -1 1 9 -1 1 1 1 -1 -1 -1 -1 -1\n")
    assert main(["run", str(log)]) == 2
    assert "Pass --nodes and --cores, or --system" in capsys.readouterr().err


def test_a_system_file_describes_the_machine(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On 3 nodes of 2 cores the jobs for 8 never fit."""
    system = log.parent / "system.json"
    system.write_text(json.dumps({"groups": [{"name": "a", "count": 3, "resources": {"core": 2}}]}))
    assert main(["run", str(log), "--system", str(system), "--format", "json"]) == 0
    written = capsys.readouterr()
    assert json.loads(written.out)["jobs"]["rejected"] == 2
    assert "the machine has 6 processors" in written.err


MISMATCH = "the machine has 16 processors, MaxProcs in the log's header is 8; check nodes, cores"


@pytest.mark.parametrize("stream", [[], ["--stream"]], ids=["whole", "streamed"])
def test_another_number_of_processors_is_a_warning(
    stream: list[str], log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line of the answer; on standard error where the answer is for programs. None where they agree."""
    machine = ["run", str(log), "--nodes", "4", "--cores", "4", *stream]
    assert main(machine) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(f"warning       {MISMATCH}") for line in lines) == 1
    assert main([*machine, "--format", "json"]) == 0
    assert capsys.readouterr().err.startswith(f"batchlab: warning: {MISMATCH}")
    assert main([*machine, "--equivalence", "core=2"]) == 0
    assert "warning" not in capsys.readouterr().out


def test_policies_are_compared_with_a_warning(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Once for all of them."""
    assert (
        main(["compare", str(log), "--nodes", "4", "--cores", "4", "--policy", "fcfs", "--policy", "sjf"])
        == 0
    )
    assert capsys.readouterr().err.count(MISMATCH) == 1


def test_a_processor_can_be_several_cores(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the described machine, and of that of the header, which counts processors."""
    assert main(["run", str(log), "--nodes", "4", "--cores", "4", "--equivalence", "core=2"]) == 0
    described = capsys.readouterr().out
    assert "4 nodes, 16 cores" in described
    assert main(["run", str(log), "--equivalence", "core=2"]) == 0
    assert "4 nodes, 16 cores" in capsys.readouterr().out
    assert main(["run", str(log), "--cores", "8", "--equivalence", "core=2"]) == 0
    assert "2 nodes, 16 cores" in capsys.readouterr().out


@pytest.mark.parametrize("given", ["gpu=1", "core=0", "core=1.5", "core=2,gpu=1", "2", "core=8"])
def test_wrong_equivalences_are_refused(given: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In one line that names the option."""
    assert main(["run", str(log), "--nodes", "4", "--cores", "4", "--equivalence", given]) == 2
    assert "--equivalence" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_passes_cost_goes_to_a_file(suffix: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Per time point as AccaSim writes it: time, queue, CPU time of decisions and of the rest, memory."""
    file = log.parent / f"passes{suffix}"
    assert main(["run", str(log), "--dispatch", str(file)]) == 0
    table = pl.read_csv(file) if suffix == ".csv" else pl.read_parquet(file)
    assert table.columns == ["time", "queue_length", "cpu_time", "other_cpu_time", "memory", "started"]
    assert table["started"].sum() == 3
    assert str(file) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "more", "said"),
    [
        ("passes.txt", [], "must end in .csv or .parquet"),
        ("absent/passes.csv", [], "is no directory"),
        ("passes.csv", ["--stream"], "leave one out"),
    ],
)
def test_wrong_files_for_passes(
    file: str, more: list[str], said: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Are refused before the run."""
    assert main(["run", str(log), "--dispatch", str(log.parent / file), *more]) == 2
    assert said in capsys.readouterr().err


def test_gates_and_usage_are_written(log: Path) -> None:
    """Next to the jobs, where they are asked for."""
    out, system = log.parent / "out", log.parent / "system.toml"
    group = '[[groups]]\nname = "a"\ncount = 4\nresources = { core = 2 }\n'
    users = ", ".join(f'"{user}" = 1' for user in range(10))
    system.write_text(f'{group}[[accounts]]\nname = "physics"\nusers = {{ {users} }}\n')
    arguments = ["run", str(log), "--system", str(system), "--out", str(out)]
    assert main([*arguments, "--policy", "easy", "--explain", "--usage"]) == 0
    assert pl.read_csv(out / "gates.csv").columns[:5] == ["job_id", "row", "start", "end", "gate"]
    assert set(pl.read_csv(out / "usage.csv")["account"]) == {"root", "physics"}
    assert main([*arguments[:-1], str(log.parent / "other")]) == 0
    names = [path.name for path in (log.parent / "other").iterdir()]
    assert sorted(names) == ["jobs.csv", "manifest.json", "metrics.json", "result.zip"]


def test_jobs_as_parquet(log: Path) -> None:
    """As a table of the library, next to the CSV."""
    out = log.parent / "out"
    assert main(["run", str(log), "--nodes", "4", "--out", str(out), "--parquet"]) == 0
    assert pl.read_parquet(out / "jobs.parquet").height == pl.read_csv(out / "jobs.csv").height


@pytest.mark.parametrize(
    "option",
    [
        "--parquet",
        *(each.words[0] for each in RUNS if each.name in RECORDED - {"dispatch", "messages", "sensing"}),
    ],
)
@pytest.mark.parametrize(("more", "said"), [([], "add --out DIR"), (["--stream"], "leave one out")])
def test_records_that_would_go_nowhere(
    option: str, more: list[str], said: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Are refused before the run."""
    assert main(["run", str(log), option, *more]) == 2
    assert said in capsys.readouterr().err


def torus_and_jobs(folder: Path) -> tuple[Path, Path]:
    """Write a torus of 16 nodes, and two jobs that send messages on it."""
    machine, jobs = folder / "torus.toml", folder / "jobs.csv"
    machine.write_text(
        '[[clusters]]\nname = "fabric"\nbandwidth = "1GBps"\nlatency = "1us"\n'
        'topology = { kind = "torus", dimensions = [4, 4] }\n[clusters.node]\nspeed = "1Gf"\n'
    )
    jobs.write_text(
        "submit_time,tasks,requested_time,app_name,app_args\n"
        '0,8,60,ring,"size=1e6, iterations=10"\n0,4,60,conjugate_gradient,n=64\n'
    )
    return machine, jobs


def test_messages_are_told_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the answer by class, and as tables next to the jobs."""
    machine, jobs = torus_and_jobs(tmp_path)
    out = tmp_path / "out"
    assert main(["run", str(jobs), "--system", str(machine), "--messages", "--out", str(out)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("messages      ") and line.endswith(" at most") for line in lines)
    heading = lines.index(next(line for line in lines if line.startswith("messages   number")))
    assert [line.split()[0] for line in lines[heading + 1 : heading + 3]] == ["allreduce", "send"]
    assert max(map(len, lines[:-1])) <= 80
    sent = pl.read_csv(out / "messages.csv")
    assert sent["class"].to_list() == ["send", "allreduce", "send"]
    assert pl.read_csv(out / "links.csv").height == 64
    assert main(["run", str(jobs), "--system", str(machine), "--out", str(tmp_path / "plain")]) == 0
    assert "messages.csv" not in [path.name for path in (tmp_path / "plain").iterdir()]


def test_messages_need_a_platform(tmp_path: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where no job sends any; and not in one pass."""
    machine, _ = torus_and_jobs(tmp_path)
    assert main(["run", str(log), "--messages"]) == 2
    assert "--messages: counts messages on a platform: give --system" in capsys.readouterr().err
    assert main(["run", str(log), "--system", str(machine), "--messages"]) == 0
    assert "links         none used" in capsys.readouterr().out.splitlines()
    assert main(["run", str(log), "--messages", "--stream"]) == 2
    assert "leave one out" in capsys.readouterr().err


def test_results_are_written(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the hashes of all inputs and the command; the answer says where."""
    out, system = log.parent / "out", log.parent / "system.json"
    system.write_text(json.dumps({"groups": [{"name": "a", "count": 4, "resources": {"core": 2}}]}))
    arguments = ["run", str(log), "--system", str(system), "--out", str(out), "--seed", "5"]
    assert main(arguments) == 0
    assert str(out) in capsys.readouterr().out
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["command"] == f"batchlab {' '.join(arguments)}"
    assert set(manifest["inputs"]) == {"trace", "system"}
    assert manifest["seed"] == 5
    assert pl.read_csv(out / "jobs.csv")["nodes"].to_list() == ["0-3", "0-3", "0"]
    assert json.loads((out / "metrics.json").read_text())["jobs"]["completed"] == 3


def test_tables_and_compressed_logs_are_read_too(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV, Parquet and gzip give the same answer as the log itself."""
    expected = metrics_of(log, "--nodes", 8, capsys=capsys)
    zipped = log.with_suffix(".swf.gz")
    zipped.write_bytes(gzip.compress(log.read_bytes()))
    workload = read_swf(log)
    for name in ("jobs.csv", "jobs.parquet"):
        write_table(workload, log.parent / name)
        assert metrics_of(log.parent / name, "--nodes", 8, capsys=capsys) == expected
    assert metrics_of(zipped, "--nodes", 8, capsys=capsys) == expected


def test_options_of_logs_are_refused_for_tables(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table has no fields 5 and 8 to choose from."""
    table = log.parent / "jobs.csv"
    write_table(read_swf(log), table)
    assert main(["run", str(table), "--nodes", "8", "--processors", "allocated"]) == 2
    assert "applies to logs; " in capsys.readouterr().err


def test_options_reach_the_simulation(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A job over its request is killed there, if that is kept and asked for."""
    log.write_text("1 0 -1 100 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n")
    measured = metrics_of(log, "--nodes", 1, "--overrun", "keep", "--walltime", "kill", capsys=capsys)
    assert measured["jobs"]["killed"] == 1
    assert measured["turnaround"]["max"] == 60


def test_bad_lines_stop_a_strict_reading(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With file, line, value and rule."""
    log.write_text("1 0 -1 -5 1 -1 -1 1 60 -1 1 1 1 -1 -1 -1 -1 -1\n")
    assert main(["run", str(log), "--nodes", "1", "--invalid", "raise"]) == 2
    assert "small.swf:1: " in capsys.readouterr().err


def test_memory_must_be_there_to_be_asked_for(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else every job would be rejected, and the reason would not be said."""
    assert main(["run", str(log), "--nodes", "8", "--use-memory"]) == 2
    assert "ask for mem, which the machine lacks; pass --system" in capsys.readouterr().err


@pytest.mark.parametrize(("patience", "shown"), [(0.0, True), (60.0, False)])
def test_long_runs_show_their_progress(
    patience: float, log: Path, monkeypatch: pytest.MonkeyPatch, *, shown: bool
) -> None:
    """On a terminal, and only after a while."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(output, "_PATIENCE", patience)
    assert main(["run", str(log), "--policy", "easy"]) == 0
    assert ("easy" in terminal.written) == shown


def test_the_policy_of_a_slurm_configuration(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--policy` it is that of slurm.conf, and the answer says so; with it the given one."""
    conf = log.parent / "slurm.conf"
    text = "SelectType=select/linear\nPriorityType=priority/basic\nSchedulerParameters=bf_interval=60\n"
    conf.write_text(f"ClusterName=c\n{text}NodeName=n[1-8]\nPartitionName=p Nodes=ALL Default=YES\n")
    for options, policy in (([], "slurm(bf_interval=60)"), (["--policy", "sjf"], "sjf")):
        assert main(["run", str(log), "--system", str(conf), *options]) == 0
        assert f"policy        {policy}" in capsys.readouterr().out.splitlines()
    assert main(["run", str(log)]) == 0
    assert "policy        fcfs" in capsys.readouterr().out.splitlines()
