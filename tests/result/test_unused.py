"""What the parts of a run do not use of each other is told in its warnings, and nothing else is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import batchlab as bl
from batchlab.application import tasks
from batchlab.errors import nearest
from batchlab.result.unused_by_policy import unused_by_policy
from batchlab.system import (
    Account,
    Conditions,
    FairShare,
    Limit,
    Partition,
    Preemption,
    QualityOfService,
    Reservation,
)

JOBS: dict[str, list[Any]] = {"submit_time": [0, 1], "run_time": [5, 5], "tasks": [1, 1]}
TWO = (Partition("low", tier=1), Partition("high", tier=2))
SEVERAL = "columns qos, reservation and account {}: the system has no qos, reservations or accounts"
ALICE = (Account("physics", users={"alice": 1}),)


def warnings(
    columns: dict[str, list[Any]] | None = None,
    policy: str = "fcfs",
    *,
    system: dict[str, Any] | None = None,
    **options: Any,  # noqa: ANN401  # of simulate
) -> tuple[str, ...]:
    workload = bl.Workload.from_table(JOBS | (columns or {}))
    machine = bl.System.homogeneous(nodes=4, resources={"core": 1}, **(system or {}))
    return bl.simulate(workload, machine, policy, **options).warnings


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"requested_tme": [9, 9]}, "column requested_tme {}. Did you mean 'requested_time'?"),
        ({"request_time": [9, 9]}, "column request_time {}. Did you mean 'requested_time'?"),
        ({"cores": [1, 1]}, "column cores {}. Did you mean 'core'?"),
        ({"partition": ["a", None]}, "column partition {}: the system has no partitions"),
        ({"queue": [None, "batch"]}, "column queue {}: the system has no queues"),
        ({"qos": ["a", "a"], "reservation": ["c", None], "account": ["d", "d"]}, SEVERAL),
    ],
)
def test_columns(columns: dict[str, list[Any]], said: str) -> None:
    """Near misses of names, and names of what the system does not have."""
    rule = "of the jobs are not used" if len(columns) > 1 else "of the jobs is not used"
    assert warnings(columns) == (f"the {said.format(rule)}",)


@pytest.mark.parametrize("name", ["status", "start_time", "energy", "user_id", "note", "job_name"])
def test_columns_that_ride_along(name: str) -> None:
    """Columns of one's own, and of logs, are no warning; nor is a column without values."""
    values = ["x", "y"] if name in {"status", "note", "job_name"} else [1, 2]
    assert not warnings({name: values})
    assert not warnings({"partition": [None, ""], "qos": [None, None]})


def test_limits_per_user() -> None:
    """Without users all jobs count together."""
    limits = (Limit("each", per=("user",), running_jobs=1),)
    said = "limit 'each' is per user, and no job has a user: all jobs count together"
    assert warnings(system={"limits": limits}) == (said,)
    for column in ({"user": ["a", "b"]}, {"user_id": [1, 2]}):
        assert not warnings(column, system={"limits": limits})


def test_unknown_accounts() -> None:
    """An account that nothing looks at may be misspelt."""
    found = warnings({"account": ["physics", "phsyics"]}, system={"accounts": ALICE})
    assert found == ("jobs name account phsyics, unknown to the system. Did you mean 'physics'?",)
    assert not warnings({"account": ["physics", None]}, system={"accounts": ALICE})


@pytest.mark.parametrize("policy", ["conservative", "server_filling", "malleable", "equipartition"])
def test_policies_that_do_not_preempt(policy: str) -> None:
    """Conservative backfilling, the disciplines, and the schedulers of malleable jobs."""
    preemption = {"partitions": TWO, "preemption": Preemption(by="tier")}
    columns = {"partition": ["low", "high"]}
    assert f"preemption of the system is not used: {policy} preempts no job" in warnings(
        columns, policy, system=preemption
    )
    for other in ("fcfs", "easy", "easy(reservations=2)", "fcfs(backfill=first_fit)"):
        assert not warnings(columns, other, system=preemption)


def test_blocking_limits() -> None:
    """`conservative` lets jobs pass."""
    limits = (Limit("all", running_jobs=1, blocks=True),)
    said = "blocks of limit all is not used: under conservative jobs pass one that waits for a limit"
    assert warnings(policy="conservative", system={"limits": limits}) == (said,)
    assert not warnings(policy="easy", system={"limits": limits})


def test_what_only_some_policies_go_by() -> None:
    """Slurm's times beyond limits, factors of partitions, and usage."""
    parts = (Partition("a", over_time_limit=60, priority_factor=2), Partition("b"))
    assert warnings({"partition": ["a", "b"]}, "easy", system={"partitions": parts}) == (
        "over_time_limit of partition a is not used: only the policy slurm goes by it",
        "priority_factor of partitions is not used: easy does not order by multifactor",
    )
    shares = {"accounts": ALICE, "fair_share": FairShare()}
    columns = {"user": ["alice", "alice"]}
    said = "fair_share of the system is not used: fcfs does not go by usage, which is not recorded either"
    assert warnings(columns, system=shares) == (said,)
    assert not warnings(columns, system=shares, usage=True)
    assert not warnings(columns, "multifactor(fair_share=1)", system=shares)
    # Slurm's files say it anyway: without accounts nobody expects that it matters.
    machine = bl.System.homogeneous(nodes=4, resources={"core": 1}, fair_share=FairShare())
    of_slurm = replace(machine, policy="slurm")
    assert bl.simulate(bl.Workload.from_table(JOBS), machine, "fcfs").warnings
    assert not bl.simulate(bl.Workload.from_table(JOBS), of_slurm, "fcfs").warnings
    same = "fair share of multifactor(fair_share=1) is the same for all jobs: no job has a user or an account"
    assert warnings(None, "multifactor(fair_share=1)", system=shares) == (same,)


def test_jobs_that_could_change_their_size() -> None:
    """EASY runs them as they are submitted; without an application no policy changes their sizes."""
    columns: dict[str, list[Any]] = {
        "job_type": ["malleable", "rigid"],
        "tasks_min": [1, 1],
        "tasks_max": [4, 1],
    }
    said = "the columns tasks_max and job_type of the jobs are not used: no job runs an application"
    assert warnings(columns, "easy") == warnings(columns, "malleable") == (said,)
    application = bl.Application([bl.Phase([tasks.Delay(5)])])
    workload = bl.Workload.from_jobs(
        [
            bl.JobDescription(
                submit_time=0,
                requested_time=9,
                application=application,
                job_type="malleable",
                tasks_min=1,
                tasks_max=4,
            )
        ]
    )
    system = bl.System.of(bl.Platform.torus((4,), bandwidth="1GBps"))
    found = bl.simulate(workload, system, "easy", task_times=True).warnings
    assert found[0].startswith("1 malleable jobs run on the tasks that they ask for under easy;")
    assert not bl.simulate(workload, system, "malleable").warnings


def test_options() -> None:
    """What needs a platform, an application, a control or a system's sleep states, without one."""
    found = warnings(
        sensing=bl.Sensing(1.0), reference_rate=0.5, sharing="bottleneck_max_min", task_times=True
    )
    assert found[0].startswith("sensing is not used: the system has no platform")
    assert found[1].startswith("sharing is not used: the system has no platform")
    assert found[2].endswith("all nodes serve at rate 1, so that jobs take 0.5 times their run_time")
    assert found[3] == "task_times is not used: no job runs an application"
    off = {"sleep_states": (bl.SleepState("off", wake_time=1),)}
    said = "sleep_states of node group nodes is not used: nodes sleep only with the option sleep"
    assert warnings(system=off) == (said,)
    assert not warnings(system=off, sleep="timeout(60)")


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("rank_order", {"rank_order": ["natural", None]}),
        ("arguments", {"arguments": [None, "steps=3"]}),
        ("app_args", {"app_args": ["size=3", None]}),
        ("application", {"application": ["training", None]}),
    ],
)
def test_columns_of_applications(name: str, columns: dict[str, list[Any]]) -> None:
    """They are for jobs that run applications."""
    assert warnings(columns) == (f"the column {name} of the jobs is not used: no job runs an application",)
    assert not warnings({name: [None, ""]})


LOW = Partition("low")
NAMED = Conditions(users=("alice",))


@pytest.mark.parametrize(
    ("policy", "system", "said", "column"),
    [
        (
            "fcfs",
            {"limits": (Limit("few", applies_to=NAMED, running_jobs=1),)},
            "limit 'few' applies by user, and no job has a user: it applies to no job",
            "user",
        ),
        (
            "fcfs",
            {"reservations": (Reservation("alice", start=0, duration=9, nodes="0", admits=Conditions()),)},
            "reservation 'alice' admits jobs that name it, and no job does: its nodes stay free of jobs",
            "reservation",
        ),
        (
            "fcfs",
            {"partitions": (LOW, Partition("alice"))},
            "no job names a partition: all run in 'low', the first partition of the system",
            "partition",
        ),
        (
            "multifactor(qos=1)",
            {"qos": (QualityOfService("alice", priority=1),)},
            "qos of multifactor(qos=1) is the same for all jobs: no job has a qos",
            "qos",
        ),
        (
            "easy",
            {
                "qos": (QualityOfService("alice", preempts=("low",)), QualityOfService("low")),
                "preemption": Preemption(by="qos"),
            },
            "preemption of the system is not used: it goes by qos, and no job has a qos",
            "qos",
        ),
        ("slurm(bf_max_job_user=1)", {}, "bf_max_job_user of slurm is not used: no job has a user", "user"),
    ],
)
def test_rules_that_go_by_names(policy: str, system: dict[str, Any], said: str, column: str) -> None:
    """Told if no job has such a name, and not if one has."""
    assert warnings(None, policy, system=system) == (said,)
    assert not warnings({column: ["alice", None]}, policy, system=system)


def test_predictors_that_go_by_users() -> None:
    """A log in which the users are unknown (-1) has one user for them."""
    said = "predictor last_two goes by user, and no job has a user: all jobs count together"
    assert warnings({"user_id": [-1, -1]}, "easy(predictor=last_two)") == (said,)
    assert not warnings({"user_id": [1, 2]}, "easy(predictor=last_two)")


def test_events() -> None:
    """Keys that nothing reads, and times before the workload begins."""
    events = [
        {"time": -5, "event": "drain", "nodes": "3"},
        {"time": 2, "event": "down", "nodes": "2", "job": "kill"},
    ]
    assert warnings(events=events) == (
        "the key job of external events is not used. Did you mean 'jobs'?",
        "1 external event has a time before 0, the origin of the workload's times",
    )
    assert not warnings(events=[{"time": 2, "event": "down", "nodes": "2", "jobs": "kill"}])


def test_nothing_is_said_of_what_is_used() -> None:
    """A system of which all is used, under the policy that uses it."""
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    assert not [*unused_by_policy(system, bl.Policy.parse("conservative"), bl.RunOptions())]
    assert not warnings({"partition": ["low", "high"]}, system={"partitions": TWO})


def test_nearest() -> None:
    """One function finds the name that is meant, whatever the case of letters."""
    assert nearest("ESAY", ["easy", "fcfs"]) == "easy"
    assert nearest("x" * 100_000, ["easy"]) is None
    assert nearest("cores", ["core"], 0.95) is None
