"""The multifactor priority in simulations: cases by hand, specs, errors, forks and snapshots."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.errors import PolicyError, WorkloadError

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCOUNTS = (
    bl.Account("physics", users={"ann": 1, "bob": 1}, priority=5),
    bl.Account("biology", users={"cy": 1, "ann": 1}, priority=10),
)


def system(nodes: int = 1, **described: Any) -> bl.System:  # noqa: ANN401  # the parts of a system
    """Give a machine of one core per node."""
    fair_share = bl.FairShare(rule="classic", half_life=math.inf)
    parts: dict[str, Any] = {"accounts": ACCOUNTS, "fair_share": fair_share, **described}
    return bl.System((bl.NodeGroup("nodes", nodes, {"core": 1}),), **parts)


def workload(**columns: Any) -> bl.Workload:  # noqa: ANN401  # columns of any kind
    """Give jobs of one core and 10 s, all of them submitted at 0, unless the columns say otherwise."""
    count = max(len(values) for values in columns.values())
    usual: Mapping[str, list[object]] = {
        "submit_time": [0.0] * count,
        "run_time": [10.0] * count,
        "tasks": [1] * count,
    }
    return bl.Workload.from_table({**usual, **columns})


def starts(jobs: bl.Workload, policy: str, **described: Any) -> list[float]:  # noqa: ANN401  # see above
    """Give when the jobs start."""
    return bl.simulate(jobs, system(**described), policy).jobs["start_time"].to_list()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("multifactor", "multifactor"),
        ("multifactor(age=0)", "multifactor"),
        ("multifactor(fair_share=10000, age=1000.0)", "multifactor(age=1000, fair_share=10000)"),
        (
            "easy(order=multifactor(age=.5, favour=small, tres='core=5,gpu=.5', period=0))",
            'easy(order=multifactor(age=0.5, tres="core=5, gpu=0.5", favour=small, period=0))',
        ),
        ("multifactor(qos=1e3, backfill=first_fit)", "multifactor(qos=1000, backfill=first_fit)"),
        ("sbp(growth=0.25)", "sbp(growth=0.25)"),
        ("easy(order=sbp(growth=0))", "easy(order=sbp)"),
    ],
)
def test_specs(text: str, canonical: str) -> None:
    """Specs have a canonical form, which round-trips."""
    policy = bl.Policy.parse(text)
    assert str(policy) == canonical
    assert bl.Policy.parse(canonical) == policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("multifactor(age=x)", "age = x; must be a number from 0 to 2^53. At character 17"),
        ("multifactor(aeg=1)", "multifactor takes no key 'aeg'. Did you mean 'age'?"),
        ("multifactor(age=-1)", "age = -1; must be a number from 0"),
        (
            "easy(order=multifactor(favour=lage))",
            "favour = 'lage'; must be one of large, small, large_for_time, small_for_time.",
        ),
        ("multifactor(tres=3)", "tres = 3; must be quoted weights of resources"),
        ("multifactor(tres='core=x')", "tres = 'core=x'; must be quoted weights of resources"),
        ("multifactor(tres='core=1,core=2')", "each once, from 0 to 2^53"),
        ("multifactor(max_age=0)", "max_age = 0; must be a number of seconds > 0"),
        ("multifactor(3)", "this value of multifactor needs a key"),
        ("sbp(growth=often)", "growth = often; must be a number from 0"),
        ("sjf(growth=1)", "sjf takes no key 'growth'"),
    ],
)
def test_wrong_specs(text: str, message: str) -> None:
    """What is wrong is named, in one line."""
    with pytest.raises(PolicyError) as error:
        bl.Policy.parse(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("policy", "described", "columns", "message"),
    [
        (
            "multifactor(fair_share=1)",
            {"accounts": ()},
            {},
            "fair_share has a weight, and the system has no a",
        ),
        ("multifactor(qos=1)", {}, {}, "qos has a weight, and the system has no qos. Give System(qos=…)"),
        ("multifactor(partition=1)", {}, {}, "partition has a weight, and the system has no partitions."),
        ("multifactor(tres='gpu=1')", {}, {}, "tres names 'gpu'; must be a resource that nodes have."),
        (
            "multifactor(fair_share=1)",
            {},
            {"user": ["bo"]},
            "job 1: user = 'bo'; must be a user of an ",
        ),
        (
            "multifactor(fair_share=1)",
            {},
            {"user": ["cy"], "account": ["physics"]},
            "job 1: user = 'cy'; must be a user of account 'physics'.",
        ),
        (
            "multifactor(fair_share=1)",
            {},
            {"user": ["cy"], "account": ["chemistry"]},
            "job 1: account = 'chemistry'; must be an account of the system.",
        ),
        (
            "multifactor(qos=1)",
            {"qos": (bl.QualityOfService("high"),)},
            {"qos": ["hihg"]},
            "job 1: qos = 'hihg'; must be a quality of service of the system. Did you mean 'high'?",
        ),
        (
            "multifactor(age=1)",
            {},
            {"nice": ["much"]},
            "column 'nice' is of the kind String; must hold",
        ),
        (
            "multifactor(fair_share=1, period=0)",
            {"fair_share": bl.FairShare(decay="slurm")},
            {},
            "period = 0 does not go with decay = 'slurm'",
        ),
        ("sbp", {}, {}, "sbp goes by the column 'score' of the jobs; there is none."),
    ],
)
def test_what_does_not_go_together(
    policy: str, described: dict[str, Any], columns: dict[str, list[str]], message: str
) -> None:
    """A weight needs what it is of, and jobs name what there is."""
    with pytest.raises((PolicyError, WorkloadError)) as error:
        starts(workload(**({"user": [None]} | columns)), policy, **described)
    assert message in str(error.value)


def test_three_users_by_hand() -> None:
    """Each job starts when F of its user, as of the latest calculation, is the greatest.

    All shares are a third. At 10 s ann has used all there is, so bob and cy are equal, and bob comes first by
    row. At 20 s cy has used nothing, at 30 s all have used 10 s, and ann comes first by row.
    """
    accounts = (bl.Account("all", users={"ann": 1, "bob": 1, "cy": 1}),)
    jobs = workload(user=["ann", "ann", "ann", "bob", "bob", "cy"])
    assert starts(jobs, "multifactor(fair_share=1000, period=0)", accounts=accounts) == [
        0,
        30,
        50,
        10,
        40,
        20,
    ]
    assert starts(jobs, "multifactor(fair_share=1000, period=1000)", accounts=accounts) == [
        0,
        10,
        20,
        30,
        40,
        50,
    ]


def test_past_usage_counts_and_fades() -> None:
    """At 10 s ann has used 10 in this run, and bob what is left of his past use: more than that, or less."""
    accounts = (bl.Account("all", users={"ann": 1, "bob": 1}),)
    jobs = workload(user=["ann", "ann", "bob"])
    for half_life, expected in ((math.inf, [0, 10, 20]), (5.0, [0, 20, 10])):
        fair = bl.FairShare(rule="classic", half_life=half_life, usage={("all", "bob"): 20.0})
        found = starts(jobs, "multifactor(fair_share=1000, period=0)", accounts=accounts, fair_share=fair)
        assert found == expected


def test_age_begins_anew_at_a_requeue() -> None:
    """The interrupted job is older by its submission, and younger by what it has waited."""

    class Interruption(bl.Observer):
        """Interrupts the first job at 5 s."""

        def begin(self, view: Any) -> None:  # noqa: ANN401  # a view
            view.wake(5.0)

        def wake(self, view: Any) -> None:  # noqa: ANN401  # a view
            view.preempt(view.running[0])

    jobs = workload(submit_time=[0.0, 1.0])
    for policy, expected in (("fcfs", [5, 15]), ("multifactor(age=1000, max_age=100, period=1)", [15, 5])):
        result = bl.simulate(jobs, system(), policy, observers=[Interruption()])
        assert result.jobs["start_time"].to_list() == expected


def test_nice_and_scores() -> None:
    """What is nice comes later; the largest score comes first, and a score grows."""
    jobs = workload(submit_time=[0.0, 1.0, 2.0], nice=[0, 50, None], score=[0.0, 1.0, 1.5])
    # The least priority is 1, so there must be something to subtract from.
    assert starts(jobs, "multifactor(job_size=1000)") == [0, 20, 10]
    assert starts(jobs, "sbp") == [0, 20, 10]
    assert starts(jobs, "sbp(growth=1)") == [0, 10, 20]


def test_idle_years_are_not_stepped_through() -> None:
    """A calculation every millisecond for thirty years, with nothing to do, takes no time."""
    fair = bl.FairShare(decay="slurm", half_life=1e6)
    jobs = workload(submit_time=[0.0, 1e9], user=["ann", "bob"])
    result = bl.simulate(jobs, system(fair_share=fair), "multifactor(fair_share=1000, period=0.001)")
    assert result.jobs["start_time"].to_list() == [0, 1e9]


@pytest.mark.parametrize("decay", ["exact", "slurm"])
def test_forks_and_snapshots(decay: Any) -> None:  # noqa: ANN401  # a name of a decay
    """Usage and ages are the fork's and the snapshot's own, and go on as in the run."""
    count = 40
    jobs = workload(
        submit_time=[float(at) for at in range(count)],
        run_time=[5.0 + at % 7 for at in range(count)],
        user=["ann" if at % 3 else "cy" for at in range(count)],
    )
    machine = system(2, fair_share=bl.FairShare(decay=decay, half_life=50.0))
    policy = "easy(order=multifactor(age=500, fair_share=1000, max_age=100, period=3))"
    whole = bl.simulate(jobs, machine, policy).jobs["start_time"].to_list()
    assert whole != bl.simulate(jobs, machine, "easy").jobs["start_time"].to_list()
    simulation = bl.Simulation(jobs, machine, policy)
    simulation.run_until(30.0)
    fork, data = simulation.fork(), simulation.snapshot()
    restored = bl.Simulation.restore(data, jobs, machine, policy)
    for each in (fork, simulation, restored):
        each.run_until(math.inf)
        assert each.result().jobs["start_time"].to_list() == whole
