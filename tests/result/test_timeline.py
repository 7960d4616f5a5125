"""Queue and machine over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.results import Job, make_result

if TYPE_CHECKING:
    from batchlab.result.result import Result


def test_each_row_tells_the_state_after_its_instant(three: Result) -> None:
    """Time, queued, running, used cores, share of cores; the rejected job leaves no trace."""
    assert three.timeline.rows() == [
        (0, 0, 1, 4, 0.5),
        (10, 1, 1, 4, 0.5),
        (20, 2, 1, 4, 0.5),
        (100, 1, 1, 8, 1.0),
        (150, 0, 1, 2, 0.25),
        (160, 0, 0, 0, 0.0),
    ]
    assert three.timeline.columns == ["time", "queued", "running", "used_core", "utilisation_core"]


def test_one_instant_is_one_row() -> None:
    """However much happens at it: a job of no time leaves nothing behind."""
    result = make_result(
        [Job(5, 5, 5, nodes=((0, 1),)), Job(5, 5, 8, nodes=((0, 2),)), Job(5, 8, 8, nodes=((0, 1),))]
    )
    assert result.timeline.rows() == [(5, 1, 1, 2, 0.25), (8, 0, 0, 0, 0.0)]


def test_a_run_under_way_ends_with_what_is_there() -> None:
    """Running jobs hold on, jobs not yet submitted do not count."""
    jobs = [Job(0, 0, nodes=((0, 2),), state="running"), Job(1, state="queued"), Job(9, state="loaded")]
    assert make_result(jobs).timeline.rows() == [(0, 0, 1, 2, 0.25), (1, 1, 1, 2, 0.25)]


def test_a_resource_without_capacity_has_no_utilisation() -> None:
    """A share of nothing is null."""
    result = make_result([Job(0, 0, 1)], cores=0)
    assert result.timeline["utilisation_core"].to_list() == [None, None]
    assert result.metrics()["utilisation"] == {"core": None}
