"""Each recorded call of a real Slurm 22.05.8, decided again by the kernel from what Slurm saw (S25).

The calls that differ are those at which nodes were being released: the record has what the log said some
milliseconds later.
"""

from collections.abc import Iterator

import pytest

from batchlab.slurm import Controller
from support.slurm_decisions import (
    Call,
    Tally,
    contested_nodes,
    shared_nodes,
    whole_nodes,
    whole_nodes_of_one_user,
)


def tally(controller: Controller, calls: Iterator[Call]) -> Tally:
    """Decide each call again."""
    found = Tally()
    for call in calls:
        decide = controller.main_loop if call.kind == "sched" else controller.backfill
        found.add(call, decide(call.situation))
    return found


@pytest.mark.parametrize(
    ("run", "main", "backfill", "plans"),
    [
        ("fifo_a", (117, 117), (0, 0), (0, 0)),
        ("bf_a", (24, 24), (852, 849), (19_968, 19_946)),
        ("bf30_a", (92, 92), (63, 63), (2482, 2482)),
    ],
)
def test_one_user(run: str, main: tuple[int, int], backfill: tuple[int, int], plans: tuple[int, int]) -> None:
    """Whole nodes, in the order of submission."""
    found = tally(*whole_nodes_of_one_user(run))
    assert (*found.main, *found.backfill, *found.plans) == (*main, *backfill, *plans)


@pytest.mark.parametrize(
    ("run", "main", "backfill", "plans"),
    [
        ("m1a", (36, 36), (660, 657), (15_837, 15_824)),
        ("m1b", (37, 36), (638, 637), (16_224, 16_220)),
        ("m1d", (89, 89), (50, 50), (2060, 2060)),
    ],
)
def test_priorities(
    run: str, main: tuple[int, int], backfill: tuple[int, int], plans: tuple[int, int]
) -> None:
    """Whole nodes, by multifactor priorities; every half minute in m1d, else every two seconds."""
    found = tally(*whole_nodes(run))
    assert (*found.main, *found.backfill, *found.plans) == (*main, *backfill, *plans)


def test_cores_and_memory() -> None:
    """Nodes that jobs share, two partitions that overlap; also how many CPUs a job gets on each node."""
    controller, calls, jobs = shared_nodes("m2a")
    recorded = list(calls)
    found = tally(controller, iter(recorded))
    assert (found.main, found.backfill, found.plans) == ([96, 96], [229, 229], [1893, 1893])
    starts = 0
    for call in recorded:
        decide = controller.main_loop if call.kind == "sched" else controller.backfill
        for entry, outcome in zip(call.situation.queue, decide(call.situation), strict=True):
            if outcome.verdict == "started":
                starts += 1
                assert [part.cpus for part in outcome.allotments] == jobs.cpus(entry.job), entry
    assert starts == 198


def test_preemption_reservations_and_weights() -> None:
    """Limits on nodes of qualities of service, of which one preempts another; reservations; a drained node.

    Whether a limit stands against a job is taken from the record.
    """
    found = tally(*contested_nodes("m3a"))
    assert (found.main, found.backfill, found.plans) == ([113, 113], [340, 340], [3916, 3916])
    assert found.preempting == [16, 16]
