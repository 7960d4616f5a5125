"""The revision of a view: it changes with whatever a decision may depend on, and with nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from support.resizing import SYSTEM, job

if TYPE_CHECKING:
    from collections.abc import Callable

MALLEABLE = ("malleable", "equipartition", "malleable(order=sjf)", "malleable(order=drf)")


def jobs(**columns: list[Any]) -> bl.Workload:
    return bl.Workload.from_table(columns)


ONE = jobs(submit_time=[0.0], run_time=[10.0], requested_time=[10.0], tasks=[1])


def machine(**described: Any) -> bl.System:  # noqa: ANN401  # the parts of a system
    return bl.System.homogeneous(nodes=2, resources={"core": 1}, **described)


def reserved(start: float, duration: float) -> bl.System:
    return machine(reservations=(bl.Reservation("m", start=start, duration=duration, nodes="0-1"),))


@pytest.mark.parametrize("policy", [*MALLEABLE, "easy"])
def test_the_end_of_a_reservation(policy: str) -> None:
    """A job that waits for it starts then, also in a fork and in a snapshot that were taken before."""
    system = reserved(5, 10)
    simulation = bl.Simulation(ONE, system, policy)
    simulation.step()
    copies = [
        simulation.fork(),
        bl.Simulation.restore(simulation.snapshot(), ONE, system, policy),
        simulation,
    ]
    for each in copies:
        each.run_until()
        assert each.result().jobs["start_time"].to_list() == [15.0]


@pytest.mark.parametrize("policy", [*MALLEABLE, "easy"])
@pytest.mark.parametrize(
    ("event", "start"),
    [
        ({"time": 2, "event": "unreserve", "reservation": "m"}, 2.0),
        ({"time": 1, "event": "requested_time", "job_id": 1, "value": 3}, 1.0),
    ],
)
def test_events(policy: str, event: dict[str, object], start: float) -> None:
    """A reservation that is given up, and a request that fits before it, let the job start at once."""
    result = bl.simulate(ONE, reserved(5, 1000), policy, events=[event])
    assert result.jobs["start_time"].to_list() == [start]


@pytest.mark.parametrize("policy", MALLEABLE)
def test_a_limit_is_raised(policy: str) -> None:
    """The second job of a user starts when the limit admits it."""
    limited = machine(limits=(bl.Limit("few", per=("user",), running_jobs=1),))
    two = jobs(
        submit_time=[0.0, 0.0],
        run_time=[100.0, 10.0],
        requested_time=[100.0, 10.0],
        tasks=[1, 1],
        user=["a", "a"],
    )
    raised = [{"time": 5, "event": "limit", "limit": "few", "value": 2}]
    assert sorted(bl.simulate(two, limited, policy, events=raised).jobs["start_time"]) == [0.0, 5.0]


class Watches(bl.Scheduler):
    """Starts what fits, and takes down the revision at the beginning and the end of each pass."""

    every_instant = True

    def __init__(self, act: Callable[[bl.View], object] | None = None) -> None:
        self.act = act
        self.seen: list[tuple[float, int, int]] = []

    def schedule(self, view: bl.View) -> None:
        """Look, act at 3 s, start, look again."""
        before = view.revision
        if self.act is not None and view.now == 3:
            act, self.act = self.act, None
            act(view)
        for waiting in view.candidates():
            view.start(waiting)
        self.seen.append((view.now, before, view.revision))


def test_timers_and_progress_change_nothing() -> None:
    """While one job works through its scheduling points, and timers ring, the revision stands still."""

    class Rings(bl.Observer):
        def begin(self, view: bl.View) -> None:
            for time in (1.0, 3.0, 7.0):
                view.wake(time)

    scheduler = Watches()
    bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, scheduler, observers=[Rings()])
    assert [time for time, *_ in scheduler.seen] == [0, 1, 3, 6, 7, 12, 18, 24]
    running = {revision for time, *seen in scheduler.seen if 0 < time < 24 for revision in seen}
    assert len(running) == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda view: view.drain(3),
        lambda view: view.reserve_capacity(3, {"core": 1}),
        lambda view: view.set_estimate(view.job(0), 55.0),
        lambda view: view.kill(view.job(0)),
        lambda view: view.preempt(view.job(0)),
        lambda view: view.resize(view.job(0), 3),
        lambda view: view.hold(view.job(1)),
    ],
)
def test_every_decision_changes_it(act: Callable[[bl.View], object]) -> None:
    """Whatever a scheduler decides."""
    scheduler = Watches(act)
    workload = bl.Workload.from_jobs(
        [job(requested_time=90), bl.JobDescription(submit_time=3, run_time=1, tasks=3)]
    )
    simulation = bl.Simulation(workload, SYSTEM, scheduler)
    simulation.run_until(3)
    at_3 = [(before, after) for time, before, after in scheduler.seen if time == 3]
    assert at_3[0][0] < at_3[0][1]


@pytest.mark.parametrize("kind", ["minutes", "order"])
def test_what_changes_with_time(kind: str) -> None:
    """Limits that count minutes, and orders that change with time, make it grow at each instant."""
    system = (
        machine(limits=(bl.Limit("b", running_minutes={"core": 100}),)) if kind == "minutes" else machine()
    )
    scheduler = Watches()
    policy = bl.Policy("wfp3" if kind == "order" else "fcfs", scheduler=scheduler)

    class Rings(bl.Observer):
        def begin(self, view: bl.View) -> None:
            view.wake(1.0)
            view.wake(3.0)

    bl.simulate(ONE, system, policy, observers=[Rings()])
    revisions = [before for _, before, _ in scheduler.seen]
    assert len(set(revisions)) == len(revisions) > 2


def test_copies_go_on_from_it() -> None:
    """A fork and a snapshot have the revision of the simulation that they were made of."""
    scheduler = Watches()
    simulation = bl.Simulation(ONE, machine(), scheduler)
    simulation.step()
    copies = [
        simulation.fork(),
        bl.Simulation.restore(simulation.snapshot(), ONE, machine(), scheduler),
        simulation,
    ]
    last = []
    for each in copies:
        each.run_until()
        last.append(each.policy.scheduler.seen[-1])  # type: ignore[union-attr]  # it is one of these
    assert last[0] == last[1] == last[2]
