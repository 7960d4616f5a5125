"""Policies that resize jobs, on four equal hosts; targets and times by hand."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, cast

import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.policy import SIZE_ORDERS

if TYPE_CHECKING:
    from batchlab.core.vocabulary import JobType, SizeOrderName

PLATFORM = bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps", latency=0)
SYSTEM = bl.System.of(PLATFORM)
# An iteration takes 12 s on one task, 6 s on two, 4 s on three, 3 s on four.
STEP = tasks.Compute(flops=12e9, computation_pattern="all_ranks")
STEPS = bl.Application([bl.Phase([STEP], iterations="steps")])

Sizes = dict[int, list[int]]


def job(
    submit_time: float = 0.0,
    steps: int = 4,
    least: int = 1,
    most: int = 4,
    job_type: JobType = "malleable",
    **others: object,
) -> bl.JobDescription:
    """Describe a job whose estimate is what it takes on one task."""
    return bl.JobDescription(
        submit_time=submit_time,
        application=STEPS,
        arguments={"steps": steps},
        job_type=job_type,
        tasks=most if job_type == "rigid" else least,
        tasks_min=least,
        tasks_max=most,
        **{"requested_time": 12.0 * steps, "resources": {"core": 1}, **others},  # type: ignore[arg-type]  # some others
    )


def fixed(run_time: float, count: int, submit_time: float = 0.0, **others: object) -> bl.JobDescription:
    """Describe a job with a run time."""
    return bl.JobDescription(
        submit_time=submit_time,
        run_time=run_time,
        tasks=count,
        resources={"core": 1},
        **others,  # type: ignore[arg-type]  # some others
    )


def run(order: SizeOrderName, *jobs: bl.JobDescription, system: bl.System = SYSTEM) -> bl.Result:
    return bl.simulate(bl.Workload.from_jobs(jobs), system, bl.Malleable(order))


def sizes(result: bl.Result) -> Sizes:
    """Give the numbers of nodes that each job had, one after the other."""
    had: Sizes = {}
    for row, nodes in result.allocations.select("row", "nodes").sort("row", maintain_order=True).iter_rows():
        had.setdefault(row, []).append(len(nodes))
    return had


def starts(result: bl.Result) -> list[float]:
    return cast("list[float]", result.jobs["start_time"].to_list())


def ends(result: bl.Result) -> list[float]:
    return cast("list[float]", result.jobs["end_time"].to_list())


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_one_job_alone_has_the_most(order: SizeOrderName) -> None:
    """No other job is there: three of four hosts, since it can have no more."""
    result = run(order, job(most=3))
    assert sizes(result) == {0: [3]}
    assert ends(result) == [16]


def test_first_come_first_served_gives_the_rest_to_the_first() -> None:
    """Each gets one host, and the first the two that are left, which the second has at its point at 24 s."""
    result = run("fcfs", job(), job())
    assert sizes(result) == {0: [3], 1: [1, 4]}
    assert ends(result) == [16, 30]


@pytest.mark.parametrize("order", ["drf", "equipartition"])
def test_even_shares(order: SizeOrderName) -> None:
    """Three jobs have one host each, the first the fourth as well; who stays has what others leave."""
    result = run(order, job(steps=1), job(steps=1), job(steps=3))
    assert sizes(result) == {0: [2], 1: [1, 2], 2: [1, 2, 4]}
    # The third can use what it gets at 6 s and at 12 s from its point at 12 s on: two steps on four hosts.
    assert ends(result) == [6, 12, 18]


@pytest.mark.parametrize(("order", "cores"), [("drf", [4, 4]), ("equipartition", [6, 2])])
def test_dominant_share_counts_what_is_held(order: SizeOrderName, cores: list[int]) -> None:
    """Of eight cores, a job with two per task has two tasks and the other four; or three and two tasks."""
    platform = bl.Platform.crossbar(4, speed="1Gf", cores=2, bandwidth="1GBps", latency=0)
    jobs = (job(most=8, resources={"core": size}) for size in (2, 1))
    result = run(order, *jobs, system=bl.System.of(platform))
    assert result.allocations.filter(start_time=0).sort("row")["allocated_core"].to_list() == cores


@pytest.mark.parametrize("order", ["sjf", "srtf"])
def test_the_shortest_gets_all_it_can_have(order: SizeOrderName) -> None:
    """A shorter job takes three of four hosts at the first point, and leaves the longer one the least."""
    result = run(order, job(steps=8), job(4, steps=1))
    assert sizes(result) == {0: [4, 1, 4], 1: [3]}
    # On one host from 6 to 18 s; then five more steps on four.
    assert (starts(result), ends(result)) == ([0, 6], [33, 10])


@pytest.mark.parametrize("order", ["sjf", "srtf"])
def test_the_longest_waits(order: SizeOrderName) -> None:
    """Where the shortest can have the whole machine no other job gets the least."""
    result = run(order, job(steps=3), job(steps=1), job(steps=2))
    assert starts(result) == [9, 0, 3]


def test_remaining_time_counts_progress() -> None:
    """A job of 36 s comes when 24 of 96 s are left: its estimate is the shorter, but not what is left."""
    long = job(steps=8)
    expected: dict[SizeOrderName, int] = {"srtf": 24, "sjf": 21}
    for order, began in expected.items():
        assert starts(run(order, long, job(20, steps=3, least=3, requested_time=36)))[1] == began


def test_jobs_that_keep_their_size() -> None:
    """A rigid job waits for those that shrink to the point at 6 s, and has what it asks for until its end."""
    result = run("fcfs", job(steps=8), fixed(10, 2, submit_time=4))
    assert sizes(result) == {0: [4, 2, 4], 1: [2]}
    assert (starts(result)[1], ends(result)[1]) == (6, 16)


def test_moldable_jobs_are_given_their_size_once() -> None:
    """It starts on three hosts, and keeps them; the one beside it grows when it is gone."""
    result = run("fcfs", job(most=3, job_type="moldable"), job(4, steps=3))
    assert sizes(result) == {0: [3], 1: [1, 4]}


def test_nobody_runs_on_less_than_the_least() -> None:
    """A job that needs three hosts waits for one that does not shrink below two."""
    result = run("fcfs", job(least=2), job(1, least=3))
    assert sizes(result) == {0: [4], 1: [4]}
    assert starts(result) == [0, 12]


def test_requests_are_granted_where_there_is_room() -> None:
    """A job asks for three hosts at 6 s, when two are another's until 7 s, and again at 12 s."""
    asking = bl.Application([bl.Phase([STEP], iterations="steps", evolving_request="3")])
    evolving = bl.JobDescription(
        application=asking,
        arguments={"steps": 4},
        job_type="evolving",
        tasks=1,
        tasks_min=1,
        tasks_max=4,
        requested_time=48,
        resources={"core": 1},
    )
    result = run("fcfs", fixed(7, 2), evolving)
    assert sizes(result) == {0: [2], 1: [2, 3]}
    assert ends(result) == [7, 20]


def test_whole_nodes() -> None:
    """Jobs that take whole nodes of two cores share out nodes, not cores."""
    platform = bl.Platform.crossbar(4, speed="1Gf", cores=2, bandwidth="1GBps", latency=0)
    jobs = (job(resources={"core": 1}, others={"exclusive": True, "tasks_per_node": 1}) for _ in range(2))
    result = run("drf", *jobs, system=bl.System.of(platform))
    assert sizes(result) == {0: [2], 1: [2]}


IN_GROUPS = bl.System(
    (bl.NodeGroup("left", 2, {"core": 1}), bl.NodeGroup("right", 2, {"core": 1})),
    platform=PLATFORM,
    hosts=SYSTEM.hosts,
)


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_each_node_group_is_shared_out_by_itself(order: SizeOrderName) -> None:
    """A job that could have four hosts has the two of its group, and takes nothing from the other group."""
    result = run(order, job(node_group="left"), job(node_group="right"), system=IN_GROUPS)
    assert sizes(result) == {0: [2], 1: [2]}


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_a_job_counts_in_the_groups_where_it_runs(order: SizeOrderName) -> None:
    """A job that may run anywhere had to start on the right: it keeps no node of the left idle at 4 s."""
    jobs = (fixed(3, 2, node_group="left"), fixed(60, 2), job(4, least=2, most=2, node_group="left"))
    result = run(order, *jobs, system=IN_GROUPS)
    assert result.jobs["nodes"].to_list() == [[0, 1], [2, 3], [0, 1]]
    assert starts(result) == [0, 0, 4]


class Closing(bl.Malleable):
    """Closes a node at the beginning, and opens it at 5 s."""

    def schedule(self, view: bl.View) -> None:
        """Do that, then decide."""
        if view.now == 0:
            view.drain(3)
            view.wake(5)
        elif view.now >= 5 and view.is_drained(3):
            view.resume(3)
        super().schedule(view)


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_closed_nodes_are_nobodys(order: SizeOrderName) -> None:
    """A job has three of four hosts while one is closed, and the fourth at its point at 8 s."""
    result = bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, Closing(order))
    assert sizes(result) == {0: [3, 4]}
    assert ends(result) == [14]


def a_crowd(seed: int, count: int = 40, groups: tuple[str | None, ...] = (None,)) -> bl.Workload:
    """Random jobs of all types, each of one of the node groups."""
    random = Random(seed)  # noqa: S311 - no secret
    jobs, time = [], 0.0
    for _ in range(count):
        time += random.choice((0.0, random.uniform(0, 8)))
        kind: Any = random.choice(("rigid", "moldable", "malleable", "malleable", "adaptive", "fixed"))
        group = random.choice(groups)
        least = random.randint(1, 3 if groups == (None,) else 2)
        if kind == "fixed":
            jobs.append(fixed(random.uniform(1, 20), least, time, node_group=group))
        else:
            most = least if kind == "rigid" else random.randint(least, 4)
            jobs.append(job(time, random.randint(1, 5), least, most, kind, node_group=group))
    return bl.Workload.from_jobs(jobs)


class Forgetful(bl.Malleable):
    """Decides everything anew in every pass."""

    def schedule(self, view: bl.View) -> None:
        """Forget what was so, then decide."""
        self._memories.clear()
        super().schedule(view)


@pytest.mark.parametrize("order", SIZE_ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_remembered_changes_nothing(order: SizeOrderName, seed: int) -> None:
    """To do nothing where nothing has changed is to do what one would have done."""
    for crowd in (a_crowd(seed), a_crowd(seed, groups=("left", "right", "left|right", None))):
        results = [bl.simulate(crowd, IN_GROUPS, kind(order)) for kind in (bl.Malleable, Forgetful)]
        assert results[0].jobs.equals(results[1].jobs)
        assert results[0].resizes.equals(results[1].resizes)


@pytest.mark.parametrize("order", SIZE_ORDERS)
@pytest.mark.parametrize("seed", range(4))
def test_jobs_stay_in_their_node_groups(order: SizeOrderName, seed: int) -> None:
    """Jobs of all types start and grow on nodes of their groups only, and all of them run."""
    crowd = a_crowd(seed, groups=("left", "right", "left|right", None))
    result = bl.simulate(crowd, IN_GROUPS, bl.Malleable(order))
    nodes = {"left": {0, 1}, "right": {2, 3}}
    groups = result.jobs["node_group"].to_list()
    for row, held in result.allocations.select("row", "nodes").iter_rows():
        assert groups[row] not in nodes or set(held) <= nodes[groups[row]]
    assert result.jobs["state"].unique().to_list() == ["completed"]


@dataclass(frozen=True)
class Counting(bl.Malleable):
    """Counts how often targets are set."""

    times: ClassVar[list[float]] = []

    def _set_targets(self, view: bl.View, present: list[object]) -> None:  # type: ignore[override]
        self.times.append(view.now)
        super()._set_targets(view, present)  # type: ignore[arg-type]


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_nothing_is_done_where_nothing_changed(order: SizeOrderName) -> None:
    """Targets are set at the start, once more at the first point, and at the end; two points pass by."""
    Counting.times.clear()
    bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, Counting(order))
    assert Counting.times == [0, 3, 12]


def test_jobs_that_ask_for_nothing_have_the_most() -> None:
    """A job without any request does not stand in another's way."""
    result = run("fcfs", job(), job(resources={"core": 0}))
    assert starts(result) == [0, 0]


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_forks_go_on_alike(order: SizeOrderName) -> None:
    """A copy in the midst of a run, and a second run with the same object, end as the run does."""
    policy = bl.Malleable(order)
    simulation = bl.Simulation(a_crowd(7), SYSTEM, policy)
    simulation.run_until(60.0)
    fork = simulation.fork()
    again = bl.simulate(a_crowd(7), SYSTEM, policy)
    for each in (simulation, fork):
        each.run_until()
        assert each.result().jobs.equals(again.jobs)


class LooksAhead(bl.Observer):
    """Looks ahead at 7 s; there the job is put back into the queue at 8 s."""

    name = "looks_ahead"
    ahead: bl.LookAhead | None = None
    is_ahead = False

    def begin(self, view: bl.View) -> None:
        """Ask for both instants."""
        view.wake(7)
        view.wake(8)

    def wake(self, view: bl.View) -> None:
        """Look ahead, or preempt."""
        if view.now == 7:
            self.is_ahead = True
            self.ahead = view.fork()
            self.is_ahead = False
            self.ahead.run_until()
        elif self.is_ahead:
            view.preempt(view.job(0))


@pytest.mark.parametrize("order", SIZE_ORDERS)
def test_a_job_starts_again_in_a_look_ahead_on_the_tasks_that_it_asks_for(order: SizeOrderName) -> None:
    """There it is rigid: it runs on the four tasks that it has, and again on the one that it asks for."""
    observer = LooksAhead()
    bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, bl.Malleable(order), observers=[observer])
    assert observer.ahead is not None
    seen = observer.ahead.result()
    assert seen.jobs["state"].to_list() == ["completed"]
    assert seen.jobs["nodes"].list.len().to_list() == [1]


def test_copies_are_equal() -> None:
    """Copies and what comes out of a pickle decide the same way."""
    policy = bl.Malleable("srtf")
    bl.simulate(bl.Workload.from_jobs([job()]), SYSTEM, policy)
    assert copy.deepcopy(policy) == pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - our own
