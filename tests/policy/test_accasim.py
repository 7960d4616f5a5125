"""AccaSim's EBF: one reserved time, which restrains no other job; by hand."""

import copy
import pickle
from collections.abc import Sequence

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import PolicyError
from batchlab.policy import AccasimEasy

SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 2})


def starts(policy: object, **columns: Sequence[float]) -> list[float]:
    """Give when jobs start; a job asks for its run time unless another time is given."""
    jobs = {"requested_time": columns["run_time"]} | columns
    workload = bl.Workload.from_table(jobs, overrun="keep")
    return bl.simulate(workload, SYSTEM, policy).jobs["start_time"].to_list()  # type: ignore[arg-type]


def test_the_reservation_restrains_no_other_job() -> None:
    """Job 2 needs all cores at 10; job 3 starts before it, and delays it beyond its reserved time."""
    jobs = {"submit_time": [0, 1, 2], "run_time": [10, 5, 50], "tasks": [3, 4, 1]}
    assert starts("easy_accasim", **jobs) == [0.0, 52.0, 2.0]
    assert starts("easy", **jobs) == [0.0, 10.0, 15.0]


def test_a_blocked_job_is_not_tried_before_its_reserved_time() -> None:
    """Job 1 ends at 4 instead of 10: the machine is empty, and job 2 waits for an event at 10 or later."""
    jobs = {
        "submit_time": [0, 1, 12],
        "run_time": [4, 5, 1],
        "requested_time": [10, 5, 1],
        "tasks": [4, 4, 1],
    }
    assert starts("easy_accasim", **jobs) == [0.0, 12.0, 17.0]


def test_once_due_it_is_tried_first_at_each_event() -> None:
    """The blocked job is due at 10 and does not fit at 20, 30 and 32; job 4 starts before it at 30."""
    jobs = {"submit_time": [0, 1, 2, 30], "run_time": [20, 5, 30, 9], "tasks": [3, 4, 1, 1]}
    jobs["requested_time"] = [10, 5, 30, 9]
    assert starts("easy_accasim", **jobs) == [0.0, 39.0, 2.0, 30.0]


def test_its_spec_and_copies() -> None:
    """The spec parses back; copies and later runs begin anew; it takes an allocator and no order."""
    policy = bl.Policy.parse("easy_accasim(allocator=best_fit(by=free))")
    assert str(policy) == "easy_accasim(allocator=best_fit(by=free))"
    assert bl.Policy.parse(str(policy)) == policy
    assert pickle.loads(pickle.dumps(policy)) == policy  # noqa: S301 - our own bytes
    assert copy.deepcopy(policy) == policy
    with pytest.raises(PolicyError, match="easy_accasim takes no key 'order'"):
        bl.Policy.parse("easy_accasim(order=sjf)")
    jobs = {"submit_time": [0, 1, 2], "run_time": [10, 5, 50], "tasks": [3, 4, 1]}
    scheduler = AccasimEasy()
    assert starts(scheduler, **jobs) == starts(scheduler, **jobs)


def test_exclusive_jobs_and_events() -> None:
    """Whole nodes count when their jobs end; a blocked job that is cancelled blocks no more."""
    table = pl.DataFrame(
        {
            "submit_time": [0, 1, 2],
            "run_time": [10, 5, 5],
            "requested_time": [10, 5, 5],
            "tasks": [2, 2, 2],
            "tasks_per_node": [1, 1, 1],
            "exclusive": [True, True, False],
        }
    )
    workload = bl.Workload.from_table(table)
    events = bl.EventStream([{"time": 3, "event": "cancel", "job_id": 2}])
    result = bl.simulate(workload, SYSTEM, "easy_accasim", events=events)
    assert result.jobs["start_time"].to_list() == [0.0, None, 10.0]
