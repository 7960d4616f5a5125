"""What policies see, and what is hidden from them."""

import inspect

import numpy as np
import pytest

import batchlab as bl
from support.python_schedulers import FirstFit, InOrder
from support.scripted_runs import Scripted, jobs_of, run


def test_attributes_of_jobs() -> None:
    """Columns that readers add are attributes by name; states and instants follow the run."""
    workload = bl.Workload.from_table(
        {
            "job_id": [7, 8],
            "submit_time": [0, 1],
            "run_time": [4, 2],
            "requested_time": [5, 6],
            "tasks": [2, 1],
            "core": [2, 1],
            "team": ["red", "blue"],
            "tasks_per_node": [1, 0],
            "exclusive": [False, True],
        }
    )
    system = bl.System.homogeneous(nodes=2, resources={"core": 4, "gpu": 1})
    seen: dict[tuple[float, int], tuple[object, ...]] = {}

    class Looking(FirstFit):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            self.look(view)
            super().schedule(view)
            self.look(view)

        def look(self, view: bl.View) -> None:
            for job in (view.job(0), view.job(1)):
                attributes = (job.state, job.start_time, job.end_time, job.expected_end, job.nodes)
                seen[view.now, job.row] = attributes
            first = view.job(0)
            assert (first.id, first.row, first.team, first["team"]) == (7, 0, "red", "red")
            assert (first.submit_time, first.requested_time, first.estimate) == (0.0, 5.0, 5.0)
            assert (first.request, first.demand) == ({"core": 2, "gpu": 0}, {"core": 4, "gpu": 0})
            assert (first.tasks_per_node, first.exclusive, view.job(1).exclusive) == (1, False, True)

    bl.simulate(workload, system, Looking())
    assert seen == {
        (0.0, 0): ("running", 0.0, None, 5.0, {0: 1, 1: 1}),
        (0.0, 1): ("loaded", None, None, None, {}),
        (1.0, 0): ("running", 0.0, None, 5.0, {0: 1, 1: 1}),
        (1.0, 1): ("queued", None, None, None, {}),
        (4.0, 0): ("completed", 0.0, 4.0, None, {0: 1, 1: 1}),
        (4.0, 1): ("running", 4.0, None, 10.0, {0: 1}),
        (6.0, 0): ("completed", 0.0, 4.0, None, {0: 1, 1: 1}),
        (6.0, 1): ("completed", 4.0, 6.0, None, {0: 1}),
    }


def test_the_queue() -> None:
    """It is a sequence of jobs, and a table of columns."""
    workload = jobs_of(run_time=[1, 1, 1, 1], tasks=[2, 1, 3, 1], level=[3, 1, 2, 0])
    done = []

    class Looking(FirstFit):
        def schedule(self, view: bl.View) -> None:
            if view.now == 0:
                queue = view.queue
                assert (len(queue), bool(queue), repr(queue)) == (4, True, "<Queue of 4 jobs>")
                assert [job.row for job in queue] == queue.rows.tolist() == [0, 1, 2, 3]
                assert (queue[0].row, queue[-1].row, [job.row for job in queue[1:3]]) == (0, 3, [1, 2])
                assert (queue.level.tolist(), queue["level"].tolist()) == ([3, 1, 2, 0], [3, 1, 2, 0])
                assert queue.demand.tolist() == [[2], [1], [3], [1]]
                assert queue.estimate.tolist() == queue.requested_time.tolist() == [1, 1, 1, 1]
                assert view.job(1) in queue
                assert 1 not in queue
                with pytest.raises(IndexError, match="out of range"):
                    queue[4]
                with pytest.raises(TypeError, match=r"must be a place, a slice, or the name of a column"):
                    queue[1.5]  # type: ignore[call-overload]  # that is the test
                with pytest.raises(
                    AttributeError, match=r"^the workload has no column 'levl'\. Did you mean 'level'"
                ):
                    _ = queue.levl
                with pytest.raises(
                    AttributeError, match=r"^the workload has no column 'levl'\. Did you mean 'level'"
                ):
                    _ = queue[0].levl
                assert repr(queue[0]) == "<Job 1: queued, 2 tasks>"
                assert repr(view) == "<View at 0 s: 4 waiting, 0 running>"
                done.append(True)
            super().schedule(view)

    bl.simulate(workload, bl.System.homogeneous(nodes=3, resources={"core": 1}), Looking())
    assert done


class FirstJobs(FirstFit):
    """Compares places, slices and heads of each queue with the list of its jobs."""

    def __init__(self) -> None:
        self.lengths: set[int] = set()

    def schedule(self, view: bl.View) -> None:
        queue, rows = view.queue, [job.row for job in view.queue]
        self.lengths.add(len(rows))
        self.compare(queue, rows)
        for count in (0, 1, 3, len(rows), len(rows) + 5):
            head = queue.head(count)
            self.compare(head, rows[:count])
            self.compare(head.head(2), rows[:count][:2])
            assert [job.row for job in rows_of(head, view)] == [row for row in rows if row in rows[:count]]
        with pytest.raises(ValueError, match=r"^count = -1; must be at least 0"):
            queue.head(-1)
        super().schedule(view)

    def compare(self, queue: bl.Queue, rows: list[int]) -> None:
        """Compare all that a sequence and a table of columns offer."""
        assert len(queue) == len(rows)
        assert [job.row for job in queue] == queue.rows.tolist() == rows
        assert queue.level.tolist() == queue["level"].tolist() == [row % 4 for row in rows]
        assert queue.demand.tolist() == [[1 + row % 3] for row in rows]
        assert len(queue.estimate) == len(queue.requested_time) == len(queue.time_limit) == len(rows)
        for place in (*range(-len(rows), len(rows)), np.int64(0) if rows else None):
            if place is not None:
                assert queue[int(place)].row == queue[place].row == rows[int(place)]
        for place in (len(rows), -len(rows) - 1):
            with pytest.raises(IndexError, match="is out of range"):
                queue[place]
        for begin in (None, -3, 0, 2, 40):
            for end in (None, -1, 0, 3, 40):
                for step in (None, 1, 2, -1, -2):
                    assert [job.row for job in queue[begin:end:step]] == rows[begin:end:step]


def rows_of(queue: bl.Queue, view: bl.View) -> list[bl.Job]:
    """Return those of all waiting jobs that a queue has."""
    return [job for job in view.queue if job in queue]


@pytest.mark.parametrize("limited", [False, True])
def test_the_first_jobs_of_a_queue(*, limited: bool) -> None:
    """Places, slices and heads are those of the list of the waiting jobs, also where a limit closes some."""
    count = 24
    workload = jobs_of(
        submit_time=[job // 4 for job in range(count)],
        run_time=[3 + job % 5 for job in range(count)],
        tasks=[1 + job % 3 for job in range(count)],
        level=[job % 4 for job in range(count)],
        user_id=[job % 2 for job in range(count)],
    )
    limits = (bl.Limit("one", per=("user",), running_jobs=1),) if limited else ()
    system = bl.System.homogeneous(nodes=3, resources={"core": 1}, limits=limits)
    looking = FirstJobs()
    bl.simulate(workload, system, looking)
    assert 1 in looking.lengths
    assert max(looking.lengths) > 8


def test_columns_cannot_be_changed() -> None:
    """The workload's columns are shown, not handed out."""

    class Changing(InOrder):
        def begin(self, view: bl.View) -> None:
            with pytest.raises(ValueError, match="read-only"):
                view.columns.tasks[0] = 5

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    bl.simulate(jobs_of(run_time=[1]), system, Changing())


HIDING = {
    "job_id": [1, 2],
    "submit_time": [0, 0],
    "run_time": [3, 4],
    "requested_time": [9, 9],
    "tasks": [1, 1],
    "average_cpu_time": [2.5, 3.5],
    "used_memory": [10, 20],
    "status": [1, 0],
    "logged_wait_time": [5, 6],
}
SECRETS = ("run_time", "average_cpu_time", "used_memory", "status", "logged_wait_time")


def test_the_past_and_the_future_are_hidden() -> None:
    """What only the log knows of a job shows once it is done, in whatever way it is asked for."""
    seen = []

    class Looking(InOrder):
        every_instant = True

        def schedule(self, view: bl.View) -> None:
            for name in SECRETS:
                assert name not in view.columns
                for owner in (view.columns, view.queue, view.job(1))[: 2 if view.now == 7 else 3]:
                    with pytest.raises(bl.DecisionError, match="clairvoyant = True"):
                        owner[name]
                    with pytest.raises(bl.DecisionError, match="clairvoyant = True"):
                        getattr(owner, name)
            if view.now == 3:
                first = view.job(0)
                seen.append([first.run_time, *(first[name] for name in SECRETS)])
            ahead = view.fork("fcfs")
            ahead.run_until()
            believed = ahead.result().jobs["run_time"].to_list()
            assert believed == [3.0 if view.now >= 3 else 9.0, 4.0 if view.now == 7 else 9.0]
            super().schedule(view)

    workload = bl.Workload.from_table(HIDING)
    bl.simulate(workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), Looking())
    assert seen == [[3.0, 3.0, 2.5, 10, 1, 5]]
    with pytest.raises(
        bl.PolicyError, match="average_cpu_time is hidden from schedulers; it is known once a"
    ):
        bl.simulate(
            workload, bl.System.homogeneous(nodes=1, resources={"core": 1}), 'expression("average_cpu_time")'
        )


def test_killed_jobs_show_how_long_they_ran() -> None:
    """A job that was cut short shows that, not what it would have run."""
    seen = []
    script: Scripted = {
        2.0: [lambda view: view.kill(view.job(0))],
        3.0: [lambda view: seen.append(view.job(0).run_time)],
    }
    run(jobs_of(run_time=[10, 10]), script)
    assert seen == [2.0]


@pytest.mark.parametrize("asks", ["scheduler", "order of all", "order of the queue", "predictor"])
def test_the_clairvoyant_see(asks: str) -> None:
    """A scheduler that asks by name is shown everything; no other is."""
    seen: list[object] = []

    class Looking(InOrder):
        clairvoyant = asks == "scheduler"

        def schedule(self, view: bl.View) -> None:
            if self.clairvoyant:
                seen.append((view.queue[0].run_time, view.columns.run_time[0], view.queue.run_time[0]))
                assert view.fork(clairvoyant=True).result().jobs["run_time"].to_list() == [3.0, 4.0]
            super().schedule(view)

    class Knowing(bl.Predictor):
        clairvoyant = asks == "predictor"

        def estimate(self, job: bl.Job, view: bl.View) -> float:
            if self.clairvoyant:
                seen.append(job.run_time)
            return job.requested_time

    if asks == "order of all":

        def order(jobs: bl.Columns) -> object:
            seen.append(jobs.run_time.tolist())
            return jobs.run_time
    else:

        def order(queue: bl.Queue, now: float) -> object:  # type: ignore[misc]  # another form
            if asks == "order of the queue":
                seen.append(queue.run_time.tolist())
            return queue.requested_time

    order.clairvoyant = asks.startswith("order")  # type: ignore[attr-defined]  # that is how it asks
    policy = bl.Policy(order, predictor=Knowing(), scheduler=Looking())  # type: ignore[arg-type]  # an array
    bl.simulate(bl.Workload.from_table(HIDING), bl.System.homogeneous(nodes=1, resources={"core": 1}), policy)
    assert seen


def test_everybody_begins_once() -> None:
    """Scheduler, allocator and predictor are told of a run once, before anything else."""
    calls = []

    class Beginning(InOrder):
        def begin(self, view: bl.View) -> None:
            calls.append("scheduler")

        def schedule(self, view: bl.View) -> None:
            calls.append("pass")
            super().schedule(view)

    class Placing(bl.Allocator):
        def begin(self, view: bl.View) -> None:
            calls.append("allocator")

        def allocate(self, job: bl.Job, view: bl.View) -> list[int] | None:
            return [0] if view.slots(job, 0) else None

    class Guessing(bl.Predictor):
        def begin(self, view: bl.View) -> None:
            calls.append("predictor")

        def estimate(self, job: bl.Job, view: bl.View) -> float:
            return 1

    policy = bl.Policy(allocator=Placing(), predictor=Guessing(), scheduler=Beginning())
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    for _ in range(2):
        calls.clear()
        simulation = bl.Simulation(jobs_of(run_time=[1]), system, policy)
        simulation.fork().run_until()
        simulation.run_until()
        assert calls == ["scheduler", "allocator", "predictor", "pass", "pass"]


def test_help_tells_what_there_is() -> None:
    """Every attribute and act of view, job and queue is documented."""
    for kind in (bl.View, bl.Job, bl.Queue):
        assert inspect.getdoc(kind)
        for name, member in inspect.getmembers(kind):
            if not name.startswith("_"):
                assert inspect.getdoc(member), f"{kind.__name__}.{name}"
