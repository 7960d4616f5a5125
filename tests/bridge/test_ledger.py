"""The books agree with what ElastiSim said of its own."""

from collections.abc import Callable

import pytest

from batchlab.bridge.elastisim.jobs import (
    ALLOCATED,
    COMPLETED,
    FREE,
    KILLED,
    PENDING,
    PENDING_KILL,
    PENDING_RECONFIGURATION,
    RESERVED,
    RUNNING,
    JobEntry,
    Ledger,
    Reply,
)
from batchlab.core.vocabulary import JobType
from batchlab.errors import AlgorithmError
from support.elastisim_ledger import Books, lines_of, project
from support.elastisim_projects import job_of


@pytest.fixture
def ledger() -> Ledger:
    """Four plain nodes, told of."""
    books = Ledger([(0, 0)] * 4, oversubscription=False)
    books.clear_changes()
    return books


def begun(ledger: Ledger, *nodes: int, kind: JobType = "malleable") -> JobEntry:
    """Submit and start a job."""
    entry = ledger.submit(job_of(kind, (1, 3) if kind != "rigid" else (len(nodes), len(nodes))))
    ledger.start(ledger.take(Reply(entry.id, nodes)), 5.0)
    return entry


def states(ledger: Ledger) -> list[int]:
    """Give the nodes' states."""
    return [node.state for node in ledger.nodes]


@pytest.mark.parametrize(("name", "nodes"), [("microA_crossbar", (1, 4)), ("torus192_mall100", (0, 0))])
def test_as_many_are_told_of(name: str, nodes: tuple[int, int]) -> None:
    """Every recorded call told of as many jobs and nodes as the books would."""
    books = Books(project(name, [nodes] * (8 if name.startswith("micro") else 192)))
    for line, recorded in lines_of(books.project.folder):
        invocation = books.happen(line)
        told = len(books.ledger.changed_jobs), len(books.ledger.changed_nodes)
        assert told == (recorded["sent_jobs"], recorded["sent_nodes"]), line
        books.ledger.clear_changes()
        books.follow(invocation, line.reply)


def test_nodes_are_reserved_until_the_next_scheduling_point(ledger: Ledger) -> None:
    """What a running job is to get besides is kept for it, and what it is to give up is its own till then."""
    entry = begun(ledger, 0, 1)
    ledger.take(Reply(0, (1, 2)))
    assert entry.state == PENDING_RECONFIGURATION
    assert states(ledger) == [ALLOCATED, ALLOCATED, RESERVED, FREE]
    ledger.reconfigure(entry, 7.0)
    assert states(ledger) == [FREE, ALLOCATED, ALLOCATED, FREE]
    assert entry.executing == [1, 2]
    assert [use[:4] for use in ledger.uses[1:]] == [
        (5.0, (0, 1), ALLOCATED, (entry,)),
        (7.0, (2,), ALLOCATED, (entry,)),
        (7.0, (0,), FREE, ()),
    ]


def test_a_wish_can_be_taken_back(ledger: Ledger) -> None:
    """Who wants what a job has, wants nothing."""
    entry = begun(ledger, 0, 1)
    ledger.take(Reply(0, (0, 1, 2)))
    ledger.take(Reply(0, (0, 1)))
    assert entry.state == RUNNING
    assert states(ledger) == [ALLOCATED, ALLOCATED, FREE, FREE]


def test_another_order_of_ranks_is_a_reconfiguration(ledger: Ledger) -> None:
    """ElastiSim compares lists."""
    entry = begun(ledger, 0, 1)
    ledger.take(Reply(0, (1, 0)))
    assert entry.state == PENDING_RECONFIGURATION


def test_ends(ledger: Ledger) -> None:
    """Nodes of the completed and the killed are free, those that they expected too."""
    first, second = begun(ledger, 0), begun(ledger, 1)
    ledger.take(Reply(0, (0, 2)))
    ledger.end(first, 9.0, COMPLETED)
    ledger.end(second, 9.0, KILLED)
    assert states(ledger) == [FREE] * 4
    assert (first.state, second.state, first.end_time) == (COMPLETED, KILLED, 9.0)


def test_a_kill_of_the_dead_is_nothing(ledger: Ledger) -> None:
    """An algorithm may say twice that a job is to be killed."""
    entry = begun(ledger, 0)
    assert ledger.take(Reply(0, (), kill=True)).state == PENDING_KILL
    ledger.end(entry, 9.0, KILLED)
    assert ledger.take(Reply(0, (), kill=True)).state == KILLED


def test_oversubscription() -> None:
    """Two jobs may be on a node where that is allowed; it is free when both have left."""
    ledger = Ledger([(0, 0)], oversubscription=True)
    first, second = begun(ledger, 0), begun(ledger, 0)
    ledger.end(first, 9.0, COMPLETED)
    assert states(ledger) == [ALLOCATED]
    ledger.end(second, 9.0, COMPLETED)
    assert states(ledger) == [FREE]


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda books: books.take(Reply(7, (0,))), "job 7, which has not been submitted"),
        (lambda books: books.take(Reply(0, (0, 9))), "job 0 was given node 9; there are 4"),
        (lambda books: books.take(Reply(0, ())), "was given 0 nodes; it needs 1 to 3"),
        (lambda books: books.take(Reply(0, (2, 2))), "was given a node twice"),
        (lambda books: books.take(Reply(0, (0,), 3)), "was given 3 GPUs per node; it needs 0 to 2"),
        (lambda books: books.take(Reply(0, (0, 3))), "node 3 was given to job 0, but job 1 has it"),
        (lambda books: begun(books, 3), "node 3 was given to job 2, but job 1 is on it"),
        (lambda books: begun(books, 1, 2, kind="rigid") and books.take(Reply(2, (0, 2))), "has begun"),
    ],
)
def test_refusals(ledger: Ledger, act: Callable[[Ledger], object], message: str) -> None:
    """What ElastiSim would abort at is one error that names job and rule."""
    begun(ledger, 0, 1)
    begun(ledger, 3)
    if "has begun" in message:
        ledger.end(ledger.jobs[0], 6.0, COMPLETED)
    with pytest.raises(AlgorithmError, match=message):
        act(ledger)


def test_the_over_get_no_nodes(ledger: Ledger) -> None:
    """A job that is over cannot be given nodes."""
    entry = begun(ledger, 0)
    ledger.end(entry, 6.0, COMPLETED)
    with pytest.raises(AlgorithmError, match="job 0 is over; its nodes cannot change"):
        ledger.take(Reply(0, (0, 1)))


def test_pending_jobs_can_be_emptied(ledger: Ledger) -> None:
    """A job waits on with no nodes only where it needs none."""
    ledger.submit(job_of())
    with pytest.raises(AlgorithmError, match="was given 0 nodes"):
        ledger.take(Reply(0, ()))
    assert ledger.jobs[0].state == PENDING
