"""From columns to workloads and back; what is simulated waits as the recursion says."""

import numpy as np
import pytest

import batchlab as bl
from batchlab import queueing


def test_there_and_back() -> None:
    """The columns come back as they were."""
    columns = ([0.0, 1.5, 1.5], [4.0, 0.25, 9.0], [3, 1, 2])
    workload = queueing.to_workload(*columns)
    assert isinstance(workload, bl.Workload)
    for found, given in zip(queueing.from_workload(workload), columns, strict=True):
        assert found.tolist() == given


def test_one_number_of_servers() -> None:
    """A number in place of the column of servers."""
    assert queueing.to_workload([0, 1], [2, 3], 4).jobs["tasks"].to_list() == [4, 4]


def test_servers_are_tasks_times_their_amounts() -> None:
    """Cores, or another resource, or the tasks themselves."""
    table = {"submit_time": [0, 5], "run_time": [9, 9], "tasks": [2, 3], "core": [4, 1], "gpu": [0, 2]}
    workload = bl.Workload.from_table(table)
    assert queueing.from_workload(workload).servers.tolist() == [8, 3]
    assert queueing.from_workload(workload, resource="gpu").servers.tolist() == [0, 6]
    assert queueing.from_workload(workload, resource="task").servers.tolist() == [2, 3]


def test_simulations_wait_as_the_recursion_says() -> None:
    """A workload of random columns under fcfs on c nodes of one core; waits equal to the bit."""
    random = np.random.default_rng(8)
    columns = (np.cumsum(random.integers(0, 9, 500)), random.integers(1, 60, 500), random.integers(1, 9, 500))
    workload = queueing.to_workload(*columns)
    result = bl.simulate(workload, bl.System.homogeneous(nodes=8, resources={"core": 1}), "fcfs")
    waits = (result.jobs["start_time"] - result.jobs["submit_time"]).to_numpy()
    assert np.array_equal(queueing.delays(*columns, c=8), waits)
    assert np.array_equal(queueing.delays(*queueing.from_workload(workload), c=8), waits)


def test_what_is_refused() -> None:
    """Columns of different lengths, jobs that are none, resources that are not there."""
    with pytest.raises(bl.QueueingError, match="arrival has 2 rows, service 1, servers 1"):
        queueing.to_workload([0, 1], [1], [1])
    with pytest.raises(bl.WorkloadError, match="tasks"):
        queueing.to_workload([0, 1], [1, 1], [0, 1])
    workload = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]})
    with pytest.raises(bl.QueueingError, match=r"resource: the workload has no 'core'\..*Known: task"):
        queueing.from_workload(workload)
