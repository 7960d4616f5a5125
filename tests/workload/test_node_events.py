"""Node events of Slurm as external events: when nodes were down or drained."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random

import pytest

import batchlab as bl

NODES = [f"n{number}" for number in range(4)]
ORIGIN = 1_700_000_000
HEADER = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User"


def stamp(seconds: float | None) -> str:
    """Write a time as sacctmgr does."""
    if seconds is None:
        return "Unknown"
    return datetime.fromtimestamp(ORIGIN + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def row(node: str, begin: float, end: float | None, state: str) -> str:
    """Write a row."""
    return f"c1|{node}|{stamp(begin)}|{stamp(end)}|{state}|a reason|root(0)"


def read(*rows: str, jobs: str = "requeue") -> bl.workload.NodeEventLog:
    """Read rows behind a header."""
    return bl.read_node_events([HEADER, *rows], NODES, origin=ORIGIN, jobs=jobs)  # type: ignore[arg-type]


def happened(*rows: str) -> list[tuple[float, str, str]]:
    """Give time, kind and node of the events."""
    return read(*rows).events.table.select("time", "event", "nodes").rows()


def test_outages_by_hand() -> None:
    """Down and drained, for a time or for good; before the workload begins too."""
    assert happened(row("n1", 0, 3600, "DOWN*")) == [(0.0, "down", "1"), (3600.0, "up", "1")]
    assert happened(row("n2", -60, None, "DRAIN")) == [(-60.0, "drain", "2")]
    assert read(row("n1", 0, None, "DOWN"), jobs="kill").events.table["jobs"].to_list() == ["kill"]
    assert happened(row("n[0-1]", 5, None, "DOWN")) == [(5.0, "down", "0"), (5.0, "down", "1")]


def test_rows_that_follow_on_one_another_are_one_outage() -> None:
    """A new state or reason opens a row; going down within an outage still takes the jobs away."""
    merged = [row("n0", 0, 10, "DRAIN"), row("n0", 10, 20, "DOWN"), row("n0", 20, 30, "DRAIN")]
    assert happened(*merged) == [(0.0, "drain", "0"), (10.0, "down", "0"), (30.0, "up", "0")]
    apart = [row("n0", 0, 10, "DOWN"), row("n0", 11, 20, "DOWN")]
    assert [event for _, event, _ in happened(*apart)] == ["down", "up", "down", "up"]


def test_rows_that_say_nothing_are_counted() -> None:
    """The cluster's own, states in which a node takes jobs, sleeping nodes, and unknown ones."""
    log = read(
        row("", 0, 10, "DOWN"),
        row("n0", 0, 10, "IDLE"),
        row("n0", 0, 10, "DOWN~"),
        row("x7", 0, 10, "DOWN"),
    )
    assert not len(log.events)
    assert log.skipped == {
        "rows of the whole cluster": 1,
        "states in which a node takes jobs, or sleeps": 2,
        "nodes that the machine does not have": 1,
    }


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no field nodename"),
        (["NodeName|TimeStart|State", "n0|x|DOWN"], "no field timeend"),
        ([HEADER, "c1|n0|soon|Unknown|DOWN|r|u"], "lines:2: soon to Unknown; must be two times"),
        ([HEADER, "c1|n0|Unknown|Unknown|DOWN|r|u"], "must be two times"),
    ],
)
def test_what_is_no_listing(lines: list[str], message: str) -> None:
    """One clear error."""
    with pytest.raises(bl.WorkloadError, match=message):
        bl.read_node_events(lines, NODES)
    with pytest.raises(bl.WorkloadError, match="jobs = 'stay'"):
        read(jobs="stay")


def test_a_simulation_goes_by_them() -> None:
    """What is there in the simulation is requeued, whatever was there in the log."""
    jobs = {"submit_time": [0, 0], "run_time": [100, 100], "tasks": [1, 1]}
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    events = read(row("n0", 50, 60, "DOWN*"), row("n[1-3]", -1, None, "DRAIN")).events
    result = bl.simulate(bl.Workload.from_table(jobs), system, "fcfs", events=events)
    assert result.jobs.select("start_time", "end_time").rows() == [(60.0, 160.0), (160.0, 260.0)]


@pytest.mark.parametrize("seed", range(20))
def test_random_outages_are_read_back(seed: int) -> None:
    """A node is out of service between the same instants as in the listing, second by second."""
    rng = Random(seed)  # noqa: S311 - no secret
    rows, out = [], {name: [False] * 200 for name in NODES}
    for _ in range(rng.randint(1, 12)):
        node, begin = rng.choice(NODES), rng.randrange(150)
        end = begin + rng.randint(1, 40)
        rows.append(row(node, begin, end, rng.choice(("DOWN", "DOWN*", "DRAIN", "FAIL", "MAINT"))))
        out[node][begin:end] = [True] * (end - begin)
    table = read(*rows).events.table
    for number, name in enumerate(NODES):
        is_out, found = False, []
        changes = {
            time: event
            for time, event, node in table.select("time", "event", "nodes").rows()
            if node == str(number)
        }
        for second in range(200):
            is_out = changes.get(float(second), "down" if is_out else "up") != "up"
            found.append(is_out)
        assert found == out[name], name
