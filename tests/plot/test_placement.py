"""Rectangles and cells of a schedule: nothing overlaps, and nothing is lost."""

import numpy as np
import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from batchlab.plot.placement import Placements, cells, placements, rectangles
from support.results import Job, make_result


@pytest.fixture(scope="module")
def placed() -> Placements:
    """Give the placements of 300 jobs that share nodes."""
    return placements(bl.simulate(demo_workload(300), demo_system(), "easy(allocator=worst_fit)"))


def test_shares_are_of_the_nodes_capacity() -> None:
    """A job's share of a node is its tasks there, times what a task holds, over the capacity."""
    result = make_result([Job(0, 0, 10, nodes=((0, 2), (3, 1)), tasks=3)])
    found = placements(result)
    assert found.node.tolist() == [0, 3]
    assert found.share.tolist() == [1.0, 0.5]


def test_running_jobs_end_now() -> None:
    """A job without an end is drawn to where the simulation is."""
    running = Job(0, 0, None, nodes=((0, 1),), state="running")
    found = placements(make_result([running, Job(0, 0, 70, nodes=((1, 1),))]))
    assert found.end.tolist() == [70.0, 70.0]


def test_rectangles_do_not_overlap(placed: Placements) -> None:
    """No point of time and node is in two rectangles."""
    boxes = rectangles(placed)
    for box in range(len(boxes.row)):
        later = slice(box + 1, None)
        in_time = (boxes.start[later] < boxes.end[box]) & (boxes.end[later] > boxes.start[box])
        in_height = (boxes.low[later] < boxes.high[box]) & (boxes.high[later] > boxes.low[box])
        assert not (in_time & in_height).any()


def test_rectangles_have_the_area_of_what_was_held(placed: Placements) -> None:
    """Joined or not, rectangles cover what jobs held: here every share is a whole number of parts."""
    boxes = rectangles(placed)
    area = ((boxes.end - boxes.start) * (boxes.high - boxes.low)).sum()
    assert area == pytest.approx(((placed.end - placed.start) * placed.share).sum())


def test_whole_neighbouring_nodes_are_one_rectangle() -> None:
    """A job on nodes 0 to 2 is drawn once."""
    boxes = rectangles(placements(make_result([Job(0, 0, 10, nodes=((0, 2), (1, 2), (2, 2)), tasks=6)])))
    assert (boxes.low.tolist(), boxes.high.tolist()) == ([0.0], [3.0])


@pytest.mark.parametrize("rows", [32, 10, 1])
def test_cells_keep_what_was_held(placed: Placements, rows: int) -> None:
    """Use summed over cells is use summed over placements, also where nodes share a row."""
    start, end = 0.0, float(placed.end.max())
    binned = cells(placed, start, end, columns=37, rows=rows)
    nodes = np.full(len(binned.busy), binned.nodes_per_row)
    nodes[-1] = placed.nodes - binned.nodes_per_row * (len(nodes) - 1)
    held = (binned.busy * nodes[:, None]).sum() * (end - start) / 37
    assert held == pytest.approx(((placed.end - placed.start) * placed.share).sum())
    assert binned.busy.max() <= 1 + 1e-9
    assert ((binned.row >= 0) == (binned.busy > 0)).all()


def test_a_cell_is_that_of_the_job_that_holds_most() -> None:
    """Of two jobs in a cell, the longer names it; a span cuts what is outside."""
    result = make_result([Job(0, 0, 3, nodes=((0, 2),)), Job(0, 3, 10, nodes=((0, 2),))])
    binned = cells(placements(result), 0.0, 10.0, columns=1, rows=4)
    assert binned.row[:, 0].tolist() == [1, -1, -1, -1]
    wide = Job(0, 0, 4, nodes=((0, 2), (1, 2)), tasks=4)
    narrow = Job(0, 4, 10, nodes=((0, 2),), tasks=2)
    together = cells(placements(make_result([narrow, wide])), 0.0, 10.0, columns=1, rows=2)
    assert together.row[:, 0].tolist() == [1, -1]
    cut = cells(placements(result), 0.0, 4.0, columns=1, rows=4)
    assert cut.row[0, 0] == 0
    assert cut.busy[0, 0] == 1.0
