"""Numbers that no node, row or amount has, and questions to simulations that are gone or in use."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Callable

WORKLOAD = bl.Workload.from_table({"submit_time": [0.0], "run_time": [5.0], "tasks": [1]})
SYSTEM = bl.System.homogeneous(nodes=1, resources={"core": 1})

Ask = "Callable[[bl.View, bl.Job], object]"
ASKED: dict[str, tuple[Callable[[bl.View, bl.Job], object], str]] = {
    "drain": (lambda view, _: view.drain(-1), r"node = -1; nodes are numbered from 0"),
    "drain a large one": (lambda view, _: view.drain(2**40), r"node = 1099511627776; nodes are numbered"),
    "resume": (lambda view, _: view.resume(-1), r"node = -1; nodes are numbered from 0"),
    "is_drained": (lambda view, _: view.is_drained(-1), r"node = -1; nodes are numbered from 0"),
    "jobs_on": (lambda view, _: view.jobs_on(2**40), r"node = 1099511627776; nodes are numbered"),
    "power_state": (lambda view, _: view.power_state(-1), r"node = -1; nodes are numbered from 0"),
    "slots": (lambda view, job: view.slots(job, -1), r"node = -1; nodes are numbered from 0"),
    "reserve_capacity of no node": (
        lambda view, _: view.reserve_capacity(-1, {"core": 1}),
        r"node = -1; nodes are numbered from 0",
    ),
    "reserve_capacity": (
        lambda view, _: view.reserve_capacity(0, {"core": 2**70}),
        r"amount = 1180591620717411303424; must be from 0 to what the node has",
    ),
    "job": (lambda view, _: view.job(-1), r"row = -1; rows are numbered from 0"),
    "job beyond the last": (lambda view, _: view.job(1), r"row = 1; the workload has 1 rows"),
    "max_additional_tasks": (
        lambda view, job: view.max_additional_tasks(job, -1),
        r"limit = -1; must be a number of tasks",
    ),
    "over_limit": (lambda view, job: view.over_limit(job, -1), r"tasks = -1; must be a number of tasks"),
    "start": (lambda view, job: view.start(job, tasks=-1), r"tasks = -1; must be a number of tasks"),
    "start on GPUs": (lambda view, job: view.start(job, gpus=-1), r"gpus = -1; must be a number of GPUs"),
    "resize": (lambda view, job: view.resize(job, -1), r"tasks = -1; must be a number of tasks"),
    "set_service_rate": (
        lambda view, _: view.set_service_rate(1.0, -1),
        r"control = -1; controls are numbered",
    ),
    "set_estimate": (
        lambda view, job: view.set_estimate(job, 10**400),
        r"inf s; must be a finite number >= 0",
    ),
    "set_rate": (
        lambda view, job: view.set_rate(job, -(10**400)),
        r"job 1 cannot have this rate at 0 s",
    ),
    "reserve": (lambda view, job: view.reserve(job, 10**400), r"time = inf; must be a number"),
    "wake": (lambda view, _: view.wake(10**400), r"time = inf; must be a number"),
    "preempt": (
        lambda view, job: view.preempt(job, mode="from_checkpoint", every=10**400),
        r"every = inf; must be 'requeue'",
    ),
}


class Asks(bl.Scheduler):
    """Asks at the beginning of a pass, and starts what fits."""

    def __init__(self, ask: Callable[[bl.View, bl.Job], object]) -> None:
        self.ask = ask

    def schedule(self, view: bl.View) -> None:
        """Ask, then start."""
        self.ask(view, view.queue[0])


@pytest.mark.parametrize("name", ASKED)
def test_numbers_that_there_are_not(name: str) -> None:
    """Each is a DecisionError that names the argument, its value and its rule."""
    ask, message = ASKED[name]
    with pytest.raises(bl.DecisionError, match=message):
        bl.simulate(WORKLOAD, SYSTEM, Asks(ask))


@pytest.mark.parametrize("number", [1.5, "1", None])
def test_what_is_no_whole_number(number: object) -> None:
    """It is a TypeError that names the argument, as of any function."""
    with pytest.raises(TypeError, match="node"):
        bl.simulate(WORKLOAD, SYSTEM, Asks(lambda view, _: view.drain(number)))  # type: ignore[arg-type]


def test_a_fork_once_the_simulation_is_gone() -> None:
    """A view that outlives its simulation says so."""
    kept: list[bl.View] = []

    class Keeps(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            kept.append(view)
            for job in view.candidates():
                view.start(job)

    bl.simulate(WORKLOAD, SYSTEM, Keeps())
    with pytest.raises(
        bl.DecisionError, match=r"fork\(\): the simulation of this view is over and gone; keep it"
    ):
        kept[0].fork()


def test_a_second_thread() -> None:
    """What another thread asks during a run is answered or an error; the run goes on, and nothing panics."""
    many = 300
    table = {"submit_time": [0.0, 0.0, 1.0] * many, "run_time": [5.0] * 3 * many, "tasks": [1] * 3 * many}
    found: list[BaseException] = []

    class Shared(bl.Scheduler):
        view: bl.View | None = None
        is_over = False

        def schedule(self, view: bl.View) -> None:
            self.__dict__["view"] = view
            for job in view.candidates():
                view.start(job)

        def look(self) -> None:
            while not self.is_over:
                try:
                    if self.view is not None:
                        assert len(self.view.queue) >= 0
                        assert self.view.free.size
                        assert all(job.tasks == 1 for job in self.view.running)
                except BaseException as error:  # noqa: BLE001  # whatever it is
                    found.append(error)

    scheduler = Shared()
    other = threading.Thread(target=scheduler.look)
    other.start()
    try:
        for _ in range(5):
            bl.simulate(
                bl.Workload.from_table(table),
                bl.System.homogeneous(nodes=2, resources={"core": 1}),
                scheduler,
            )
    finally:
        scheduler.__dict__["is_over"] = True
        other.join()
    assert {type(error) for error in found} <= {bl.SimulationError}
    assert all("in use by another thread" in str(error) for error in found)


@pytest.mark.parametrize(
    "make",
    [
        lambda: bl.generate.like("log.swf", 10, system=SYSTEM),  # type: ignore[arg-type]
        lambda: bl.generate.estimates("log.swf"),  # type: ignore[arg-type]
        lambda: bl.generate.mix("log.swf"),  # type: ignore[arg-type]
        lambda: bl.generate.JannModel.fit("log.swf"),  # type: ignore[arg-type]
    ],
)
def test_a_path_in_place_of_a_workload(make: Callable[[], object]) -> None:
    """The error says what is needed, and how a log becomes that."""
    with pytest.raises(
        bl.WorkloadError, match=r"workload = 'log.swf'; must be a Workload. Read a log first: bl.read_swf\("
    ):
        make()


def test_values_count_what_the_pass_has_decided() -> None:
    """An observer that counts starts offers the number of starts so far, in the midst of a pass too."""

    class Starts(bl.Observer):
        name = "starts"
        count = 0

        def started(self, job: bl.Job, view: bl.View) -> None:
            self.count += 1

        def value(self, view: bl.View) -> int:
            return self.count

    seen: list[object] = []

    class Counts(bl.Scheduler):
        def schedule(self, view: bl.View) -> None:
            for job in view.candidates():
                view.start(job)
                seen.append(view.values["starts"])

    table = {"submit_time": [0.0] * 4, "run_time": [5.0] * 4, "tasks": [1] * 4}
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    bl.simulate(bl.Workload.from_table(table), system, Counts(), observers=[Starts()])
    assert seen == [1, 2, 3, 4]
