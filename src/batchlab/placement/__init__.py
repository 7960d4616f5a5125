"""Placements: orders of nodes, mappings of ranks to the nodes of a job, and hops between nodes.

>>> import batchlab as bl
>>> system = bl.System.of(bl.Platform.torus((4, 2, 2), bandwidth="5GBps"))
>>> bl.placement.box_order(system, (2, 1, 2))[:8]
[0, 1, 8, 9, 2, 3, 10, 11]
"""

from batchlab.core.lazy import make_dir
from batchlab.placement.orders import axes_order, box_order, hilbert_order, level_order, random_order
from batchlab.placement.ranks import (
    Hops,
    custom,
    cyclic,
    distance,
    hop_bytes,
    hops,
    one_per_node,
    packed,
    reorder,
)

__all__ = [
    "Hops",
    "axes_order",
    "box_order",
    "custom",
    "cyclic",
    "distance",
    "hilbert_order",
    "hop_bytes",
    "hops",
    "level_order",
    "one_per_node",
    "packed",
    "random_order",
    "reorder",
]

__dir__ = make_dir(__name__)
