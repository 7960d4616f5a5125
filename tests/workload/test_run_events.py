"""The column ``run_events``: what readers, checks, simulations and measures make of it."""

from __future__ import annotations

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.result.near import both_schedules

SACCT = """JobIDRaw|User|State|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|NodeList|Suspended|Restarts
1|a|COMPLETED|1|1|101|100|10|2|n1|00:00:00|0
2|a|CANCELLED by 5|10|20|320|300|10|2|n1|00:00:00|0
3|a|REQUEUED|10|20|120|100|10|2|n1|00:00:00|0
3|a|NODE_FAIL|120|150|190|40|10|2|n1|00:00:00|1
3|a|OUT_OF_MEMORY|190|200|250|50|10|2|n1|00:00:00|2
4|a|CANCELLED|10|Unknown|100|0|10|2||00:00:00|0
5|a|NODE_FAIL|10|30|90|60|10|2|n2|00:00:00|0
6|a|COMPLETED|10|30|100|60|10|2|n2|00:00:10|0
7|a|COMPLETED|110|130|200|70|10|2|n2|00:00:00|3
8|a|PREEMPTED|110|130|150|20|10|2|n2|00:00:00|0
8|a|COMPLETED|150|160|200|40|10|2|n2|00:00:00|1
""".splitlines()
EIGHT = bl.System.homogeneous(nodes=8, resources={"core": 2})


def table(events: list[str | None], **columns: list[object]) -> bl.Workload:
    """Make jobs of 100 s on one core each."""
    count = len(events)
    usual = {"submit_time": [0] * count, "run_time": [100] * count, "tasks": [1] * count}
    return bl.Workload.from_table({**usual, "run_events": events, **columns})


def test_sacct() -> None:
    """Records of attempts are requeues, the last record says how the job ended; the rest is counted."""
    workload = bl.read_sacct(SACCT)
    events = dict(workload.jobs.select("job_id", "run_events").iter_rows())
    assert events == {
        **dict.fromkeys((1, 4, 6, 7, 8)),
        2: "cancel",
        3: "requeue:100.0,node_requeue:40.0,kill",
        5: "node_kill",
    }
    assert dict(workload.jobs.select("job_id", "cancelled_after").drop_nulls().iter_rows()) == {4: 90.0}
    noted = workload.report.counts()["noted"]
    assert noted["cancelled or killed while it ran: ends so after the same run time"] == 2
    assert noted["requeued while it ran: requeued after the same run time"] == 1
    assert noted["suspended, but the log does not say when: not suspended"] == 1
    assert noted["restarted, but its earlier runs are not in the log (sacct --duplicates): not requeued"] == 1
    assert noted["preempted: left to the simulated policy"] == 1
    assert any(reason.startswith("its node failed") for reason in noted)


def test_log_events_off() -> None:
    """Without it every job ends as its run time is over."""
    workload = bl.read_sacct(SACCT, log_events=False)
    assert "run_events" not in workload.jobs.columns
    assert set(bl.simulate(workload, EIGHT, "easy").jobs["state"]) == {"completed"}


def test_replay_by_hand() -> None:
    """A job is requeued, suspended and cancelled by its own elapsed time; a suspension keeps its work."""
    workload = table(["requeue:30,suspend:40:25,cancel", None, "suspend:10:0,suspend:100:5,kill"])
    one = bl.System.homogeneous(nodes=1, resources={"core": 1})
    result = bl.simulate(workload, one, "fcfs")
    # 0 runs 0 to 30, then again as the first in the queue to 70; 1 takes the node until 170, 0 the rest.
    # 2 is suspended once for no time, and at last as its work is done.
    assert result.jobs.select("state", "start_time", "end_time").rows() == [
        ("cancelled", 170.0, 230.0),
        ("completed", 70.0, 170.0),
        ("killed", 335.0, 335.0),
    ]
    assert result.interruptions.select("job_id", "start_time", "end_time", "saved").rows() == [
        (1, 0.0, 30.0, 0.0),
        (1, 30.0, 70.0, 40.0),
        (3, 230.0, 240.0, 10.0),
        (3, 240.0, 330.0, 90.0),
    ]


def test_a_limit_comes_first() -> None:
    """A job that reaches its limit is killed, and nothing else happens to it."""
    workload = table(["requeue:80,cancel"], requested_time=[60])
    killed = bl.simulate(workload, EIGHT, "fcfs", walltime="kill").jobs
    assert killed.select("state", "start_time", "end_time").rows() == [("killed", 0.0, 60.0)]


def test_node_events_in_place_of_the_failures_of_jobs() -> None:
    """What the log says of jobs whose nodes failed is left out; the rest stays."""
    rest = bl.read_sacct(SACCT).without_node_failures().jobs
    assert dict(rest.select("job_id", "run_events").drop_nulls().iter_rows()) == {
        2: "cancel",
        3: "requeue:100.0,kill",
    }
    only = table(["node_requeue:10,node_kill"]).without_node_failures()
    assert "run_events" not in only.jobs.columns
    assert only.without_node_failures() is not None


def test_measures() -> None:
    """A job that was cancelled while it ran has a wait; one that was cancelled before it started has none."""
    workload = table(["cancel", None, None], cancelled_after=[None, 50, None], run_time=[100, 0, 100])
    result = bl.simulate(workload, EIGHT, "fcfs")
    assert bl.metrics.wait(result).to_list() == [0.0, None, 0.0]
    assert bl.metrics.bounded_slowdown(result).to_list() == [1.0, None, 1.0]


def test_a_suspended_job_waited_until_it_went_on() -> None:
    """Beside the simulated wait, which is that of the last run, stands the one of the last run in the log."""
    workload = table(["suspend:40:30"], start_time=[50.0], end_time=[180.0])
    both = both_schedules(workload, bl.simulate(workload, EIGHT, "fcfs").jobs)
    assert both is not None
    log, simulated = both
    assert log["start_time"].to_list() == [120.0]
    assert simulated["start_time"].to_list() == [70.0]


def test_hidden_from_schedulers() -> None:
    """What will happen to a job is no knowledge of a scheduler; the clairvoyant see the longest attempt."""
    seen: list[float] = []

    class Look(bl.Scheduler):
        clairvoyant = True

        def schedule(self, view: bl.View) -> None:
            seen.extend(job.run_time for job in view.queue)
            for job in view.queue:
                view.start(job)

    class Blind(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            assert "run_events" not in view.columns
            for job in view.queue:
                view.start(job)

    workload = table(["requeue:300", None])
    for scheduler in (Look(), Blind()):
        result = bl.simulate(workload, EIGHT, bl.Policy("fcfs", scheduler=scheduler))
        assert result.jobs["end_time"].to_list() == [400.0, 100.0]
    assert seen == [300.0, 100.0, 300.0]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"run_events": ["later"]}, "must be like 'requeue:600"),
        ({"run_events": ["cancel,requeue:5"]}, "must be like 'requeue:600"),
        ({"run_events": ["suspend:50:5,suspend:40:5"]}, "must be like 'requeue:600"),
        ({"run_events": ["requeue:-5"]}, "must be like 'requeue:600"),
        ({"run_events": [5]}, "must be text"),
        (
            {"run_events": ["cancel"], "cancelled_after": [3], "run_time": [0]},
            "must be missing for a job with",
        ),
    ],
)
def test_errors(columns: dict[str, list[object]], message: str) -> None:
    """A text that cannot be read is an error that shows how one looks."""
    usual = {"submit_time": [0], "run_time": [100], "tasks": [1]}
    with pytest.raises(WorkloadError, match=message):
        bl.Workload.from_table({**usual, **columns})
