"""Hops, bytes and loads of messages, counted by hand."""

import numpy as np
import pytest

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Communicator, MessageOptions, Skeleton, measure, named, run
from support.skeletons import star

# Mean hops of recursive doubling on 16 × 12 × 24 routers, x fastest, 32 ranks to a router, by fractions.
MEANS = {1024: 8 / 5, 2048: 18 / 11, 4096: 11 / 6}


@pytest.mark.parametrize(("ranks", "mean"), MEANS.items())
def test_mean_hops_on_a_large_torus(ranks: int, mean: float) -> None:
    """Of all messages of an allreduce, those within a router among them."""
    platform = bl.Platform.torus((16, 12, 24), bandwidth=4.68e9, latency=1e-7)
    skeleton = named("allreduce", ranks, {"size": 128, "algorithm": "recursive_doubling"})
    found = measure(run(skeleton, platform, (np.arange(ranks) // 32).tolist()), platform)
    assert found.total.mean_hops == pytest.approx(mean, rel=1e-14)
    assert found.total.hop_bytes == pytest.approx(128 * found.total.messages * mean)
    assert found.link_bytes.sum() == found.total.hop_bytes


def test_classes_are_told_apart() -> None:
    """Messages of the ranks' own, and those of each collective."""
    platform = bl.Platform.torus((4, 4), bandwidth=1e9, latency=1e-6)

    def body(world: Communicator) -> None:
        world.sendrecv((world.rank + 5) % 16, 100, (world.rank - 5) % 16)
        world.bcast(10, algorithm="linear")

    found = measure(run(Skeleton(body, 16), platform), platform).classes
    # From (x, y) to (x + 1, y + 1), but from x = 3 to (0, y + 2): 2 or 3 hops.
    assert found["send"][:] == (16, 1600, 2.25, 3, 100 * (12 * 2 + 4 * 3))
    # From (0, 0) to all (x, y): distances 0, 1, 2, 1 in each dimension, four times each.
    assert found["bcast"][:] == (15, 150, 32 / 15, 4, 320)


@pytest.mark.parametrize(
    ("platform", "hops"),
    [
        (bl.Platform.crossbar(8, bandwidth=1e9), 0),
        (bl.Platform.fat_tree(down=(4, 2), up=(1, 2), bandwidth=1e9), 2),
    ],
)
def test_the_cable_of_a_node_is_no_hop(platform: bl.Platform, hops: int) -> None:
    """One switch has none; two levels of switches have two."""

    def body(world: Communicator) -> None:
        if world.rank in {0, 7}:
            world.sendrecv(7 - world.rank, 100, 7 - world.rank)

    assert measure(run(Skeleton(body, 8), platform), platform).total.max_hops == hops


def test_loads_are_those_of_the_messages_under_way() -> None:
    """Two messages share an uplink, one after the other a downlink."""

    def body(world: Communicator) -> None:
        if world.rank == 0:
            world.waitall([world.isend(1, 1e6), world.isend(2, 1e6)])
            world.send(1, 1e6)
        else:
            for _ in range(2 if world.rank == 1 else 1):
                world.recv(0)

    platform = star(3)
    skeleton = Skeleton(body, 3, options=MessageOptions(eager_threshold=0, envelope=0))
    done = run(skeleton, platform)
    found = measure(done, platform)
    names = [link.name for link in platform.links]
    loads = dict(zip(names, zip(found.link_bytes, found.peak_load, strict=True), strict=True))
    busy = {name: load for name, load in loads.items() if load[0] > 0}
    assert sorted(load[0] for load in busy.values()) == [1e6, 2e6, 3e6]
    up = max(busy.values())
    assert up[1] == pytest.approx(1e9, rel=1e-2)
    assert found.mean_load.max() == pytest.approx(3e6 / done.time)


def test_messages_within_a_node_use_no_link() -> None:
    """Nor have they hops."""
    platform = bl.Platform.torus((3,), bandwidth=1e9)
    found = measure(run(named("bcast", 4, {}), platform, [1] * 4), platform)
    assert found.total[2:] == (0.0, 0, 0.0)
    assert not found.link_bytes.any()


def test_silence_is_measured() -> None:
    """A run without messages, on another platform than its own."""
    done = run(named("time_keeper", 3, {"seconds": 1}), star(3))
    assert measure(done, star(3)).total == (0, 0.0, 0.0, 0, 0.0)
    with pytest.raises(ApplicationError, match="must be that of the run"):
        measure(done, star(2))
