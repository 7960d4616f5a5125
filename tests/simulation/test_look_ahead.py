"""Forks within a run, and what goes with a simulation when it goes."""

import copy
import gc
import weakref
from collections.abc import Callable

import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import OrderAtInstant
from support.python_schedulers import Easy, FirstFit, InOrder
from support.scripted_runs import jobs_of


def test_a_look_ahead_under_its_own_policy() -> None:
    """The copy decides in the very pass in which it was made; a flag keeps it from looking ahead itself."""
    ends = []

    class Looking(Easy):
        is_looking = False

        def schedule(self, view: bl.View) -> None:
            if not self.is_looking:
                self.is_looking = True
                ahead = view.fork()
                self.is_looking = False
                ahead.run_until()
                ends.append(ahead.now)
            super().schedule(view)

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    bl.simulate(jobs_of(run_time=[2, 3], requested_time=[5, 6]), system, Looking())
    assert ends == [11.0, 8.0]


class Remembering(InOrder):
    """Keeps views, jobs and a list."""

    def begin(self, view: bl.View) -> None:
        """Forget."""
        self.view = view
        self.columns = view.columns
        self.first = view.job(0)
        self.passes: list[float] = []

    def schedule(self, view: bl.View) -> None:
        """Check that what is kept is of this simulation."""
        assert self.view is view
        assert self.columns is view.columns
        self.passes.append(view.now)
        if self.first.state == "queued":
            assert view.start(self.first)
        super().schedule(view)


def test_forks_work_on_copies() -> None:
    """A fork has its own scheduler, whose views and jobs are those of the fork."""
    scheduler = Remembering()
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(submit_time=[5, 0], run_time=[2, 2]), system, scheduler)
    simulation.run_until(3)
    fork = simulation.fork()
    fork.run_until()
    assert scheduler.passes == [0.0]
    assert (simulation.finished, fork.finished) == (1, 2)
    simulation.run_until()
    assert fork.result().jobs.equals(simulation.result().jobs)
    assert scheduler.passes == [0.0, 5.0]
    assert copy.deepcopy(scheduler).view is scheduler.view


def test_a_job_started_in_the_pass_ends_once() -> None:
    """A look ahead by estimates after a start in the same pass: every job runs once, one after the other."""
    seen: list[tuple[int, list[float], list[float]]] = []

    class Looking(FirstFit):
        def schedule(self, view: bl.View) -> None:
            if not seen:
                assert view.start(view.queue[0])
                ahead = view.fork("easy")
                ahead.run_until()
                jobs = ahead.result().jobs
                seen.append((ahead.finished, jobs["start_time"].to_list(), jobs["end_time"].to_list()))
            super().schedule(view)

    jobs = jobs_of(run_time=[3] * 4, requested_time=[5] * 4)
    bl.simulate(jobs, bl.System.homogeneous(nodes=1, resources={"core": 1}), Looking())
    assert seen == [(4, [0, 5, 10, 15], [5, 10, 15, 20])]


@pytest.mark.parametrize(
    "policy", ["fcfs", "easy", "sjf", "conservative", "easy(order=wfp3, allocator=best_fit)"]
)
def test_look_ahead_is_that_policy_from_that_state(policy: str) -> None:
    """A fork within a pass, under a built-in policy, is what this would do with jobs that run as thought."""
    rows = range(30)
    table = {
        "submit_time": [row // 4 for row in rows],
        "run_time": [1 + (7 * row) % 9 for row in rows],
        "requested_time": [2 + (7 * row) % 13 for row in rows],
        "tasks": [1 + (3 * row) % 4 for row in rows],
    }
    workload = bl.Workload.from_table(table)
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    compared = []

    class Looking(FirstFit):
        def schedule(self, view: bl.View) -> None:
            if view.now == 4:
                ahead = view.fork(policy)
                ahead.run_until()
                self.compare(view, ahead)
            super().schedule(view)

        def compare(self, view: bl.View, ahead: bl.LookAhead) -> None:
            """Run the jobs that are alive, those that run first, from their starts."""
            queue, running = [*view.queue], view.running
            assert queue
            assert len(running) > 1
            alive = sorted([*queue, *running], key=lambda job: job.row)
            jobs = pl.DataFrame(
                {
                    "job_id": [job.row for job in alive],
                    "submit_time": [job.submit_time for job in alive],
                    "run_time": [job.estimate for job in alive],
                    "requested_time": [job.estimate for job in alive],
                    "tasks": [job.tasks for job in alive],
                }
            )
            nodes = {job.row: job.nodes for job in running}
            starts = {job.row: job.start_time for job in running}

            class Again(FirstFit):
                def schedule(self, view: bl.View) -> None:
                    for job in view.queue:
                        if starts.get(job.id) == view.now:
                            assert view.start(job, nodes[job.id])

            started = bl.Simulation(bl.Workload.from_table(jobs), system, Again())
            started.run_until(3.5)
            # The instant at hand begins: what ends and comes now is taken in under the other policy.
            expected = started.look_ahead(policy, clairvoyant=True)
            expected.run_until()
            found = ahead.result().jobs.filter(pl.col("job_id").is_in([job.id for job in alive]))
            assert found["start_time"].to_list() == expected.result().jobs["start_time"].to_list()
            compared.append(policy)

    bl.simulate(workload, system, Looking())
    assert compared


def test_a_look_ahead_without_end() -> None:
    """A policy whose copy looks ahead as it does is told so before Python gives up."""

    class Looking(Easy):
        def schedule(self, view: bl.View) -> None:
            view.fork().run_until()

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    with pytest.raises(bl.SimulationError, match=r"16 look aheads within each other; .* fork\('easy'\)"):
        bl.simulate(jobs_of(run_time=[2, 3]), system, Looking())


def test_a_look_ahead_changes_nothing() -> None:
    """Whatever is done in forks, the run is the one without them."""

    class Looking(Easy):
        def schedule(self, view: bl.View) -> None:
            for policy in ("fcfs", "conservative"):
                ahead = view.fork(policy)
                ahead.run_until()
                assert ahead.now >= view.now
            super().schedule(view)

    workload = jobs_of(run_time=[4, 3, 2, 5, 1], requested_time=[5, 3, 4, 6, 2], tasks=[1, 2, 1, 2, 1])
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    assert bl.simulate(workload, system, Looking()).jobs.equals(bl.simulate(workload, system, "easy").jobs)


def test_look_ahead_from_a_policy_that_kept_less() -> None:
    """Who runs and how busy nodes are is known to the policy that takes over, needed before or not."""
    workload = jobs_of(run_time=[9, 3, 4, 2], requested_time=[9, 3, 4, 2], tasks=[1, 2, 1, 1])
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    simulation = bl.Simulation(workload, system, "fcfs")
    simulation.run_until(1)
    ahead = simulation.look_ahead("easy(allocator=best_fit)")
    ahead.run_until()
    assert ahead.result().jobs["start_time"].to_list() == [0.0, 9.0, 0.0, 4.0]
    believing = simulation.look_ahead()
    believing.run_until()
    assert believing.result().jobs["state"].to_list() == ["completed"] * 4


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ('expression("tasks")', "built-in one whose order asks for no columns"),
        ("multifactor(age=1)", "built-in one whose order asks for no columns"),
        (bl.Policy(scheduler=InOrder()), "InOrder; a look ahead goes on under its own policy, or a built-in"),
        ("easy(predictor=last_two)", "a look ahead keeps the estimates that there are"),
    ],
)
def test_look_ahead_refuses(policy: bl.Policy | str, message: str) -> None:
    """It goes on under what the kernel knows."""
    simulation = bl.Simulation(
        jobs_of(run_time=[1]), bl.System.homogeneous(nodes=1, resources={"core": 1}), "fcfs"
    )
    with pytest.raises(bl.PolicyError, match=message):
        simulation.look_ahead(policy)


class Storing(InOrder):
    """Keeps everything that leads back to the simulation."""

    def begin(self, view: bl.View) -> None:
        """Keep it."""
        self.kept = [view, view.job(0), view.queue, view.candidates(), view.values, view.columns]


def test_nothing_keeps_a_simulation_alive() -> None:
    """A simulation and all that belongs to it goes when nothing refers to it."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    scheduler = Storing()
    simulation = bl.Simulation(
        jobs_of(run_time=[1, 1]),
        system,
        scheduler,
    )
    simulation.run_until()
    fork = simulation.fork()
    kept = [weakref.ref(each) for each in (simulation, fork, scheduler.kept[0], scheduler)]
    del simulation, fork, scheduler
    gc.collect()
    assert [reference() for reference in kept] == [None] * 4


def test_an_observer_looks_ahead_within_a_look_ahead() -> None:
    """Observers of a look ahead under a built-in policy see a view that can be forked in turn."""

    class Looking(bl.Observer):
        depths: list[int] = []  # noqa: RUF012  # copies share it

        def __init__(self) -> None:
            self.depth = 0

        def started(self, job: bl.Job, view: bl.View) -> None:
            self.depths.append(self.depth)
            if self.depth < 2:
                self.depth += 1
                ahead = view.fork("easy")
                self.depth -= 1
                ahead.run_until()

    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    bl.simulate(jobs_of(run_time=[2, 3, 4]), system, "fcfs", observers=[Looking()])
    assert {0, 1, 2} == set(Looking.depths)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("policy", ["easy", InOrder()])
def test_a_copy_is_a_fork(
    copied: Callable[[bl.Simulation], bl.Simulation], policy: str | bl.Scheduler
) -> None:
    """What `copy` makes of a simulation goes its own way."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(run_time=[2, 2]), system, policy)
    simulation.run_until(1)
    twin = copied(simulation)
    twin.run_until()
    assert (simulation.finished, twin.finished) == (0, 2)
    simulation.run_until()
    assert twin.result().jobs.equals(simulation.result().jobs)


@pytest.mark.parametrize("order", ["completions_first", "arrivals_first"])
def test_running_jobs_end_where_arrivals_come_first(order: OrderAtInstant) -> None:
    """A job of a late row that started early ends in a look ahead when it is expected to."""
    ends: list[list[float]] = []

    class Looking(FirstFit):
        def schedule(self, view: bl.View) -> None:
            super().schedule(view)
            if view.now == 1:
                ahead = view.fork("first_fit")
                ahead.run_until()
                ends.append(ahead.result().jobs["end_time"].to_list())

    jobs = jobs_of(
        submit_time=[9.0] * 5 + [0, 1], run_time=[1.0] * 5 + [3, 1], requested_time=[1.0] * 5 + [5, 2]
    )
    system = bl.System.homogeneous(nodes=1, resources={"core": 2})
    bl.simulate(jobs, system, Looking(), order_at_instant=order)
    assert ends == [[None] * 5 + [5, 3]]


def test_a_fork_within_a_notice_is_told_the_rest() -> None:
    """Of several jobs that end at one instant, a copy that is made at the first end learns of the others."""

    class Looking(bl.Observer):
        name = "looking"
        ahead: bl.LookAhead | None = None

        def __init__(self) -> None:
            self.told: list[int] = []

        def ended(self, job: bl.Job, view: bl.View) -> None:
            self.told.append(job.row)
            if Looking.ahead is None:
                Looking.ahead = view.fork()

        def observations(self, view: bl.View) -> pl.DataFrame:
            return pl.DataFrame({"row": self.told})

    looking = Looking()
    system = bl.System.homogeneous(nodes=1, resources={"core": 3})
    simulation = bl.Simulation(jobs_of(run_time=[2, 2, 2]), system, "fcfs", observers=[looking])
    simulation.run_until()
    assert looking.told == [0, 1, 2]
    assert Looking.ahead is not None
    Looking.ahead.run_until()
    assert Looking.ahead.result().observations["looking"]["row"].to_list() == [0, 1, 2]


def test_a_fork_has_a_policy_of_its_own() -> None:
    """The scheduler that a fork names is the copy that decides in it."""
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    simulation = bl.Simulation(jobs_of(run_time=[2, 2]), system, Remembering())
    simulation.run_until(1)
    fork = simulation.fork()
    fork.run_until()
    own, other = simulation.policy.scheduler, fork.policy.scheduler
    assert isinstance(own, Remembering)
    assert isinstance(other, Remembering)
    assert (own.passes, other.passes) == ([0.0], [0.0, 2.0])


def test_a_job_without_an_end_keeps_no_watcher_awake() -> None:
    """A look ahead in which a job runs for ever ends, though an observer would look for ever."""

    class Watching(bl.Observer):
        def begin(self, view: bl.View) -> None:
            view.wake(1.0, watching=True)

        def wake(self, view: bl.View) -> None:
            view.wake(view.now + 1.0, watching=True)

    class Looking(FirstFit):
        looked = False

        def schedule(self, view: bl.View) -> None:
            super().schedule(view)
            if not self.looked:
                self.looked = True
                ahead = view.fork("easy")
                ahead.run_until()
                assert ahead.result().jobs["state"].to_list() == ["running"]

    table = {"submit_time": [0], "run_time": [3], "requested_time": [float("inf")], "tasks": [1]}
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    bl.simulate(bl.Workload.from_table(table), system, Looking(), observers=[Watching()])
