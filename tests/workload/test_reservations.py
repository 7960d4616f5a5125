"""Reservations by hand: who starts where and when, under every backfilling rule, and bad descriptions."""

import math
from pathlib import Path
from typing import Any

import pytest

import batchlab as bl
from batchlab.core.vocabulary import OrderAtInstant
from batchlab.seam import View

POLICIES = ["fcfs", "first_fit", "easy", "easy(reservations=2)", "conservative"]
EVERYONE = bl.Conditions()


def system(*reservations: bl.Reservation, nodes: int = 4) -> bl.System:
    """Give a machine of nodes with one core each."""
    return bl.System.homogeneous(nodes=nodes, resources={"core": 1}, reservations=reservations)


def jobs(*rows: tuple[float, float, int], names: tuple[str | None, ...] = ()) -> bl.Workload:
    """Give jobs by submit time, requested time and tasks, and the reservations that they name."""
    submit, requested, tasks = zip(*rows, strict=True)
    table: dict[str, Any] = {
        "submit_time": submit,
        "run_time": requested,
        "requested_time": requested,
        "tasks": tasks,
        "user": ["ann"] * len(rows),
    }
    if names:
        table["reservation"] = names
    return bl.Workload.from_table(table)


def placed(workload: bl.Workload, machine: bl.System, policy: str) -> list[tuple[float | None, list[int]]]:
    """Give the start and the nodes of each job."""
    table = bl.simulate(workload, machine, policy).jobs
    return [*zip(table["start_time"].to_list(), table["nodes"].to_list(), strict=True)]


@pytest.mark.parametrize("policy", POLICIES)
def test_maintenance(policy: str) -> None:
    """A job starts if its limit is over by the begin; else elsewhere, or at the end."""
    machine = system(bl.Reservation("maintenance", 100, 50, "0-1"))
    workload = jobs((0, 100, 2), (0, 101, 2), (20, 200, 4))
    assert placed(workload, machine, policy) == [(0, [0, 1]), (0, [2, 3]), (150, [0, 1, 2, 3])]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("order_at_instant", ["completions_first", "arrivals_first"])
@pytest.mark.parametrize("own", [None, "course"])
def test_cancelling(own: str | None, order_at_instant: OrderAtInstant, policy: str) -> None:
    """Jobs beyond their limits on its nodes are killed as it begins, but its own, and those that end then."""
    course = bl.Reservation("course", 100, 50, "0-1", admits=EVERYONE, cancels=True, every=100, until=250)
    table = {
        "submit_time": [0, 0, 0, 100],
        "run_time": [180, 100, 180, 180],
        "requested_time": [90, 90, 90, 50],
        "tasks": [1, 1, 2, 1],
        "reservation": [None, None, None, own],
    }
    workload = bl.Workload.from_table(table, overrun="keep")
    result = bl.simulate(workload, system(course), policy, order_at_instant=order_at_instant)
    # The last starts on the first node, at 100 where the reservation is its own, else at 150 between the two.
    last = ("completed", 280) if own else ("killed", 200)
    expected = [("killed", 100), ("completed", 100), ("completed", 180), last]
    assert result.jobs.select("state", "end_time").rows() == expected


@pytest.mark.parametrize("policy", ["first_fit", "easy", "conservative"])
def test_overtaking(policy: str) -> None:
    """What is gone by the begin overtakes a job that waits for the end."""
    machine = system(bl.Reservation("maintenance", 100, 50))
    assert [start for start, _ in placed(jobs((0, 101, 4), (1, 99, 4)), machine, policy)] == [150, 1]


@pytest.mark.parametrize("policy", POLICIES)
def test_own_jobs(policy: str) -> None:
    """A job of a reservation starts when it begins, on its nodes, and holds up none before that."""
    machine = system(bl.Reservation("course", 100, 50, count=2, admits=EVERYONE))
    workload = jobs((0, 20, 2), (0, 20, 4), (0, 30, 2), names=("course", None, "course"))
    # The second would last until 150, the third until 130.
    assert placed(workload, machine, policy) == [(100, [2, 3]), (0, [0, 1, 2, 3]), (120, [2, 3])]


@pytest.mark.parametrize("policy", POLICIES)
def test_flexible(policy: str) -> None:
    """Jobs of a flexible reservation use other nodes too."""
    machine = system(bl.Reservation("course", 100, 50, count=2, admits=EVERYONE, flexible=True))
    assert placed(jobs((0, 50, 3), names=("course",)), machine, policy) == [(100, [0, 1, 2])]


@pytest.mark.parametrize("policy", POLICIES)
def test_recurring(policy: str) -> None:
    """Between two occurrences a job runs that fits; one that does not waits for the last end."""
    machine = system(bl.Reservation("daily", 100, 20, every=100, until=301))
    assert placed(jobs((110, 80, 4), (111, 81, 4)), machine, policy)[0][0] == 120
    assert placed(jobs((110, 81, 4)), machine, policy) == [(320, [0, 1, 2, 3])]


@pytest.mark.parametrize("policy", POLICIES)
def test_next_occurrence(policy: str) -> None:
    """A job of a recurring reservation that comes too late for one occurrence takes the next."""
    machine = system(bl.Reservation("weekly", 100, 20, every=100, until=301, admits=EVERYONE))
    assert placed(jobs((105, 16, 1), names=("weekly",)), machine, policy)[0][0] == 200
    assert placed(jobs((105, 15, 1), names=("weekly",)), machine, policy)[0][0] == 105


def test_overrun_is_not_cut() -> None:
    """A job that runs beyond its limit goes on, and jobs of the reservation wait for it."""
    machine = system(bl.Reservation("course", 100, 50, admits=EVERYONE), nodes=1)
    table = {"submit_time": [0, 0], "run_time": [120, 10], "requested_time": [100, 10], "tasks": [1, 1]}
    workload = bl.Workload.from_table(table | {"reservation": [None, "course"]}, overrun="keep")
    assert bl.simulate(workload, machine, "easy").jobs["start_time"].to_list() == [0, 120]


def test_gates() -> None:
    """Before its reservation begins a job waits for that, and within it for nodes."""
    machine = system(bl.Reservation("course", 100, 50, "0", admits=EVERYONE))
    workload = jobs((0, 20, 1), (0, 30, 1), names=("course", "course"))
    result = bl.simulate(workload, machine, "easy", options=bl.RunOptions(explain=True))
    rows = result.gates.select("row", "gate", "start", "end").rows()
    assert rows == [
        (0, "own_reservation", 0, 100),
        (1, "own_reservation", 0, 100),
        (1, "resources", 100, 120),
    ]


def test_rejections() -> None:
    """Maintenance admits no job; others some, but none that could not end within the last occurrence."""
    ann = bl.Conditions(users=("ann",))
    machine = system(
        bl.Reservation("maintenance", 0, 10, "0"),
        bl.Reservation("bens", 0, 10, "0", admits=bl.Conditions(users=("ben",))),
        bl.Reservation("course", 100, 50, "1", admits=ann),
    )
    names = ("maintenance", "bens", "course", "course", "course", "course")
    rows = (0, 5, 1), (0, 5, 1), (0, 51, 1), (141, 10, 1), (0, 50, 1), (0, 50, 2)
    reasons = bl.simulate(jobs(*rows, names=names), machine, "easy").jobs["reason"].to_list()
    assert reasons == ["reservation", "reservation", "reservation", "reservation", None, "never_fits"]
    with pytest.raises(bl.WorkloadError, match=r"job 1: reservation = 'cours'; must be .* 'course'"):
        bl.simulate(jobs((0, 1, 1), names=("cours",)), machine, "easy")


def test_schedulers_in_python() -> None:
    """They see no slots on reserved nodes, and cannot start a job there."""
    seen: list[object] = []

    class Greedy(bl.Scheduler):
        def schedule(self, view: View) -> None:
            for job in [*view.queue]:
                seen.append([view.slots(job, node) for node in range(4)])
                with pytest.raises(bl.DecisionError, match="node 0 is reserved for others before"):
                    view.start(job, nodes=[0, 2])
                seen.append(view.start(job))

    machine = system(bl.Reservation("maintenance", 100, 50, "0-1"))
    workload = jobs((0, 101, 2))
    assert placed(workload, machine, bl.Policy(scheduler=Greedy())) == [(0, [2, 3])]  # type: ignore[arg-type]
    assert seen == [[0, 0, 1, 1], True]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"start": -1}, r"Reservation 'r': start = -1; must be a number of seconds"),
        ({"duration": 0}, r"Reservation 'r': duration = 0; must be a number of seconds > 0"),
        ({"nodes": "3-1"}, r"Reservation 'r': nodes = '3-1'; must be ranges"),
        ({"count": 0}, r"Reservation 'r': count = 0; must be a whole number from 1"),
        ({"every": 100}, r"every is given without until; give both"),
        ({"every": 9, "until": 100}, r"every = 9\.0; must be at least duration = 10\.0"),
        ({"every": 10, "until": 5}, r"until = 5\.0; must be later than start = 5\.0"),
        ({"every": 10, "until": 1e9}, r"until = 1000000000\.0; must let it begin at most 100,000 times"),
        ({"admits": "ann"}, r"admits = 'ann'; must be Conditions"),
        ({"flexible": True}, r"flexible = True, but no job uses it"),
    ],
)
def test_bad_descriptions(given: dict[str, Any], said: str) -> None:
    """One line names the reservation, the value and the rule."""
    usual: dict[str, Any] = {"name": "r", "start": 5, "duration": 10}
    with pytest.raises(bl.SystemDescriptionError, match=said):
        bl.Reservation(**usual | given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nodes": "2-9"}, r"reservations\[0\]\.nodes = '2-9'; must be nodes from 0 to 3"),
        ({"groups": ("node",)}, r"reservations\[0\]\.groups = 'node'; must be a node group .* 'nodes'"),
        ({"partitions": ("big",)}, r"reservations\[0\]\.partitions = 'big'; must be a partition"),
        ({"nodes": "1-2", "count": 3}, r"reservations\[0\]\.count = 3; must be at most 2"),
    ],
)
def test_what_is_not_there(given: dict[str, Any], said: str) -> None:
    """A reservation names nodes, groups and partitions of the machine."""
    with pytest.raises(bl.SystemDescriptionError, match=said):
        system(bl.Reservation("r", 5, 10, **given))


def test_number_of_nodes() -> None:
    """The nodes with the greatest numbers are taken."""
    machine = bl.System(
        (bl.NodeGroup("a", 4, {"core": 1}), bl.NodeGroup("b", 4, {"core": 1})),
        partitions=(bl.Partition("p", "0-1,6"),),
    )
    last = bl.Reservation("r", 0, 1, count=3)
    assert machine.reservation_ranges(last) == [(5, 8)]
    named = bl.Reservation("r", 0, 1, "0", groups=("a",), partitions=("p",), count=2)
    assert machine.reservation_ranges(named) == [(3, 4), (6, 7)]


def test_files(tmp_path: Path) -> None:
    """Files give back what was written; errors name the path."""
    given = (
        bl.Reservation("maintenance", 100, math.inf, "0-1"),
        bl.Reservation("course", 5, 10, every=20, until=90, count=2, admits=EVERYONE, flexible=True),
        bl.Reservation("bens", 5, 10, admits=bl.Conditions(users=("ben",), max_nodes=2)),
    )
    for name in ("system.toml", "system.json"):
        path = tmp_path / name
        bl.write_system(system(*given), path)
        assert bl.read_system(path).reservations == given
    text = (tmp_path / "system.toml").read_text()
    (tmp_path / "bad.toml").write_text(text.replace('"max_nodes" = 2', '"max_nodes" = 0'))
    with pytest.raises(bl.SystemDescriptionError, match=r"reservations\[2\]\.admits\.max_nodes = 0; must be"):
        bl.read_system(tmp_path / "bad.toml")
