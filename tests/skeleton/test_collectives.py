"""Collectives against closed forms and lists of messages worked out by hand."""

from collections.abc import Callable
from math import ceil, log2

import pytest

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Skeleton, run
from batchlab.skeleton.collectives.registry import FAMILIES, algorithm_of
from support.skeletons import ALPHA, BETA, ENVELOPE, message_time, one_call, star

PLATFORM = star(64)
ANY = range(2, 65)
EVEN = range(2, 65, 2)
POWERS = (2, 4, 8, 16, 32, 64)


def depth(p: int) -> int:
    return ceil(log2(p))


def tree(p: int, m: float) -> float:
    return depth(p) * message_time(m)


def in_turn(p: int, m: float) -> float:
    return (p - 1) * message_time(m)


def at_once(p: int, m: float) -> float:
    return ALPHA + (p - 1) * BETA * (m + ENVELOPE)


def doubling(p: int, m: float) -> float:
    return sum(message_time(m * min(2**i, p - 2**i)) for i in range(depth(p)))


def halves(p: int, m: float) -> float:
    return sum(message_time(m / 2**i) for i in range(1, p.bit_length()))


def folded(p: int, m: float) -> float:
    """Give the time of folding and unfolding."""
    return 2 * message_time(m) * (p & (p - 1) != 0)


def bruck_blocks(p: int, m: float) -> float:
    counts = [sum(1 for j in range(1, p) if j >> i & 1) for i in range(depth(p))]
    return sum(message_time(m * count) for count in counts)


FORMS: dict[tuple[str, str], tuple[range | tuple[int, ...], Callable[[int, float], float]]] = {
    ("bcast", "binomial"): (ANY, tree),
    ("bcast", "linear"): (ANY, at_once),
    ("bcast", "scatter_ring"): (
        POWERS,
        lambda p, m: halves(p, m) + (p - 1) * message_time(m / p),
    ),
    ("bcast", "scatter_recursive_doubling"): (POWERS, lambda p, m: 2 * halves(p, m)),
    ("reduce", "binomial"): (ANY, tree),
    ("reduce", "linear"): (ANY, in_turn),
    ("reduce", "rabenseifner"): (ANY, lambda p, m: 2 * halves(p, m) + folded(p, m) / 2),
    ("allreduce", "recursive_doubling"): (
        ANY,
        lambda p, m: (p.bit_length() - 1) * message_time(m) + folded(p, m),
    ),
    ("allreduce", "rabenseifner"): (ANY, lambda p, m: 2 * halves(p, m) + folded(p, m)),
    ("allreduce", "ring"): (POWERS, lambda p, m: 2 * (p - 1) * message_time(m / p)),
    ("allreduce", "reduce_broadcast"): (ANY, lambda p, m: 2 * tree(p, m)),
    ("allreduce", "rabenseifner_linear"): (POWERS, lambda p, m: halves(p, m) + at_once(p, m / p)),
    ("allgather", "ring"): (ANY, in_turn),
    ("allgather", "pairwise"): (ANY, in_turn),
    ("allgather", "xor"): (POWERS, in_turn),
    ("allgather", "linear"): (ANY, at_once),
    ("allgather", "bruck"): (ANY, doubling),
    ("allgather", "recursive_doubling"): (POWERS, doubling),
    ("allgather", "neighbour_exchange"): (
        EVEN,
        lambda p, m: message_time(m) + (p // 2 - 1) * message_time(2 * m),
    ),
    ("alltoall", "pairwise"): (ANY, in_turn),
    ("alltoall", "xor"): (POWERS, in_turn),
    ("alltoall", "linear"): (ANY, at_once),
    ("alltoall", "batches"): (range(2, 33), at_once),
    ("alltoall", "bruck"): (ANY, bruck_blocks),
    ("alltoall", "scattered"): (range(2, 33), at_once),
    ("gather", "scattered"): (ANY, at_once),
    ("scatter", "scattered"): (ANY, at_once),
    ("allgather", "ring_pipelined"): (ANY, in_turn),
    ("gather", "linear"): (ANY, in_turn),
    ("gather", "binomial"): (ANY, doubling),
    ("scatter", "linear"): (ANY, in_turn),
    ("scatter", "binomial"): (ANY, doubling),
    ("reduce_scatter", "pairwise"): (ANY, in_turn),
    ("reduce_scatter", "ring"): (ANY, in_turn),
    ("reduce_scatter", "recursive_halving"): (POWERS, lambda p, m: halves(p, p * m)),
    ("scan", "linear"): (ANY, in_turn),
    ("scan", "recursive_doubling"): (POWERS, tree),
    ("barrier", "dissemination"): (ANY, tree),
    ("barrier", "recursive_doubling"): (POWERS, tree),
    ("barrier", "tree"): (ANY, lambda p, m: 2 * tree(p, m)),
    ("barrier", "linear"): (ANY, lambda p, m: 2 * at_once(p, m)),
}


@pytest.mark.parametrize("size", [512, 65_536])
@pytest.mark.parametrize(("family", "algorithm"), FORMS)
def test_time_is_the_closed_form(family: str, algorithm: str, size: float) -> None:
    """Where no two messages share a link but the ports, for up to 64 ranks."""
    ranks, form = FORMS[family, algorithm]
    size = 0 if family == "barrier" else size
    for p in ranks if size < 65_536 else [p for p in (2, 7, 8, 12, 32, 64) if p in ranks]:
        found = run(one_call(family, algorithm, p, size), PLATFORM).time
        assert found == pytest.approx(form(p, size), rel=1e-9), p


def test_every_algorithm_has_a_form_or_an_oracle() -> None:
    """Those of any number of ranks without a form are compared with recorded times."""
    every = {(family, name) for family, names in FAMILIES.items() for name in names}
    assert every - {*FORMS} == {("reduce_scatter", "recursive_doubling"), ("scatter", "binomial_ascending")}


@pytest.mark.parametrize(("family", "algorithm"), [(f, a) for f, names in FAMILIES.items() for a in names])
@pytest.mark.parametrize("p", [1, 2, 3, 5, 6, 8])
def test_every_algorithm_ends_for_every_root(family: str, algorithm: str, p: int) -> None:
    """None deadlocks; with one rank nothing is sent."""
    if algorithm in {"xor", "rabenseifner_linear"} and p & (p - 1):
        pytest.skip("for powers of two")
    for root in range(p):
        time = run(one_call(family, algorithm, p, 1000, root), PLATFORM).time
        assert (time > 0) == (p > 1)


@pytest.mark.parametrize(
    ("family", "algorithm", "expected"),
    [
        ("bcast", "binomial", [(0, 4, 1024), (0, 2, 1024), (0, 1, 1024), (2, 3, 1024)]),
        ("reduce", "binomial", [(1, 0, 1024), (3, 2, 1024), (2, 0, 1024), (4, 0, 1024)]),
        ("gather", "binomial", [(1, 0, 1024), (3, 2, 1024), (2, 0, 2048), (4, 0, 1024)]),
        ("scatter", "binomial", [(0, 4, 1024), (0, 2, 2048), (0, 1, 1024), (2, 3, 1024)]),
        ("scatter", "binomial_ascending", [(0, 1, 1024), (0, 2, 2048), (0, 4, 1024), (2, 3, 1024)]),
        (
            "allreduce",
            "recursive_doubling",
            [(0, 1), (1, 2), (2, 1), (3, 4), (4, 3), (1, 3), (2, 4), (3, 1), (4, 2), (1, 0)],
        ),
        (
            "reduce_scatter",
            "recursive_doubling",
            [
                (0, 1, 4096),
                (1, 0, 4096),
                (2, 3, 4096),
                (3, 2, 4096),
                (0, 2, 3072),
                (1, 3, 3072),
                (2, 0, 3072),
                (3, 1, 3072),
                (0, 4, 1024),
                (4, 0, 4096),
                (0, 2, 4096),
                (0, 1, 4096),
                (2, 3, 4096),
            ],
        ),
    ],
)
def test_messages_among_five_ranks(family: str, algorithm: str, expected: list[tuple[int, ...]]) -> None:
    """As MPICH and Open MPI send them."""
    found = one_call(family, algorithm, 5, 1024).assembled.messages
    whole = [(each if len(each) == 3 else (*each, 1024)) for each in expected]
    assert [*zip(found.source.tolist(), found.target.tolist(), found.size.tolist(), strict=True)] == whole


def test_blocks_may_differ() -> None:
    """A gather of blocks of 10, 20, 30 and 40 bytes; an alltoall by a matrix."""

    def body(world: bl.skeleton.Communicator) -> None:
        world.gather(10 * (world.rank + 1), algorithm="binomial")
        world.alltoall([100 * world.rank + other for other in range(4)], "pairwise")

    found = Skeleton(body, 4).assembled.messages
    sent = [*zip(found.source.tolist(), found.target.tolist(), found.size.tolist(), strict=True)]
    assert sent[:3] == [(1, 0, 20), (3, 2, 40), (2, 0, 70)]
    assert sorted(sent[3:]) == [(i, j, 100 * i + j) for i in range(4) for j in range(4) if i != j]


@pytest.mark.parametrize(
    ("family", "p", "total", "name"),
    [
        ("bcast", 64, 12_287, "binomial"),
        ("bcast", 64, 12_288, "scatter_recursive_doubling"),
        ("bcast", 63, 12_288, "scatter_ring"),
        ("bcast", 8, 1e6, "binomial"),
        ("reduce", 16, 2047, "binomial"),
        ("reduce", 16, 2048, "rabenseifner"),
        ("allreduce", 64, 2048, "recursive_doubling"),
        ("allreduce", 64, 4096, "rabenseifner"),
        ("allreduce", 1024, 4096, "recursive_doubling"),
        ("allgather", 8, 81_921, "recursive_doubling"),
        ("allgather", 7, 81_920, "bruck"),
        ("allgather", 7, 81_921, "ring"),
        ("alltoall", 8, 255, "bruck"),
        ("alltoall", 7, 255, "batches"),
        ("alltoall", 8, 32_768, "xor"),
        ("alltoall", 9, 32_768, "pairwise"),
        ("reduce_scatter", 4, 524_289, "pairwise"),
    ],
)
def test_choice_is_that_of_mpich(family: str, p: int, total: float, name: str) -> None:
    """By bytes and ranks."""
    assert algorithm_of(family, "mpich", p, total, unit=8, even=True) == name


def test_uneven_blocks_are_not_for_bruck() -> None:
    """It sends blocks of other ranks on."""
    with pytest.raises(ApplicationError, match="must be equal"):
        Skeleton(lambda world: world.alltoall([world.rank] * 3, "bruck"), 3)
