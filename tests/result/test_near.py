"""The log's own schedule beside the simulated one."""

from __future__ import annotations

import random
from statistics import mean, median
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.result.warnings import LogFacts, unlike_log

if TYPE_CHECKING:
    from pathlib import Path

SYSTEM = bl.System.homogeneous(nodes=4, resources={"core": 4}, name="small")


def log_of(count: int, seed: int) -> list[dict[str, Any]]:
    """Make jobs with waits, some of which did not start."""
    rng = random.Random(seed)  # noqa: S311  # no secret
    rows = []
    for number in range(1, count + 1):
        submit, run = rng.randint(0, 500), rng.choice([0, rng.randint(1, 200)])
        wait = rng.choice([-1, rng.randint(0, 400)])
        status = rng.choice([1, 1, 0, 5])
        rows.append(
            {
                "id": number,
                "submit": submit,
                "wait": wait,
                "run": run,
                "tasks": rng.randint(1, 18),
                "status": status,
            }
        )
    return sorted(rows, key=lambda row: row["submit"])


def swf(rows: list[dict[str, Any]], path: Path) -> Path:
    """Write jobs in the Standard Workload Format."""
    lines = [
        f"{row['id']} {row['submit']} {row['wait']} {row['run']} {row['tasks']} -1 -1 {row['tasks']} 300 -1 "
        f"{row['status']} 1 1 -1 1 1 -1 -1"
        for row in rows
    ]
    path.write_text("; MaxProcs: 16\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("seed", range(6))
def test_measures_are_those_of_plain_python(seed: int, tmp_path: Path) -> None:
    """Waits, slowdowns and shares in use, of the jobs that ran in the log and in the simulation."""
    rows = log_of(60, seed)
    workload = bl.read_swf(swf(rows, tmp_path / "log.swf"), overrun="keep")
    result = bl.simulate(workload, SYSTEM, "easy")
    found = cast("dict[str, Any]", result.metrics()["log"])
    ended = {
        job: (start, end)
        for job, start, end in result.jobs.select("job_id", "start_time", "end_time").iter_rows()
        if start is not None
    }
    both = [
        row
        for row in rows
        if row["id"] in ended and row["wait"] >= 0 and (row["status"] != 5 or row["run"] > 0)
    ]
    assert found["jobs"] == len(both)

    def check(measured: dict[str, Any], times: list[tuple[float, float, float]]) -> None:
        waits = [start - submit for submit, start, _ in times]
        slowdowns = [max((end - submit) / max(end - start, 10), 1) for submit, start, end in times]
        assert measured["wait"]["mean"] == pytest.approx(mean(waits))
        assert measured["wait"]["median"] == pytest.approx(median(waits))
        assert measured["bounded_slowdown"]["mean"] == pytest.approx(mean(slowdowns))
        work = sum((end - start) * row["tasks"] for row, (_, start, end) in zip(both, times, strict=True))
        span = max(end for *_, end in times) - min(submit for submit, *_ in times)
        assert measured["utilisation"]["core"] == pytest.approx(work / (16 * span))

    submitted = [float(row["submit"]) for row in both]
    starts = [row["submit"] + row["wait"] for row in both]
    ends = [start + row["run"] for row, start in zip(both, starts, strict=True)]
    check(found, [*zip(submitted, starts, ends, strict=True)])
    simulated = [ended[row["id"]] for row in both]
    check(found["simulated"], [(submit, *times) for submit, times in zip(submitted, simulated, strict=True)])


def test_logs_without_starts_have_none(tmp_path: Path) -> None:
    """Nothing stands beside jobs whose log has no waits."""
    rows = [{**row, "wait": -1} for row in log_of(9, 1)]
    result = bl.simulate(bl.read_swf(swf(rows, tmp_path / "log.swf")), SYSTEM, "fcfs")
    assert "log" not in result.metrics()
    assert "in the log" not in result.summary()


def about_log(blocks: list[str]) -> list[str]:
    """Give the table that names the log."""
    return [each for each in blocks if "in the log" in each]


def test_plain_runs_print_what_tables_print(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page of a run without tables has the same lines as the summary of a result."""
    path = swf(log_of(200, 3), tmp_path / "log.swf")
    for policy in ("fcfs", "easy", "sjf"):
        assert main(["run", str(path), "--nodes", "4", "--cores", "4", "--policy", policy]) == 0
        page = capsys.readouterr().out.split("\n\n")
        system = bl.System.homogeneous(nodes=4, resources={"core": 4})
        summary = bl.simulate(bl.read_swf(path), system, policy).summary().split("\n\n")
        assert [each for each in page if "in the log" in each] == [
            each for each in summary if "in the log" in each
        ]
        warned = [line for line in page[0].splitlines() if "mean wait" in line]
        assert warned == [line for line in summary[0].splitlines() if "mean wait" in line]


def test_comparisons_begin_with_the_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row of the log's own measures comes before the policies."""
    rows = log_of(80, 4)
    path = swf(rows, tmp_path / "log.swf")
    given = ["compare", str(path), "--nodes", "4", "--cores", "4", "--policy", "fcfs", "--policy", "easy"]
    assert main([*given, "--report", str(tmp_path / "page.html")]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("policy "))
    assert [line.split("  ")[0] for line in lines[first + 1 : first + 4]] == ["(the log)", "fcfs", "easy"]
    page = (tmp_path / "page.html").read_text("utf-8")
    assert 'id="log"' in page
    assert "Share in use" in page


PLAIN = LogFacts(read=90, without_limit=0, kept=90, ignored_memory=0)


def far(
    log: float,
    simulated: float,
    facts: LogFacts = PLAIN,
    system: bl.System = SYSTEM,
    policy: str = "easy",
) -> list[str]:
    """Give the line about means that are far from each other."""
    near = {"jobs": 90, "wait": {"mean": log}, "simulated": {"wait": {"mean": simulated}}}
    return [*unlike_log(near, lambda: facts, system, bl.Policy.parse(policy))]


def test_likely_reasons() -> None:
    """Less than half, or more than twice: the line names what may be the reason, and nothing else."""
    assert far(100, 51) == far(100, 199) == far(0.4, 0.0) == []
    known = bl.System(SYSTEM.groups, policy="slurm(select=cores)")
    (line,) = far(100, 49, PLAIN, known, "slurm(select=cores)")
    assert line.startswith("the simulated mean wait (49 s) is less than half of that of the log (00:01:40); ")
    assert line.endswith("; no likely reason is known here")
    (line,) = far(100, 201, LogFacts(read=100, without_limit=60, kept=95, ignored_memory=7), known)
    assert line.split("; ") == [
        "the simulated mean wait (00:03:21) is more than twice that of the log (00:01:40)",
        "likely reasons: memory requests are ignored, and the system has no memory",
        "the time limits of 60 of 95 jobs are unknown",
        "10 of 100 jobs of the log are left out, or did not run in both",
        "the policy is not the configured one",
    ]
    (line,) = far(100, 10)
    assert line.endswith("likely reasons: the real policy is unknown and may not be easy")


def test_a_result_warns_of_a_wait_far_from_the_log() -> None:
    """The warning is one of the result's, in its summary too."""
    jobs = {"submit_time": [0, 0], "run_time": [50, 50], "requested_time": [60, 60], "tasks": [1, 1]}
    table = pl.DataFrame(jobs).with_columns(start_time=pl.Series([400.0, 500.0]))
    result = bl.simulate(bl.Workload.from_table(table), SYSTEM, "easy")
    (line,) = [each for each in result.warnings if "mean wait" in each]
    assert line.startswith("the simulated mean wait (0 s) is less than half of that of the log (00:07:30)")
    assert f"warning       {line}" in result.summary().splitlines()
