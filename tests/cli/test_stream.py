"""``batchlab run --stream``: the same answer in little memory."""

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from batchlab.cli import main, output
from batchlab.generate import demo_workload
from batchlab.workload import write_swf

LIGHT = """
import sys
from batchlab.cli import main
assert main(sys.argv[1:]) == 0
heavy = {"polars", "numpy", "matplotlib"} & set(sys.modules)
assert not heavy, heavy
"""


MACHINE = '[[groups]]\nname = "node"\ncount = 16\nresources = { core = 8 }\n'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.swf"
    write_swf(demo_workload(1500, seed=3), path)
    return path


def answers(log: Path, tmp_path: Path, *words: str) -> tuple[Path, Path]:
    whole, streamed = tmp_path / "whole", tmp_path / "streamed"
    arguments = ["run", str(log), "--nodes", "16", "--cores", "8", *words]
    assert main([*arguments, "--out", str(whole)]) == 0
    assert main([*arguments, "--out", str(streamed), "--stream"]) == 0
    return whole, streamed


def flat(metrics: dict[str, Any]) -> dict[str, float | None]:
    """Name every number by its place."""
    numbers: dict[str, float | None] = {}
    for name, value in metrics.items():
        inner = value if isinstance(value, dict) else {"": value}
        numbers |= {f"{name} {key}": number for key, number in inner.items()}
    return numbers


@pytest.mark.parametrize(
    "words",
    [
        ("--policy", "fcfs"),
        ("--policy", "easy(order=sjf, allocator=best_fit)", "--walltime", "kill", "--overrun", "keep"),
        ("--policy", "conservative(allocator=random)", "--seed", "5"),
        ("--policy", "easy(reservations=3)", "--order-at-instant", "arrivals_first"),
        ("--policy", 'expression("requested_time * user_id", backfill=first_fit)'),
        ("--policy", "reject"),
    ],
)
def test_a_streamed_run_gives_the_same_answer(log: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Every byte of the table is the same, and every aggregate up to the rounding of sums."""
    whole, streamed = answers(log, tmp_path, *words)
    assert (whole / "jobs.csv").read_bytes() == (streamed / "jobs.csv").read_bytes()
    one, other = (json.loads((path / "metrics.json").read_text()) for path in (whole, streamed))
    assert list(one) == list(other)
    for name, value in flat(one).items():
        assert flat(other)[name] == (None if value is None else pytest.approx(value, rel=1e-12)), name


def test_memory_is_asked_for_in_a_stream_too(tmp_path: Path) -> None:
    """With --use-memory the column mem stands in the table, and bounds what fits."""
    log, system = tmp_path / "log.swf", tmp_path / "system.toml"
    lines = [
        f"{job} 0 -1 100 2 -1 -1 2 100 {memory} 1 1 1 1 1 1 -1 -1" for job, memory in ((1, 600), (2, 300))
    ]
    log.write_text("\n".join(lines) + "\n")
    system.write_text('[[groups]]\nname = "a"\ncount = 1\nresources = { core = 8, mem = 1500 }\n')
    out = [tmp_path / "whole", tmp_path / "streamed"]
    for directory, words in zip(out, ([], ["--stream"]), strict=True):
        arguments = ["run", str(log), "--system", str(system), "--use-memory", "--out", str(directory)]
        assert main([*arguments, *words]) == 0
    whole, streamed = ((directory / "jobs.csv").read_text() for directory in out)
    assert whole == streamed
    starts = [line.split(",")[3] for line in streamed.splitlines()[1:]]
    assert starts == ["0.0", "100.0"]


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ('[[limits]]\nname = "one"\nrunning_jobs = 1', "limits"),
        ('[[queues]]\nname = "all"', "queues"),
        ('[[partitions]]\nname = "all"', "partitions"),
        ("core_multiple = 2", "core_multiple"),
        (
            '[preemption]\nby = "qos"\n[[qos]]\nname = "a"\npreempts = ["b"]\n[[qos]]\nname = "b"',
            "preemption",
        ),
    ],
)
def test_what_a_stream_would_leave_out_is_refused(
    part: str, named: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partitions, queues and limits of a system hold in whole runs only so far, and any part that is new."""
    system = tmp_path / "system.toml"
    system.write_text(f'groups = [{{ name = "n", count = 8, resources = {{ core = 1 }} }}]\n{part}\n')
    assert main(["run", str(log), "--system", str(system), "--stream"]) == 2
    assert f"--stream: does not know {named} yet" in capsys.readouterr().err


def test_the_controller_of_slurm_is_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It looks at all jobs before a run."""
    assert main(["run", str(log), "--nodes", "4", "--policy", "slurm", "--stream"]) == 2
    assert "this policy checks all jobs before a run; leave --stream out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("policy", "named"),
    [("easy(order=multifactor)", "order multifactor"), ("easy(predictor=last_two)", "predictor last_two")],
)
def test_what_goes_by_columns_is_refused(
    policy: str, named: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stream has no table; it planned with requested times whatever the predictor."""
    assert main(["run", str(log), "--nodes", "4", "--policy", policy, "--stream"]) == 2
    assert f"--stream: has no table of jobs, which the {named} goes by." in capsys.readouterr().err


def test_an_unsorted_log_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a stream cannot do is said with line, value and next step."""
    log = tmp_path / "log.swf"
    log.write_text(
        "1 50 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n2 40 -1 10 1 -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
    )
    assert main(["run", str(log), "--nodes", "1", "--stream", "--out", str(tmp_path / "out")]) == 2
    message = capsys.readouterr().err
    assert f"{log}:2: submit time = 40" in message
    assert "Run without --stream" in message
    assert not list((tmp_path / "out").iterdir())


def test_a_wrong_formula_is_refused_with_its_position(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A formula is checked before the log is simulated."""
    assert main(["run", str(log), "--nodes", "4", "--policy", 'expression("now +")', "--stream"]) == 2
    assert "expression" in capsys.readouterr().err


def test_an_empty_log_has_an_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No jobs is no error."""
    log = tmp_path / "log.swf"
    log.write_text("; MaxProcs: 4\n")
    assert main(["run", str(log), "--stream", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]["submitted"] == 0


def test_a_streamed_run_imports_nothing_heavy(log: Path) -> None:
    """Polars, NumPy and Matplotlib stay out, whatever the answer."""
    events = log.parent / "events.csv"
    events.write_text("time,event,nodes\n5,drain,0-3\n50,resume,0-3\n")
    words = ["run", str(log), "--nodes", "16", "--cores", "8", "--stream", "--out", str(log.parent / "out")]
    words += ["--external-events", str(events)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", LIGHT, *words], check=True, env=environment, capture_output=True)  # noqa: S603


def test_a_streamed_run_shows_its_progress(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal, and only after a while; the kernel tells it every 50 ms."""
    write_swf(demo_workload(60_000), tmp_path / "long.swf")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for patience, shown in ((60.0, False), (0.0, True)):
        monkeypatch.setattr(output, "_PATIENCE", patience)
        words = ["--nodes", "32", "--cores", "8", "--policy", "easy", "--stream"]
        assert main(["run", str(tmp_path / "long.swf"), *words]) == 0
        written = capsys.readouterr().err
        assert ("easy" in written) == shown
        assert ("jobs done" in written) == shown


@pytest.mark.parametrize("header", ["", "; Preemption: Yes\n"])
def test_every_route_puts_partial_executions_together(
    header: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run for its page, one for its tables and a streamed one see the same jobs and the same limits."""
    log = tmp_path / "log.swf"
    first = 2**53 + 1
    log.write_text(
        f"; MaxProcs: 8\n{header}"
        f"{first} 0 5 60 8 -1 -1 8 80 -1 2 1 1 1 1 1 -1 -1\n"
        f"{first} -1 30 40 8 -1 -1 8 80 -1 4 1 1 1 1 1 {first + 1} -1\n"
        "2 10 0 50 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1\n"
    )
    machine = ["--nodes", "8", "--cores", "1", "--walltime", "kill"]
    tables = []
    for words in ([], ["--stream"]):
        out = tmp_path / "-".join(["out", *words])
        assert main(["run", str(log), *machine, *words, "--out", str(out)]) == 0
        tables.append((out / "jobs.csv").read_text())
    assert tables[0] == tables[1]
    job, other = (line.split(",") for line in tables[0].splitlines()[1:])
    assert job[:7] == [str(first), "killed", "0.0", "0.0", "80.0", "100.0", "100.0"]
    assert other[:2] == ["2", "completed"]
    capsys.readouterr()
    assert main(["run", str(log), *machine]) == 0
    assert "2 jobs read" in capsys.readouterr().out


def test_what_the_policy_does_not_use_of_the_system_is_named(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As without --stream."""
    system = tmp_path / "system.toml"
    system.write_text(f"{MACHINE}[fair_share]\nhalf_life = 100\n")
    assert main(["run", str(log), "--system", str(system), "--stream"]) == 0
    assert "fair_share of the system is not used: fcfs does not go by usage" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["toml", "json"])
def test_a_system_file_loads_no_tables(log: Path, tmp_path: Path, form: str) -> None:
    """Polars and NumPy would take more memory than all the rest."""
    system = tmp_path / f"system.{form}"
    described = '{"groups": {"node": {"core": 8}}, "resources": {"node": 16}, "equivalence": {}}'
    system.write_text(MACHINE if form == "toml" else described)
    words = ["run", str(log), "--system", str(system), "--stream"]
    subprocess.run([sys.executable, "-c", LIGHT, *words], check=True)  # noqa: S603  # our own code


def logged(path: Path, jobs: int) -> Path:
    """Write a log with waits: some jobs were cancelled in the queue, some have an unknown wait."""
    chance = Random(jobs)  # noqa: S311  # no secret
    lines, time = ["; MaxNodes: 16", "; MaxProcs: 128"], 0
    for number in range(1, jobs + 1):
        time += chance.randrange(60)
        wait, run = chance.choice((-1, 0, 30, 4000)), chance.randrange(1, 900)
        size, limit, status = chance.randrange(1, 40), chance.choice((run, run + 600)), 1
        if chance.random() < 0.05:
            wait, run, status = chance.randrange(300), 0, 5
        memory = chance.choice((-1, 500))
        lines.append(
            f"{number} {time} {wait} {run} {size} -1 -1 {size} {limit} {memory} {status} 1 1 1 1 -1 -1 -1"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def deep(value: object, place: str = "") -> dict[str, object]:
    """Name every number in nested dictionaries by its place."""
    if not isinstance(value, dict):
        return {place: value}
    return {
        name: each for key, inner in value.items() for name, each in deep(inner, f"{place} {key}").items()
    }


@pytest.mark.parametrize("words", [(), ("--walltime", "kill"), ("--overhead", "launch=3")])
def test_the_log_stands_beside_a_streamed_run(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its waits, slowdowns and utilisation, of the same jobs as without --stream, and the same warnings."""
    path = logged(tmp_path / "log.swf", 600)
    machine = tmp_path / "machine.toml"
    machine.write_text(MACHINE.replace("core = 8", "core = 8, mem = 64000"))
    found, said = [], []
    for name, more in (("whole", ["--parquet"]), ("streamed", ["--stream"])):
        out = tmp_path / name
        given = ["run", str(path), "--system", str(machine), "--policy", "easy", *words, *more]
        assert main([*given, "--out", str(out)]) == 0
        found.append(deep(json.loads((out / "metrics.json").read_text())["log"]))
        text = capsys.readouterr().out
        said.append(
            [line for line in text.splitlines() if line.startswith("warning") or "of the log" in line]
        )
    # A streamed run has the mean of the bounded slowdowns, without quantiles.
    assert found[0].keys() - found[1].keys() == {
        f"{which} bounded_slowdown {name}"
        for which in ("", " simulated")
        for name in ("median", "p95", "p99", "max")
    }
    assert found[1] == pytest.approx({name: found[0][name] for name in found[1]}, rel=1e-12)
    assert int(str(found[0][" jobs"])) > 300
    assert said[1] == said[0]
    assert any("mean wait" in line for line in said[0])
    assert any("requested_memory" in line for line in said[0])
