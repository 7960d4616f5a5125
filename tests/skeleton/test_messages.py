"""What skeletons send and when: protocols, overheads, communicators, jobs."""

import math
import pickle
from collections.abc import Generator
from typing import Any

import pytest

import batchlab as bl
from batchlab.skeleton import (
    Communicator,
    MessageOptions,
    Skeleton,
    balanced_dims,
    cartesian,
    run,
)
from support.skeletons import message_time, one_call, star

PLATFORM = star(16)
RENDEZVOUS, EAGER = MessageOptions(eager_threshold=0), MessageOptions(eager_threshold=math.inf)


def ends(body: object, ranks: int, options: MessageOptions = RENDEZVOUS) -> list[float]:
    """Run a function alone on a star."""
    times = run(Skeleton(body, ranks, options=options), PLATFORM).ends  # type: ignore[arg-type]
    return [float(time) for time in times]


def late_receiver(world: Communicator) -> None:
    """Send a message that is expected a second later."""
    if world.rank == 0:
        world.send(1, 1000)
    else:
        world.compute(1.0)
        world.recv(0)


def test_rendezvous_waits_for_the_receiver() -> None:
    """It sets out when both sides have posted it, and the send ends when it has arrived."""
    assert ends(late_receiver, 2) == pytest.approx([1 + message_time(1000)] * 2)


def test_eager_messages_set_out_at_once() -> None:
    """The send ends at once; a message that is there is received in no time."""
    assert ends(late_receiver, 2, EAGER) == [0.0, 1.0]


def test_threshold_is_the_first_payload_by_rendezvous() -> None:
    """1000 bytes are eager below a threshold of 1001."""
    assert ends(late_receiver, 2, MessageOptions(eager_threshold=1001))[0] == 0.0
    assert ends(late_receiver, 2, MessageOptions(eager_threshold=1000))[0] > 1.0


def test_envelope_and_overheads_count() -> None:
    """A send costs its rank before it is posted, a receive after it."""
    options = MessageOptions(eager_threshold=0, envelope=100, send_overhead=0.25, receive_overhead=0.5)
    time = message_time(84)

    def body(world: Communicator) -> None:
        world.send(1, 0) if world.rank == 0 else world.recv(0)

    assert ends(body, 2, options) == pytest.approx([0.25 + time, 0.75 + time])

    def collective(world: Communicator) -> None:
        world.barrier("linear")

    assert max(ends(collective, 2, options)) == pytest.approx(2 * (0.75 + time))


def test_immediate_messages_overlap_with_computing() -> None:
    """Two sends share the uplink; a rank computes meanwhile."""

    def body(world: Communicator) -> None:
        if world.rank == 0:
            requests = [world.isend(1, 10_000), world.isend(2, 10_000)]
            world.compute(1.0)
            world.waitall(requests)
        else:
            world.recv(0)

    expected = 1e-5 + 2 * 10_016e-9
    assert ends(body, 3) == pytest.approx([1.0, expected, expected])


def test_messages_match_by_tag_and_order() -> None:
    """Two of the same tag keep their order; another tag overtakes."""

    def body(world: Communicator) -> None:
        if world.rank == 0:
            world.waitall(
                [world.isend(1, 100, tag=1), world.isend(1, 200, tag=2), world.isend(1, 300, tag=1)]
            )
        else:
            for tag in (2, 1, 1):
                world.recv(0, tag)

    found = run(Skeleton(body, 2, options=RENDEZVOUS), PLATFORM)
    assert found.bytes[found.arrived.argsort()].tolist() == [200, 100, 300]


def test_flops_share_the_cores_of_the_node() -> None:
    """Two ranks on a core of 1 Gflop/s take twice as long; seconds do not."""
    platform = bl.Platform.crossbar(2, bandwidth=1e9, speed=1e9)

    def body(world: Communicator) -> None:
        world.compute(flops=1e9)

    skeleton = Skeleton(body, 2)
    assert run(skeleton, platform, [0, 1]).ends.tolist() == pytest.approx([1.0, 1.0])
    assert run(skeleton, platform, [1, 1]).ends.tolist() == pytest.approx([2.0, 2.0])


def test_parts_have_their_own_messages_and_collectives() -> None:
    """Odd and even ranks, ordered backwards."""

    def body(world: Communicator) -> None:
        part = world.split(lambda rank: rank % 2, lambda rank: -rank)
        assert isinstance(part, Communicator)
        assert part.size == 2
        assert part.rank == 1 - world.rank // 2
        part.bcast(1000)

    found = Skeleton(body, 4).assembled.messages
    assert {*zip(found.source.tolist(), found.target.tolist(), strict=True)} == {(2, 0), (3, 1)}


def test_generators_wait_for_the_colours_of_others() -> None:
    """The communicator comes from the yield; None where the colour is."""
    sizes: dict[int, object] = {}

    def body(world: Communicator) -> Generator[object, object, None]:
        part: Any = yield world.split(None if world.rank == 4 else world.rank // 3)
        sizes[world.rank] = part and (part.rank, part.size)
        if part is not None:
            part.barrier()

    Skeleton(body, 5)
    assert sizes == {0: (0, 3), 1: (1, 3), 2: (2, 3), 3: (0, 1), 4: None}


def test_grids_are_those_of_mpi() -> None:
    """The last dimension runs fastest; open edges have no neighbour."""
    seen = {}

    def body(world: Communicator) -> None:
        grid = cartesian(world, (2, 3), periodic=(False, True))
        seen[world.rank] = (grid.coordinates, grid.shift(0), grid.shift(1), [*grid.neighbours()])
        assert grid.line(0).size == 2
        assert grid.line(1).rank == world.rank % 3

    Skeleton(body, 6)
    assert seen[0] == ((0, 0), (None, 3), (2, 1), [3, 2, 1])
    assert seen[5] == ((1, 2), (2, None), (4, 3), [2, 4, 3])
    assert balanced_dims(16, 2) == (4, 4)
    assert balanced_dims(2048, 3) == (16, 16, 8)


def test_requests_that_are_not_awaited_are_at_the_end() -> None:
    """A rank is done when its messages are."""

    def body(world: Communicator) -> None:
        world.isend(1, 1000) if world.rank == 0 else world.irecv(0)

    assert ends(body, 2) == pytest.approx([message_time(1000)] * 2)


def test_jobs_run_skeletons() -> None:
    """The run time of a job follows from its messages; iterations begin together."""
    skeleton = one_call("allreduce", "ring", 4, 4000)
    alone = run(skeleton, PLATFORM).time
    job = bl.JobDescription(
        submit_time=0, tasks=4, requested_time=10, application=bl.Application([bl.Phase([skeleton], 3)])
    )
    result = bl.simulate(
        bl.Workload.from_jobs([job, job]), bl.System.of(PLATFORM), bl.Policy.parse("fcfs"), seed=0
    )
    assert result.jobs["end_time"].to_list() == pytest.approx([3 * alone] * 2)


def test_simulations_with_skeletons_can_be_saved() -> None:
    """A snapshot in the middle of a message goes on to the same end."""
    skeleton = one_call("alltoall", "pairwise", 4, 1e6)
    job = bl.JobDescription(
        submit_time=0, tasks=4, requested_time=10, application=bl.Application([bl.Phase([skeleton])])
    )
    of = bl.Workload.from_jobs([job]), bl.System.of(PLATFORM), bl.Policy.parse("fcfs")
    whole = bl.simulate(*of).jobs["end_time"][0]
    half = bl.Simulation(*of)
    half.run_until(whole / 2)
    other = half.fork()
    other.run_until(10)
    half.run_until(10)
    assert other.result().jobs["end_time"][0] == whole
    assert half.result().jobs["end_time"][0] == whole


def test_ranks_and_tasks_are_equal() -> None:
    """A workload refuses a skeleton for another number of ranks."""
    job = bl.JobDescription(
        submit_time=0,
        tasks=3,
        requested_time=10,
        application=bl.Application([bl.Phase([one_call("barrier", "tree", 4, 0)])]),
    )
    with pytest.raises(bl.WorkloadError, match="4 ranks"):
        bl.Workload.from_jobs([job])


def module_level(world: Communicator, size: float) -> None:
    """Can be pickled."""
    world.allreduce(size)


def test_skeletons_are_pickled_by_their_functions() -> None:
    """The program is made again."""
    skeleton = pickle.loads(pickle.dumps(Skeleton(module_level, 4, (1000,))))  # noqa: S301  # our own
    assert skeleton == Skeleton(module_level, 4, (1000,))
    assert run(skeleton, PLATFORM).time > 0
