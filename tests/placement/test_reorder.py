"""Reordering of ranks: permutations, never worse, and the best on small machines."""

from itertools import permutations
from random import Random

import numpy as np
import pytest

import batchlab as bl
from batchlab.placement import hop_bytes, packed, reorder

SYSTEMS = (
    bl.System.of(bl.Platform.torus((4, 3, 2), bandwidth=1e9, cores=2)),
    bl.System.of(bl.Platform.fat_tree(down=(4, 3, 2), up=(1, 2, 2), bandwidth=1e9, cores=2)),
    bl.System.of(bl.Platform.dragonfly(groups=3, chassis=2, blades=2, nodes_per_blade=2, bandwidth=1e9)),
)
CASES = 400


@pytest.mark.parametrize("system", SYSTEMS, ids=("torus", "fat tree", "dragonfly"))
def test_never_worse(system: bl.System) -> None:
    """Each place is taken once, hop-bytes are not more than packed, and the result is the same again."""
    gained = 0
    for number in range(CASES // 2):
        rng = Random(number)  # noqa: S311 - no secret
        ranks, per_node = rng.randint(1, 16), rng.randint(1, 3)
        nodes = packed(rng.sample(range(system.nodes), -(-ranks // per_node)), ranks, per_node)
        matrix = [[rng.choice((0, 0, 1, 5, 1000)) for _ in range(ranks)] for _ in range(ranks)]
        found = reorder(matrix, nodes, system)
        assert sorted(found) == sorted(nodes)
        before, after = hop_bytes(matrix, nodes, system), hop_bytes(matrix, found, system)
        assert after <= before * (1 + 1e-12)
        assert reorder(matrix, nodes, system) == found
        gained += after < before
    assert gained > CASES // 4


def test_near_the_best() -> None:
    """On six ranks the best of all permutations is found in most cases, and no case is far from it."""
    found = []
    for number in range(40):
        rng = Random(number)  # noqa: S311 - no secret
        nodes = rng.sample(range(24), 6)
        matrix = [[rng.choice((0, 0, 0, 1, 10)) for _ in range(6)] for _ in range(6)]
        best = min(hop_bytes(matrix, each, SYSTEMS[0]) for each in permutations(nodes))
        found.append(hop_bytes(matrix, reorder(matrix, nodes, SYSTEMS[0]), SYSTEMS[0]) / (best or 1.0))
    assert sum(ratio <= 1 for ratio in found) > 20
    assert max(found) < 1.5


def test_a_scattered_ring_is_found_again() -> None:
    """Neighbours of a ring whose ranks were shuffled are neighbours of the network."""
    system = bl.System.of(bl.Platform.torus((8,), bandwidth=1e9))
    ring = np.roll(np.eye(8), 1, axis=1)
    assert hop_bytes(ring, [0, 3, 6, 1, 4, 7, 2, 5], system) == 24
    assert hop_bytes(ring, reorder(ring, [0, 3, 6, 1, 4, 7, 2, 5], system), system) == 8


def test_what_is_refused() -> None:
    """Matrices of other ranks, and entries that are no bytes."""
    with pytest.raises(bl.PlatformError, match=r"matrix has the shape \(2, 2\); must be \(3, 3\)"):
        reorder([[0, 1], [1, 0]], [0, 1, 2], SYSTEMS[0])
    with pytest.raises(bl.PlatformError, match=r"matrix has entries that are no finite numbers >= 0"):
        reorder([[0, -1], [1, 0]], [0, 1], SYSTEMS[0])
