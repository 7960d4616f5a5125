"""Placements: orders of the nodes of a machine, and how far apart the nodes of a job are.

>>> import batchlab as bl
>>> system = bl.System.of(bl.Platform.torus((4, 2, 2), bandwidth="5GBps"))
>>> bl.placement.box_order(system, (2, 1, 2))[:8]
[0, 1, 8, 9, 2, 3, 10, 11]
"""

from batchlab.placement.orders import axes_order, box_order, hilbert_order, level_order, random_order

__all__ = ["axes_order", "box_order", "hilbert_order", "level_order", "random_order"]
