"""Jobs that may use the nodes of some groups only, by hand."""

from dataclasses import replace

import polars as pl
import pytest

import batchlab as bl
from batchlab import tasks
from support.schedule_cases import ALLOCATORS
from support.scripted_runs import Script

SYSTEM = bl.System(
    (
        bl.NodeGroup("cpu", 2, {"core": 4}),
        bl.NodeGroup("gpu", 1, {"core": 4, "gpu": 2}),
        bl.NodeGroup("fat", 1, {"core": 8}),
    )
)
RULES = ("none", "first_fit", "easy", "easy(reservations=2)", "conservative")


def workload(*jobs: tuple[float, float, int, str | None]) -> bl.Workload:
    """Give jobs: submit time, run time, tasks of one core, groups."""
    submit, run_time, count, groups = zip(*jobs, strict=True)
    columns = {"submit_time": submit, "run_time": run_time, "tasks": count, "core": [1] * len(jobs)}
    return bl.Workload.from_table({**columns, "node_group": pl.Series(groups, dtype=pl.String)})


def nodes(result: bl.Result) -> list[list[int]]:
    """Give the nodes of each job."""
    return result.jobs["nodes"].to_list()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_a_job_stays_in_its_groups(rule: str, allocator: str) -> None:
    """Two groups that are not neighbours are one set, in which a job of 9 tasks needs two nodes or more."""
    jobs = workload((0, 5, 4, "gpu"), (0, 5, 9, "cpu|fat"), (0, 5, 1, None), (0, 5, 9, "cpu"))
    policy = rule.replace("reservations=2", f"reservations=2, allocator={allocator}")
    if policy == rule:
        policy = f"{rule}(allocator={allocator})" if rule != "none" else f"fcfs(allocator={allocator})"
    result = bl.simulate(jobs, SYSTEM, policy)
    assert result.jobs["node_group"].to_list() == ["gpu", "cpu|fat", None, "cpu"]
    assert nodes(result)[0] == [2]
    assert result.jobs["state"].to_list()[3] == "rejected"
    if allocator == "contiguous":
        # Nodes 0 and 1 are no neighbours of node 3, and hold 8 cores.
        assert result.jobs["state"].to_list()[1] == "rejected"
    else:
        assert set(nodes(result)[1]) <= {0, 1, 3}


@pytest.mark.parametrize("rule", RULES[1:])
def test_a_full_group_holds_up_nobody_elsewhere(rule: str) -> None:
    """A head that waits for one node leaves the others to those that follow, however long they run."""
    jobs = workload((0, 10, 4, "gpu"), (1, 10, 4, "gpu"), (2, 99, 16, "cpu|fat"), (3, 99, 1, "gpu"))
    result = bl.simulate(jobs, SYSTEM, rule)
    assert result.jobs["start_time"].to_list() == [0, 10, 2, 20]


def test_unknown_groups() -> None:
    """The first job that names one is shown, with its value and the nearest name."""
    jobs = workload((0, 5, 1, "cpu"), (0, 5, 1, "cpu|gpuu"), (0, 5, 1, "no"))
    rule = r"^job 2: node_group = 'cpu\|gpuu'; must name node groups of the system, but 'gpuu' is none\. "
    with pytest.raises(bl.WorkloadError, match=rule + r"Did you mean 'gpu'\? Known: cpu, fat, gpu\.$"):
        bl.simulate(jobs, SYSTEM, "easy")
    rule = r"^job 1: node_group = 'no'; must name node groups of the system\. Known: cpu, fat, gpu\.$"
    with pytest.raises(bl.WorkloadError, match=rule):
        bl.simulate(workload((0, 5, 1, "no")), SYSTEM, "easy")


def test_what_policies_see() -> None:
    """A job shows its groups, and no other node has slots for it."""
    seen: list[object] = []

    def look(view: bl.View) -> None:
        bound, free = view.job(0), view.job(1)
        seen.append((bound.node_group, bound["node_group"], free.node_group, view.queue.node_group.tolist()))
        seen.append([[view.slots(job, node) for node in range(4)] for job in (bound, free)])
        seen.append(view.max_additional_tasks(bound, 99))
        seen.append(view.available.tolist())
        view.drain(2)
        seen.append((view.slots(bound, 2), view.available[2].tolist()))

    bl.simulate(workload((0, 5, 1, "gpu|fat"), (0, 5, 1, None)), SYSTEM, Script({0.0: [look]}))
    assert seen == [
        ("gpu|fat", "gpu|fat", None, ["gpu|fat", None]),
        [[0, 0, 4, 8], [4, 4, 4, 8]],
        12,
        [[4, 0], [4, 0], [4, 2], [8, 0]],
        (0, [0, 0]),
    ]


def test_a_workload_without_groups() -> None:
    """Its jobs show none, and have no such column."""
    seen: list[object] = []

    def look(view: bl.View) -> None:
        seen.append(view.job(0).node_group)
        with pytest.raises(KeyError, match="the workload has no column 'node_group'"):
            view.job(0)["node_group"]

    plain = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]})
    bl.simulate(plain, SYSTEM, Script({0.0: [look]}))
    assert seen == [None]


def test_given_nodes_are_those_of_the_groups() -> None:
    """A job is not started elsewhere, whatever is free there."""

    def start(view: bl.View) -> None:
        with pytest.raises(bl.DecisionError, match="node 1 is in none of the node groups that it may use"):
            view.start(view.job(0), nodes=[1])
        view.start(view.job(0), nodes=[2])

    result = bl.simulate(workload((0, 5, 1, "gpu|fat")), SYSTEM, Script({0.0: [start]}))
    assert nodes(result) == [[2]]


class Everywhere(bl.Allocator):
    """Notes the slots that it is shown, and puts every task on node 0."""

    def __init__(self) -> None:
        self.slots: list[list[int]] = []

    def allocate(self, job: bl.Job, view: bl.View) -> dict[int, int] | None:
        """Ignore the slots."""
        self.slots.append([view.slots(job, node) for node in range(4)])
        return {0: job.tasks}


@pytest.mark.parametrize("rule", RULES)
def test_allocators_in_python_answer_with_nodes_of_the_groups(rule: str) -> None:
    """They see no slots on other nodes, and an answer with one of these is an error."""
    policy = bl.Policy.parse(rule)
    everywhere = Everywhere()
    with pytest.raises(bl.DecisionError, match="node 0 is in none of the node groups that it may use"):
        bl.simulate(workload((0, 5, 1, "gpu|fat")), SYSTEM, replace(policy, allocator=everywhere))
    assert everywhere.slots == [[0, 0, 4, 8]]


def test_applications_stay_in_their_groups() -> None:
    """A job that runs an application starts in its group, grows there only, and is not given other nodes."""
    platform = bl.Platform.crossbar(4, speed="1Gf", bandwidth="1GBps", latency=0)
    groups = (bl.NodeGroup("left", 2, {"core": 1}), bl.NodeGroup("right", 2, {"core": 1}))
    system = bl.System(groups, platform=platform, hosts=tuple(host.name for host in platform.nodes))
    step = tasks.Compute(flops=1e9, computation_pattern="uniform")
    work = bl.Application([bl.Phase([step], iterations=4)])
    job = bl.JobDescription(
        application=work,
        job_type="malleable",
        tasks=1,
        tasks_max=4,
        node_group="right",
        resources={"core": 1},
    )

    def start(view: bl.View) -> None:
        view.start(view.job(0))

    def grow(view: bl.View) -> None:
        assert view.max_additional_tasks(view.job(0), 9) == 1
        with pytest.raises(bl.DecisionError, match="node 0 is in none of the node groups that it may use"):
            view.resize(view.job(0), nodes=[2, 0])
        view.resize(view.job(0), nodes=[2, 3])

    result = bl.simulate(bl.Workload.from_jobs([job]), system, Script({0.0: [start], 1.0: [grow]}))
    assert result.allocations["nodes"].to_list() == [[2], [2, 3]]
