"""Bad skeletons are refused with ranks, calls and lines, and never hang."""

from collections.abc import Callable, Iterator

import pytest

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Communicator, MessageOptions, Skeleton, cartesian, run
from support.skeletons import star

HERE = "test_refusals.py"


def refused(body: Callable[[Communicator], object], ranks: int = 4) -> str:
    """Give the message with which a skeleton is refused."""
    with pytest.raises(ApplicationError) as error:
        Skeleton(body, ranks)
    return str(error.value)


def receive_first(world: Communicator) -> None:
    """Deadlock."""
    world.recv((world.rank + 1) % world.size)
    world.send((world.rank - 1) % world.size, 10)


def send_large(world: Communicator) -> None:
    """Deadlock by rendezvous only."""
    world.send((world.rank + 1) % world.size, 1e6)
    world.recv((world.rank - 1) % world.size)


def test_deadlocks_name_ranks_calls_and_lines() -> None:
    """All that wait, the first four by name."""
    line = receive_first.__code__.co_firstlineno + 2
    message = refused(receive_first, 6)
    for rank in range(4):
        assert f"rank {rank} waits in recv(source={rank + 1}, tag=0) ({HERE}:{line})" in message
    assert message.startswith("skeleton 'receive_first': deadlock")
    assert "and 2 more" in message


def test_a_deadlock_may_depend_on_the_protocol() -> None:
    """Eager sends end at once."""
    assert "deadlock: rank 0 waits in send(target=1, tag=0)" in refused(send_large)
    Skeleton(send_large, 4, options=MessageOptions(eager_threshold=2e6))


def test_a_deadlock_of_collectives_and_messages_is_found() -> None:
    """Rank 0 is in the barrier, rank 1 waits for its message before it."""

    def body(world: Communicator) -> None:
        if world.rank == 1:
            world.recv(0)
        world.barrier()
        if world.rank == 0:
            world.send(1, 8)

    message = refused(body)
    assert f"rank 0 waits in barrier() ({HERE}:" in message
    assert f"rank 1 waits in recv(source=0, tag=0) ({HERE}:" in message


def test_unmatched_messages_are_named() -> None:
    """On both sides."""

    def body(world: Communicator) -> None:
        if world.rank == 0:
            world.isend(1, 10)
        if world.rank == 2:
            world.irecv(1, tag=3)

    message = refused(body)
    line = body.__code__.co_firstlineno
    assert f"rank 0, isend(target=1, tag=0) ({HERE}:{line + 2})" in message
    assert f"rank 2, irecv(source=1, tag=3) ({HERE}:{line + 4})" in message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda world: world.send(4, 10), "rank 0, send (test_refusals.py"),
        (lambda world: world.recv(-1), "source = -1; must be from 0 to 3"),
        (lambda world: world.bcast(8, root=7), "root = 7; must be from 0 to 3"),
        (lambda world: world.send(1, -1), "must be a finite number >= 0"),
        (lambda world: world.compute(float("nan")), "must be a finite number >= 0"),
        (lambda world: world.compute(), "give seconds or flops"),
        (lambda world: world.allreduce(8, "quick"), "algorithm = 'quick'; allreduce has no such"),
        (lambda world: world.alltoall([1, 2]), "2 sizes; must be one, or 4"),
        (lambda world: cartesian(world, (3, 2)), "dims = [3, 2]; must have 4 places"),
        (lambda world: cartesian(world, (2, 2), periodic=(True,)), "periodic has 1 entries; must be 2"),
        (lambda world: world.split(1).barrier(), "part = yield world.split"),
        (lambda world: world.split(1, lambda rank: rank), "give two functions, or two numbers"),
    ],
)
def test_wrong_calls_are_refused(body: Callable[[Communicator], object], said: str) -> None:
    """At the call."""
    assert said in refused(body)


def test_powers_of_two_are_asked_for() -> None:
    """Where an algorithm is for these only."""
    assert "with 3 ranks; must be a power of two" in refused(lambda world: world.allgather(8, "xor"), 3)


def test_mismatched_collectives_name_both_calls() -> None:
    """Other collectives, roots, or sizes."""

    def other(world: Communicator) -> None:
        world.barrier() if world.rank == 2 else world.allreduce(8)

    def root(world: Communicator) -> None:
        world.bcast(100, world.rank)

    assert "rank 2 calls barrier()" in refused(other)
    assert "where rank 0 calls allreduce(8" in refused(other)
    assert "rank 1 calls bcast(100, 1)" in refused(root)


def test_ranks_that_lack_in_a_collective_are_named() -> None:
    """And one that calls it."""

    def body(world: Communicator) -> None:
        if world.rank != 2:
            world.bcast(100)

    message = refused(body)
    assert "rank 0 calls bcast(100, 0)" in message
    assert "rank 2 ends without it" in message


def test_a_split_that_some_do_not_call_is_refused() -> None:
    """It never hangs."""

    def body(world: Communicator) -> Iterator[object]:
        if world.rank:
            yield world.split(1)

    assert "rank 1, 2, 3 waits in split" in refused(body)


def test_hosts_are_one_for_each_rank() -> None:
    """Those of the platform in order, or as many as ranks."""
    skeleton = Skeleton(lambda world: world.barrier(), 4)
    with pytest.raises(ApplicationError, match="3 hosts for 4 ranks"):
        run(skeleton, star(3))
    with pytest.raises(ApplicationError, match="2 hosts for 4 ranks"):
        run(skeleton, star(4), [0, 1])
    computing = Skeleton(lambda world: world.compute(flops=1), 1)
    with pytest.raises(ApplicationError, match="has no speed"):
        run(computing, bl.Platform.crossbar(1, bandwidth=1e9, speed=0))


@pytest.mark.parametrize("change", [{"ranks": 0}, {"ranks": True}, {"function": 3}, {"options": 3}])
def test_parameters_are_checked(change: dict[str, object]) -> None:
    """By name and rule."""
    given: dict[str, object] = {"function": lambda world: world.barrier(), "ranks": 2, **change}
    with pytest.raises(ApplicationError, match=next(iter(change))):
        Skeleton(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["eager_threshold", "envelope", "send_overhead", "receive_overhead"])
def test_options_are_checked(name: str) -> None:
    """Numbers >= 0."""
    for value in (-1, float("nan"), "64KB", True):
        with pytest.raises(ApplicationError, match=name):
            MessageOptions(**{name: value})  # type: ignore[arg-type]
