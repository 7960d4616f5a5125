"""Preemption (S16): who falls for whom, when, and what becomes of the victims."""

from typing import Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import OrderAtInstant, PreemptionGround, PreemptionMode
from batchlab.errors import SystemDescriptionError, WorkloadError

SPARE_AND_URGENT = (bl.Partition("spare"), bl.Partition("urgent", tier=2))


def machine(nodes: int = 10, **given: Any) -> bl.System:  # noqa: ANN401 - what a system takes
    """Give nodes of one core, and two partitions of all of them."""
    given.setdefault("partitions", SPARE_AND_URGENT)
    groups = (bl.NodeGroup("nodes", nodes, {"core": 1}),)
    return bl.System(groups, **given)


def workload(*rows: tuple[float, float, int, str], column: str = "partition") -> bl.Workload:
    """Make jobs of a submit_time, run_time, tasks and what stands in a column."""
    submit, run, tasks, names = zip(*rows, strict=True)
    columns = {"submit_time": submit, "run_time": run, "tasks": tasks, column: names}
    return bl.Workload.from_table(columns)


def times(result: bl.Result) -> list[tuple[str, float, float]]:
    """List state, start and end."""
    return result.jobs.select("state", "start_time", "end_time").rows()


@pytest.mark.parametrize("policy", ["none", "first_fit", "easy", "easy(reservations=2)"])
@pytest.mark.parametrize(
    ("mode", "victim", "saved"),
    [
        ("requeue", ("completed", 15, 35), [0]),
        ("suspend", ("completed", 15, 25), [10]),
        ("cancel", ("killed", 0, 10), []),
    ],
)
def test_modes(
    policy: str, mode: PreemptionMode, victim: tuple[str, float, float], saved: list[float]
) -> None:
    """A victim runs again from its start, goes on where it was, or is killed; the other starts at once."""
    system = machine(4, preemption=bl.Preemption(mode=mode))
    jobs = workload((0, 20, 4, "spare"), (10, 5, 3, "urgent"))
    result = bl.simulate(
        jobs, system, bl.Policy.parse(policy if "(" in policy else f"fcfs(backfill={policy})")
    )
    assert times(result) == [victim, ("completed", 10, 15)]
    assert result.interruptions["saved"].to_list() == saved


@pytest.mark.parametrize("policy", ["fcfs(backfill=none)", "easy", "easy(reservations=2)"])
@pytest.mark.parametrize("by", ["tier", "qos"])
@pytest.mark.parametrize(("mode", "end"), [("requeue", 70), ("suspend", 60)])
def test_victims_are_not_overtaken(
    policy: str, by: PreemptionGround, mode: PreemptionMode, end: float
) -> None:
    """The job behind the victim takes no node in the pass that preempts it.

    By quality of service the victim has its place before the job for which it falls.
    """
    qos = (bl.QualityOfService("urgent", preempts=("spare",)), bl.QualityOfService("spare"))
    column = "partition" if by == "tier" else "qos"
    system = machine(3, qos=qos, preemption=bl.Preemption(by=by, mode=mode))
    jobs = workload((0, 40, 3, "spare"), (10, 20, 2, "urgent"), (10, 90, 1, "spare"), column=column)
    result = bl.simulate(jobs, system, bl.Policy.parse(policy))
    assert times(result) == [("completed", 30, end), ("completed", 10, 30), ("completed", end, end + 90)]


def test_what_a_cancelled_job_lets_in_is_seen_by_the_pass() -> None:
    """A job that waits for the end of a victim takes the nodes that are left at once."""
    system = machine(4, preemption=bl.Preemption(mode="cancel"))
    columns = workload((0, 40, 4, "spare"), (0, 5, 1, "spare"), (1, 30, 1, "spare"), (10, 20, 3, "urgent"))
    jobs = columns.jobs.with_columns(dependency=pl.Series(["", "afterany:1", "", ""]))
    result = bl.simulate(bl.Workload.from_table(jobs), system, "fcfs(backfill=none)")
    assert result.jobs["start_time"].to_list() == [0, 10, 15, 10]


@pytest.mark.parametrize(("column", "usual"), [([False, None], True), ([None, None], False)])
def test_jobs_that_may_not_be_requeued(column: list[bool | None], *, usual: bool) -> None:
    """They are killed where they would be, whether they say so or the system does; others run again."""
    jobs = workload((0, 20, 4, "spare"), (10, 5, 3, "urgent"))
    given = bl.Workload.from_table(jobs.jobs.with_columns(pl.Series("requeue", column, pl.Boolean)))
    for grace_time in (0, 1):
        rules = bl.Preemption(mode="requeue", grace_time=grace_time)
        system = machine(4, preemption=rules, requeue=usual)
        result = bl.simulate(given, system, "fcfs(backfill=none)")
        end = 10.0 + grace_time
        assert times(result) == [("killed", 0, end), ("completed", end, end + 5)]
    says_so = bl.Workload.from_table(jobs.jobs.with_columns(requeue=pl.lit(value=True)))
    system = machine(4, preemption=bl.Preemption(), requeue=False)
    assert times(bl.simulate(says_so, system, "fcfs(backfill=none)"))[0][0] == "completed"
    wrong = bl.Workload.from_table(jobs.jobs.with_columns(requeue=pl.lit("no")))
    with pytest.raises(WorkloadError, match="'requeue' is of the kind String; must be true or false"):
        bl.simulate(wrong, system, "fcfs")


def test_conservative_takes_free_nodes_only() -> None:
    """Under conservative backfilling nothing falls."""
    jobs = workload((0, 20, 4, "spare"), (10, 5, 3, "urgent"))
    result = bl.simulate(jobs, machine(4, preemption=bl.Preemption()), "conservative")
    assert times(result)[1] == ("completed", 20, 25)


@pytest.mark.parametrize(
    ("wanted", "youngest_first", "fallen"),
    [
        (1, False, [0]),
        (2, False, [1]),
        (5, False, [2]),
        (7, False, [0, 2]),
        (10, False, [0, 1, 2]),
        (1, True, [1]),
        (4, True, [0, 1]),
        (7, True, [1, 2]),
    ],
)
def test_victims(wanted: int, *, youngest_first: bool, fallen: list[int]) -> None:
    """One node, three and six are in use: the last needed goes first, then as few as are needed."""
    system = machine(10, preemption=bl.Preemption(youngest_first=youngest_first))
    running = [(1, 50, 1, "spare"), (2, 50, 3, "spare"), (0, 50, 6, "spare")]
    result = bl.simulate(workload(*running, (10, 5, wanted, "urgent")), system, "fcfs(backfill=none)")
    assert result.jobs["start_time"][3] == 10
    assert sorted(result.interruptions["row"].to_list()) == fallen


@pytest.mark.parametrize(("exempt_time", "start"), [(5, 10), (10, 10), (15, 15), (30, 20)])
def test_exempt_time(exempt_time: float, start: float) -> None:
    """A job falls once it has run for so long, also where nothing else happens then."""
    system = machine(4, preemption=bl.Preemption(exempt_time=exempt_time))
    jobs = workload((0, 20, 4, "spare"), (10, 5, 3, "urgent"))
    assert times(bl.simulate(jobs, system, "easy"))[1] == ("completed", start, start + 5)


@pytest.mark.parametrize("policy", ["none", "first_fit", "easy", "easy(reservations=2)"])
@pytest.mark.parametrize("order_at_instant", ["completions_first", "arrivals_first"])
@pytest.mark.parametrize(
    ("mode", "grace_time", "expected"),
    [
        ("requeue", 4, [("completed", 19, 39), ("completed", 14, 19)]),
        ("cancel", 4, [("killed", 0, 14), ("completed", 14, 19)]),
        # It ends by itself, before the grace time or with it.
        ("cancel", 15, [("completed", 0, 20), ("completed", 20, 25)]),
        ("requeue", 10, [("completed", 0, 20), ("completed", 20, 25)]),
    ],
)
def test_grace_time(
    policy: str,
    order_at_instant: OrderAtInstant,
    mode: PreemptionMode,
    grace_time: float,
    expected: list[tuple[str, float, float]],
) -> None:
    """A victim runs on for its grace time, and the other starts when that is over."""
    system = machine(4, preemption=bl.Preemption(mode=mode, grace_time=grace_time))
    jobs = workload((0, 20, 4, "spare"), (10, 5, 3, "urgent"))
    rule = bl.Policy.parse(policy if "(" in policy else f"fcfs(backfill={policy})")
    result = bl.simulate(jobs, system, rule, order_at_instant=order_at_instant)
    assert times(result) == expected


def test_victims_in_their_grace_time() -> None:
    """A job takes no second victim while one runs on, and another job takes another one."""
    system = machine(4, preemption=bl.Preemption(grace_time=10))
    running = [(0, 50, 2, "spare"), (1, 50, 2, "spare")]
    jobs = workload(*running, (5, 5, 2, "urgent"), (6, 5, 2, "urgent"), (7, 5, 2, "urgent"))
    simulation = bl.Simulation(jobs, system, "fcfs(backfill=first_fit)")
    simulation.run_until(12)
    copies = [
        simulation.fork(),
        bl.Simulation.restore(simulation.snapshot(), jobs, system, simulation.policy),
    ]
    for each in (simulation, *copies):
        each.run_until(1000)
        result = each.result()
        # The youngest of equal size falls first; the third finds no candidate left.
        assert result.interruptions.select("row", "end_time").rows() == [(1, 15), (0, 16)]
        assert result.jobs["start_time"].to_list()[2:] == [15, 16, 20]


def test_victims_wait_for_the_job_for_which_they_fell() -> None:
    """The first victim does not take its node again while the second one runs on."""
    qos = (bl.QualityOfService("high", preempts=("low",)), bl.QualityOfService("low"))
    system = machine(2, qos=qos, partitions=(), preemption=bl.Preemption(by="qos", grace_time=4))
    rows = [(0, 50, 1, "low"), (0, 6, 1, "high"), (5, 5, 2, "high"), (5.5, 50, 1, "low")]
    result = bl.simulate(workload(*rows, column="qos"), system, "fcfs(backfill=first_fit)", explain=True)
    # At 6 the third job takes a free node and that of the first; the fourth is backfilled on the free one.
    assert result.interruptions.select("row", "end_time").rows() == [(0, 10), (3, 14)]
    assert result.jobs["start_time"].to_list() == [19, 0, 14, 19]
    assert result.gates.filter(row=0)["gate"].to_list() == ["promised", "resources"]


def test_shadow_time_is_the_end_of_the_grace_time() -> None:
    """A job behind the head is backfilled only if it ends by the end of the grace time."""
    system = machine(4, preemption=bl.Preemption(grace_time=10))
    jobs = workload((0, 90, 3, "spare"), (5, 5, 4, "urgent"), (6, 9, 1, "spare"), (6, 10, 1, "spare"))
    assert bl.simulate(jobs, system, "easy").jobs["start_time"].to_list()[1:] == [15, 6, 20]


def test_limits_come_first() -> None:
    """A job that is over a limit takes no nodes."""
    one = bl.Limit("One", partitions=("urgent",), running_jobs=1)
    system = machine(4, limits=(one,), preemption=bl.Preemption())
    jobs = workload((0, 50, 3, "spare"), (0, 20, 1, "urgent"), (10, 5, 3, "urgent"))
    assert times(bl.simulate(jobs, system, "easy"))[2] == ("completed", 20, 25)


def test_quality_of_service() -> None:
    """Those go that the quality of service preempts, of these the least priority; equal ones stay."""
    qos = (
        bl.QualityOfService("high", preempts=("low", "middle")),
        bl.QualityOfService("middle", 2),
        bl.QualityOfService("low", 1),
        bl.QualityOfService("free"),
    )
    system = machine(8, qos=qos, partitions=(), preemption=bl.Preemption(by="qos"))
    running = [(0, 50, 2, "free"), (0, 50, 2, "middle"), (0, 50, 2, "low"), (0, 50, 2, "high")]
    # A victim that came before its successor does not come back in its place.
    jobs = workload(*running, (10, 5, 1, "high"), (20, 5, 4, "high"), (21, 5, 1, "middle"), column="qos")
    result = bl.simulate(jobs, system, "fcfs(backfill=none)")
    assert result.interruptions.select("row", "end_time").rows() == [(2, 10), (1, 20), (2, 20)]
    assert result.jobs["start_time"].to_list() == [0, 25, 25, 0, 10, 20, 50]


def test_look_ahead_and_restored_runs_preempt() -> None:
    """A fork and a restored run give the same victims."""
    system = machine(4, preemption=bl.Preemption(exempt_time=15))
    jobs = workload((0, 20, 4, "spare"), (10, 5, 3, "urgent"))
    simulation = bl.Simulation(jobs, system, "easy")
    simulation.run_until(10)
    copies = [simulation.fork(), bl.Simulation.restore(simulation.snapshot(), jobs, system, "easy")]
    for each in (simulation, *copies):
        each.run_until(1000)
        assert times(each.result()) == [("completed", 20, 40), ("completed", 15, 20)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"preemption": bl.Preemption(), "partitions": ()},
            "preemption.by = 'tier'; must have partitions",
        ),
        ({"preemption": bl.Preemption(by="qos")}, "preemption.by = 'qos'; must have a quality of service"),
        ({"preemption": "tier"}, "preemption = 'tier'; must be a Preemption."),
        (
            {"qos": (bl.QualityOfService("a", preempts=("b",)),)},
            r"qos\[0\].preempts = 'b'; must be a",
        ),
        (
            {
                "qos": (
                    bl.QualityOfService("a", preempts=("b",)),
                    bl.QualityOfService("b", preempts=("a",)),
                )
            },
            r"preempts makes a circle: \w preempts \w preempts \w. Leave one of them out.",
        ),
    ],
)
def test_wrong_systems(given: dict[str, Any], message: str) -> None:
    """What cannot be is said of the system."""
    with pytest.raises(SystemDescriptionError, match=message):
        machine(**given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": "tiers"}, "preemption.by = 'tiers'; must be one of tier, qos. Did you mean 'tier'?"),
        ({"mode": "kill"}, "preemption.mode = 'kill'; must be one of cancel, requeue, suspend."),
        (
            {"grace_time": 5, "mode": "suspend"},
            "preemption.grace_time = 5.0 with mode = 'suspend'; must be 0 there. Leave it out, or take",
        ),
        ({"exempt_time": -1}, "preemption.exempt_time = -1; must be a number of seconds"),
        ({"youngest_first": 1}, "preemption.youngest_first = 1; must be true or false."),
    ],
)
def test_wrong_rules(given: dict[str, Any], message: str) -> None:
    """What breaks a rule is named."""
    with pytest.raises(SystemDescriptionError) as error:
        bl.Preemption(**given)
    assert message in str(error.value)
