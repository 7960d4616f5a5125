"""Jobs that name what the system does not have (S11): rejected, left out, or an error."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.errors import WorkloadError

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.core.vocabulary import OddJobAction

CONSTRAINTS = ("[a|b]", "a,b", "IB*2", "[IB*1&OPA*1]", "a&(b")
SYSTEM = bl.System(
    (bl.NodeGroup("slow", count=2, resources={"core": 2}, features=("ib",)),),
    partitions=(bl.Partition("work"),),
    queues=(bl.JobQueue("batch", partitions=("work",)),),
    reservations=(bl.Reservation("course", start=1e6, duration=60.0, nodes="0", admits=bl.Conditions()),),
    accounts=(bl.Account("phys", users={"ann": 1}),),
    qos=(bl.QualityOfService("high", priority=2),),
)
# What of a job is odd, and what its warning says.
ODD: tuple[tuple[dict[str, str], str], ...] = (
    ({"partition": "old"}, "partition 'old'"),
    ({"partition": "work|old"}, "partition 'old'"),
    ({"queue": "long"}, "queue 'long'"),
    ({"reservation": "gone"}, "reservation 'gone'"),
    ({"node_group": "fast"}, "node_group 'fast'"),
    ({"constraint": "gpu"}, "feature 'gpu'"),
    ({"constraint": "ib&gpu"}, "feature 'gpu'"),
    ({"account": "chem"}, "account 'chem'"),
    ({"account": "phys", "user": "bob"}, "user 'bob'"),
    ({"user": "bob"}, "user 'bob'"),
    ({"qos": "low"}, "qos 'low'"),
    *(({"constraint": text}, f"form of the constraint '{text}'") for text in CONSTRAINTS),
)
NAMED = ("partition", "queue", "reservation", "node_group", "constraint", "account", "user", "qos")
POLICY = bl.Policy("multifactor(fair_share=1000, qos=10)", "easy")


def jobs_with(*odd: dict[str, str]) -> bl.Workload:
    """Make one sound job, then those that name something."""
    rows = [{}, *odd]
    columns: dict[str, Any] = {
        "submit_time": [0.0] * len(rows),
        "run_time": [10.0] * len(rows),
        "tasks": [1] * len(rows),
    }
    for name in NAMED:
        columns[name] = pl.Series([row.get(name) for row in rows], dtype=pl.String)
    return bl.Workload.from_table(columns)


def run(workload: bl.Workload, action: OddJobAction | None) -> bl.Result:
    """Run under a policy that looks at accounts and QOS."""
    return bl.simulate(workload, SYSTEM, POLICY, odd_jobs=action)


@pytest.mark.parametrize(("odd", "said"), ODD, ids=[said for _, said in ODD])
def test_each_kind(odd: dict[str, str], said: str) -> None:
    """It is rejected, left out, or stops the run, and the warning names it."""
    workload = jobs_with(odd)
    for default in (None, "error"):
        with pytest.raises(bl.BatchlabError, match="job 2"):
            run(workload, default)
    rejected = run(workload, "reject")
    assert rejected.jobs.select("state", "reason").rows() == [("completed", None), ("rejected", "unknown")]
    assert rejected.metrics()["rejected"] == {"unknown": 1}
    rest = run(workload, "leave_out")
    assert rest.jobs.select("job_id", "state").rows() == [(1, "completed")]
    assert rest.workload.report.counts()["dropped"] == {
        f"left out, as the system does not have it: {said}": 1
    }
    assert "(job 2)" in str(rest.workload.report)
    for result, became in ((rejected, "rejected"), (rest, "left out")):
        line = f"1 job was {became} (odd_jobs), since the system does not have or model: {said} (1 job)"
        assert [each for each in result.warnings if "odd_jobs" in each] == [line]


def test_columns_are_no_log() -> None:
    """Odd jobs that were made of columns are an error unless the option says otherwise."""
    jobs = jobs_with({"partition": "old"}).jobs
    for workload in (bl.Workload.from_table(jobs), bl.Workload(jobs)):
        with pytest.raises(WorkloadError, match="partition = 'old'"):
            run(workload, None)


def test_the_others_run_as_without_the_odd_ones() -> None:
    """Rejected or left out, odd jobs change nothing for the others, and what names them does not apply."""
    workload = jobs_with(*(odd for odd, _ in ODD))
    alone = bl.Workload.from_table(workload.jobs.head(1))
    expected = run(alone, "error").jobs.select("job_id", "start_time", "end_time")
    events = [{"time": 5, "event": "cancel", "job_id": 3}]
    for action in ("reject", "leave_out"):
        result = bl.simulate(workload, SYSTEM, POLICY, odd_jobs=action, events=events)
        assert result.jobs.head(1).select("job_id", "start_time", "end_time").equals(expected)
        assert result.events.external.table["applied"].drop_nulls().to_list() == [False]
    line = next(each for each in run(workload, "reject").warnings if "odd_jobs" in each)
    assert line.startswith(f"{len(ODD)} jobs were rejected (odd_jobs), since")
    assert line.endswith("…")


def test_what_a_run_does_not_look_at_is_not_odd() -> None:
    """Accounts and QOS matter under policies that go by them."""
    workload = jobs_with({"account": "chem"}, {"qos": "low"}, {"user": "bob"})
    assert set(bl.simulate(workload, SYSTEM, "easy").jobs["state"]) == {"completed"}


def test_snapshots_and_python_schedulers_see_the_same_jobs() -> None:
    """Also where jobs are left out."""
    workload = jobs_with({"partition": "old"}, {"partition": "work"})
    for policy in ("easy", POLICY):
        simulation = bl.Simulation(workload, SYSTEM, policy, odd_jobs="leave_out")
        restored = bl.Simulation.restore(simulation.snapshot(), workload, SYSTEM, policy)
        for each in (simulation, restored, simulation.fork()):
            each.run_until()
            assert each.result().jobs["job_id"].to_list() == [1, 3]
    with pytest.raises(bl.SimulationError, match=re.escape("odd_jobs = 'maybe'")):
        bl.simulate(workload, SYSTEM, "easy", odd_jobs="maybe")  # type: ignore[arg-type]


def test_one_odd_job_of_a_log_stops_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By default it is rejected, with one line; the option of the command line leaves it out, or stops."""
    dump = tmp_path / "jobs.txt"
    rows = [
        f"{job}|COMPLETED|2024-03-01T10:00:0{job}|2024-03-01T10:00:10|2024-03-01T10:01:40|00:02:00|1|{name}"
        for job, name in enumerate(("work", "old", "work"), 1)
    ]
    dump.write_text("\n".join(["JobID|State|Submit|Start|End|Timelimit|ReqCPUS|Partition", *rows]))
    system = tmp_path / "system.toml"
    system.write_text(
        "[[groups]]\nname = 'n'\ncount = 4\n[groups.resources]\ncore = 1\n[[partitions]]\nname = 'work'\n"
    )
    words = ["run", str(dump), "--system", str(system), "--policy", "easy"]
    assert main(words) == 0
    page = capsys.readouterr()
    said = "1 job was rejected (odd_jobs), since the system does not have or model: partition 'old' (1 job)"
    assert (page.out + page.err).count(said) == 1
    assert "2 completed, 1 rejected" in page.out
    assert main([*words, "--odd-jobs", "leave_out"]) == 0
    page = capsys.readouterr()
    assert "1 dropped" in page.out
    assert said.replace("rejected", "left out") in page.out + page.err
    assert main([*words, "--odd-jobs", "error"]) == 2
    assert "partition = 'old'" in capsys.readouterr().err
