"""Why jobs wait at an instant, in one word: by hand, at the end of a run, and while a run goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import batchlab as bl

if TYPE_CHECKING:
    from batchlab.seam import View

JOBS = bl.Workload.from_table(
    {
        "job_id": [1, 2, 3, 4, 5, 6],
        "submit_time": [0, 0, 0, 5, 0, 0],
        "run_time": [10, 10, 10, 10, 10, 10],
        "tasks": [4, 3, 1, 1, 1, 1],
        "user": ["ann", "ben", "ben", "cat", "dan", "ann"],
        "dependency": [None, None, None, None, "afterok:1", None],
        "begin_time": [None, None, None, None, None, 12.0],
    }
)
SYSTEM = bl.System.homogeneous(
    nodes=4, resources={"core": 1}, limits=(bl.Limit("OnePerUser", per=("user",), running_jobs=1),)
)


def test_jobs_that_never_start() -> None:
    """The table of jobs says why they wait."""
    jobs = bl.Workload.from_table({"submit_time": [0, 0, 0], "run_time": [9, 9, 9], "tasks": [3, 2, 1]})

    class Drain(bl.Observer):
        def begin(self, view: View) -> None:
            view.drain(0)
            view.drain(1)

    result = bl.simulate(
        jobs, bl.System.homogeneous(nodes=3, resources={"core": 1}), "easy", observers=[Drain()]
    )
    assert result.jobs["state"].to_list() == ["queued", "queued", "completed"]
    assert result.jobs["reason"].to_list() == ["unavailable", "unavailable", None]
    assert "rejected" not in result.metrics() or not result.metrics()["rejected"]


def test_while_a_run_goes_on() -> None:
    """The status knows the reasons, also of a job on hold; so do a fork and a restored snapshot."""
    simulation = bl.Simulation(JOBS, SYSTEM, "easy")
    simulation.run_until(9)
    assert _reasons(simulation) == [None, "resources", "priority", "priority", "dependency", "begin_time"]
    simulation.run_until(11)
    restored = bl.Simulation.restore(simulation.snapshot(), JOBS, SYSTEM, "easy")
    for each in (simulation, simulation.fork(), restored):
        assert _reasons(each) == [None, None, "OnePerUser", "resources", None, "begin_time"]


def _reasons(simulation: bl.Simulation) -> list[str | None]:
    status = simulation.status()
    return [status.reason(row) for row in range(6)]
