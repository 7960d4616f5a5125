"""Decisions that break a rule are refused, and the run goes on as if they had never been tried."""

import math
import re
from collections.abc import Callable
from itertools import product

import pytest

import batchlab as bl
from batchlab.core.vocabulary import ORDERS_AT_INSTANT
from support.python_schedulers import Easy

Deed = Callable[[bl.View], object]


@pytest.fixture
def workload() -> bl.Workload:
    """Twelve jobs of one to three tasks that queue for the machine."""
    rows = range(12)
    return bl.Workload.from_table(
        {
            "job_id": [100 + row for row in rows],
            "submit_time": [row // 3 for row in rows],
            "run_time": [2 + (5 * row) % 7 for row in rows],
            "requested_time": [3 + (5 * row) % 11 for row in rows],
            "tasks": [1 + row % 3 for row in rows],
            "team": ["a" if row % 2 else "b" for row in rows],
        },
        overrun="keep",
    )


@pytest.fixture
def system() -> bl.System:
    """Three nodes, the first of one core, the others of two."""
    return bl.System((bl.NodeGroup("small", 1, {"core": 1}), bl.NodeGroup("large", 2, {"core": 2})))


class Wrong(Easy):
    """EASY that also tries something in every pass, and keeps what it is told."""

    def __init__(self, deed: Deed) -> None:
        super().__init__()
        self.deed = deed
        self.messages: list[str] = []

    def schedule(self, view: bl.View) -> None:
        """Try it before and after deciding."""
        self.attempt(view)
        super().schedule(view)
        self.attempt(view)

    def attempt(self, view: bl.View) -> None:
        """Keep the refusal."""
        try:
            self.deed(view)
        except bl.DecisionError as error:
            self.messages.append(str(error))


def first(jobs: object) -> bl.Job:
    """Give the first job; a pass without one tries nothing."""
    for job in jobs:  # type: ignore[attr-defined]  # any iterable of jobs
        return job  # type: ignore[no-any-return]  # likewise
    raise bl.DecisionError("nobody is there")


def waiting(view: bl.View) -> bl.Job:
    """Give a waiting job of at least two tasks."""
    return first(job for job in view.queue if job.tasks >= 2)


def old(view: bl.View) -> bl.Job:
    """Give a running job that was not started in this pass."""
    return first(job for job in view.running if job.start_time != view.now)


def done(view: bl.View) -> bl.Job:
    """Give a job that has completed."""
    return first(job for job in map(view.job, range(12)) if job.state == "completed")


def to_come(view: bl.View) -> bl.Job:
    """Give a job that is still to be submitted."""
    return first(job for job in map(view.job, range(12)) if job.state == "loaded")


REFUSED: dict[str, tuple[Deed, str]] = {
    "start a running job": (
        lambda view: view.start(first(view.running)),
        r"job 1\d\d cannot start at \d+ s: it is running; it must be queued\.",
    ),
    "start a completed job": (lambda view: view.start(done(view)), "it is completed; it must be queued"),
    "start a job to come": (lambda view: view.start(to_come(view)), "it is loaded; it must be queued"),
    "too many tasks": (
        lambda view: view.start(waiting(view), {1: 99}),
        r"cannot start at \d+ s: 99 tasks are placed; it has [23]\.",
    ),
    "too few tasks": (lambda view: view.start(waiting(view), [1]), "1 tasks are placed; it has"),
    "no tasks at all": (lambda view: view.start(waiting(view), {1: 0}), "0 tasks are placed; it has"),
    "a node without room": (
        lambda view: view.start(waiting(view), [0] * waiting(view).tasks),
        r"[23] tasks are placed on node 0, which has room for [01] of them\.",
    ),
    "an unknown node": (
        lambda view: view.start(waiting(view), [77] * waiting(view).tasks),
        r"there is no node 77; nodes are numbered from 0 to 2\.",
    ),
    "a negative node": (
        lambda view: view.start(waiting(view), [-1, -1]),
        r"cannot be on nodes = \[-1, -1\]; must be a mapping from node to number of tasks, or one node",
    ),
    "nodes that are none": (lambda view: view.start(waiting(view), "ab"), "must be a mapping from node"),  # type: ignore[arg-type]  # that is the test
    "a number for nodes": (
        lambda view: view.start(waiting(view), 2),  # type: ignore[arg-type]  # that is the test
        "nodes = 2; must be a mapping from node",
    ),
    "half a task": (
        lambda view: view.start(waiting(view), {1: 1.5}),
        r"nodes = \{1: 1.5\}; must be a mapping from node",
    ),
    "reserve in the past": (
        lambda view: view.reserve(waiting(view), view.now - 1),
        r"cannot have a reservation at \d+ s: time = -?\d+; must be a number, and not before now = \d+\.",
    ),
    "reserve at no time": (
        lambda view: view.reserve(waiting(view), math.nan),
        "time = NaN; must be a number, and not before now",
    ),
    "reserve for a running job": (lambda view: view.reserve(first(view.running)), "it is running; it must"),
    "reserve where it does not fit": (
        lambda view: view.reserve(first(job for job in view.queue if view.place(job) is None), view.now),
        r"cannot have a reservation at \d+ s: with the jobs that run .* it does not fit from \d+ s on",
    ),
    "preempt a waiting job": (
        lambda view: view.preempt(waiting(view)),
        "cannot be preempted at .*: it is queued; it must be running",
    ),
    "preempt a job just started": (
        lambda view: view.preempt(first(job for job in view.running if job.start_time == view.now)),
        "it was started in this very pass",
    ),
    "kill a job just started": (
        lambda view: view.kill(first(job for job in view.running if job.start_time == view.now)),
        "it was started in this very pass",
    ),
    "keep something else": (
        lambda view: view.preempt(old(view), mode="half"),
        "mode = 'half'; must be 'requeue', 'suspend', or 'from_checkpoint' with every = seconds > 0",
    ),
    "checkpoints without a distance": (
        lambda view: view.preempt(old(view), mode="from_checkpoint"),
        "mode = 'from_checkpoint'; must be",
    ),
    "checkpoints all the time": (
        lambda view: view.preempt(old(view), mode="from_checkpoint", every=0),
        "mode = 'from_checkpoint', every = 0; must be",
    ),
    "hold a running job": (
        lambda view: view.hold(first(view.running)),
        "cannot be held at .*: it is running; it must be queued",
    ),
    "release a running job": (lambda view: view.release(first(view.running)), "it must be queued"),
    "kill a completed job": (
        lambda view: view.kill(done(view)),
        "it is completed; it must be queued or running",
    ),
    "estimate a completed job": (
        lambda view: view.set_estimate(done(view), 5),
        "cannot have this estimate at .*: it is completed; it must be submitted, queued or running",
    ),
    "a negative estimate": (
        lambda view: view.set_estimate(waiting(view), -1),
        "-1 s; must be a finite number >= 0",
    ),
    "an infinite estimate": (lambda view: view.set_estimate(waiting(view), math.inf), "inf s; must be"),
    "resize a waiting job": (
        lambda view: view.resize(waiting(view), 1),
        "cannot be resized to 1 tasks at .*: it is rigid: it keeps the tasks that it was submitted with",
    ),
    "resize a running job": (lambda view: view.resize(first(view.running), 4), "it is rigid"),
    "wake in the past": (
        lambda view: view.wake(view.now - 1),
        "no timer can be set: time = .*; must be a number, and not before now",
    ),
    "wake at no time": (lambda view: view.wake(math.nan), "no timer can be set: time = NaN"),
    "slots of no node": (
        lambda view: view.slots(waiting(view), 3),
        "node = 3: there is no node 3; nodes are numbered from 0 to 2",
    ),
    "jobs on no node": (lambda view: view.jobs_on(3), "node = 3: there is no node 3"),
    "whether no node is closed": (lambda view: view.is_drained(9), "node = 9: there is no node 9"),
    "close no node": (lambda view: view.drain(9), "node 9 cannot be drained at .*: there is no node 9"),
    "withhold too much": (
        lambda view: view.reserve_capacity(0, {"core": 2}),
        "must be from 0 to 1, its capacity",
    ),
    "withhold what is not there": (lambda view: view.reserve_capacity(0, {"gpu": 1}), 'no resource "gpu"'),
    "see the run time": (
        lambda view: waiting(view).run_time,
        r"job 1\d\d: its run_time is not known before it ends; set clairvoyant = True on the class",
    ),
    "see the run times": (lambda view: view.columns["run_time"], "run_time is hidden from schedulers"),
    "see those of the queue": (lambda view: view.queue["run_time"], "run_time is hidden from schedulers"),
    "see the future": (lambda view: view.fork(clairvoyant=True), "set clairvoyant = True on the class"),
    "search behind a job to come": (
        lambda view: view.candidates(to_come(view)),
        "cannot be searched behind at .*: it is loaded; it must be one that has waited",
    ),
}


# With a pass after every event, what has just started may have done so in an earlier pass.
RUNS = [
    (name, order)
    for name, order in product(REFUSED, ORDERS_AT_INSTANT)
    if "just started" not in name or order == "completions_first"
]


@pytest.mark.parametrize(("name", "order_at_instant"), RUNS)
def test_refused(name: str, order_at_instant: str, workload: bl.Workload, system: bl.System) -> None:
    """The refusal says job, rule and numbers, and the schedule is that of a run without the attempt."""
    deed, message = REFUSED[name]
    scheduler = Wrong(deed)
    options = {"order_at_instant": order_at_instant}
    result = bl.simulate(workload, system, scheduler, **options)  # type: ignore[arg-type]  # names and values
    told = [text for text in scheduler.messages if text != "nobody is there"]
    assert told
    assert all(re.search(message, text) for text in told), told[0]
    expected = bl.simulate(workload, system, "easy", **options)  # type: ignore[arg-type]  # likewise
    assert result.jobs.equals(expected.jobs)
    assert result.interruptions.is_empty()
