"""PYSS: the log of KTH on 100 processors, under PYSS's own rules of input."""

from collections import Counter

import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import OrderAtInstant
from support.oracles import compared, differing, find, first_differences, mean_wait, starts

NODES = bl.System.homogeneous(nodes=100, resources={"core": 1})
ONE_NODE = bl.System.homogeneous(nodes=1, resources={"core": 100})


def read_as_pyss(name: str) -> bl.Workload:
    """Take allocated processors; cut runs to the request, and raise the request to what the run was."""
    logged = bl.read_swf(find(f"data/{name}"), overrun="keep", processors="allocated")
    assert logged.report.dropped.is_empty()
    sound = pl.col("run_time") > 0  # otherwise PYSS takes one processor for one second
    run, requested = pl.col("run_time"), pl.col("requested_time")
    jobs = logged.jobs.with_columns(
        run_time=pl.when(sound).then(pl.min_horizontal(run, requested).clip(1)).otherwise(1.0),
        requested_time=pl.when(sound).then(pl.max_horizontal(run, requested)).otherwise(1.0),
        tasks=pl.when(sound).then("tasks").otherwise(1),
    )
    return bl.Workload.from_table(jobs, resources=(), overrun="keep", invalid="raise")


@pytest.fixture(scope="module")
def kth() -> bl.Workload:
    """27,992 jobs."""
    return read_as_pyss("KTH-SP2-1996-2.1-cln.swf.gz")


def run(
    workload: bl.Workload, system: bl.System, policy: str, name: str, order_at_instant: OrderAtInstant
) -> pl.DataFrame:
    """Simulate, and put the oracle's starts beside ours."""
    result = bl.simulate(workload, system, policy, order_at_instant=order_at_instant)
    return compared(result, starts(f"pyss/kth-{name}"))


def events_at(table: pl.DataFrame, instant: float) -> tuple[int, int]:
    """Count the submissions and the oracle's completions at one instant."""
    ends = table["oracle_start"] + table["run_time"]
    return int((table["submit_time"] == instant).sum()), int((ends == instant).sum())


def kinds(table: pl.DataFrame) -> Counter[str]:
    """Tell what happens at each instant at which the schedules part."""
    found: Counter[str] = Counter()
    for instant in first_differences(table):
        submissions, completions = events_at(table, instant)
        if submissions and completions:
            found["submissions and completions"] += 1
        elif submissions > 1 or completions > 1:
            found["submissions" if submissions else "completions"] += 1
        else:
            found["one event"] += 1
    return found


@pytest.mark.parametrize(
    ("policy", "name", "system"),
    [("fcfs", "fcfs", NODES), ("easy", "easy", NODES), ("conservative", "cons", ONE_NODE)],
    ids=["fcfs", "easy", "conservative"],
)
def test_event_by_event(kth: bl.Workload, policy: str, name: str, system: bl.System) -> None:
    """With a pass after every event, submissions first, every job starts when it does in PYSS.

    PYSS counts processors, and so do our rules on nodes of one core, except that a conservative reservation
    names nodes: hence the one node.
    """
    table = run(kth, system, policy, name, "arrivals_first")
    assert table.height == 27_992
    assert differing(table) == 0


def test_fcfs_does_not_depend_on_the_order_of_events(kth: bl.Workload) -> None:
    """Which event of an instant comes first is nothing to a rule that only looks at the head."""
    assert differing(run(kth, NODES, "fcfs", "fcfs", "completions_first")) == 0


def test_easy_instant_by_instant(kth: bl.Workload) -> None:
    """One pass per instant: 523 starts differ, all from ten instants at which several things happen."""
    table = run(kth, NODES, "easy", "easy", "completions_first")
    assert differing(table) == 523
    assert kinds(table) == {"completions": 8, "submissions and completions": 2}


def test_conservative_instant_by_instant(kth: bl.Workload) -> None:
    """One pass per instant: 690 starts differ, from twelve instants.

    At eleven of them several things happen. At the other one plans that differ already, since two completions
    12 s before, lead to the first different start.
    """
    table = run(kth, ONE_NODE, "conservative", "cons", "completions_first")
    assert differing(table) == 690
    assert kinds(table) == {"completions": 9, "submissions and completions": 2, "one event": 1}
    alone = [instant for instant in first_differences(table) if sum(events_at(table, instant)) == 1]
    assert alone == [1_150_708]
    assert events_at(table, 1_150_696) == (0, 2)


@pytest.mark.parametrize(
    ("order_at_instant", "number"), [("arrivals_first", 12_740), ("completions_first", 12_727)]
)
def test_conservative_on_named_nodes(kth: bl.Workload, order_at_instant: OrderAtInstant, number: int) -> None:
    """Where reservations name nodes instead of counting processors, nearly half of all starts differ."""
    assert differing(run(kth, NODES, "conservative", "cons", order_at_instant)) == number


def test_easy_on_seth() -> None:
    """PYSS's mean wait on the log of Seth is known to the second, 11,070 s; its schedule is not kept."""
    seth = bl.System.homogeneous(nodes=240, resources={"core": 1})
    workload = read_as_pyss("HPC2N-2002-2.2-cln.swf.gz")
    result = bl.simulate(workload, seth, "easy", order_at_instant="arrivals_first")
    assert mean_wait(result.jobs) == 11_069.76
