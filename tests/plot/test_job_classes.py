"""Classes of jobs, and the colours of what touches."""

import numpy as np
import pytest

import batchlab as bl
from batchlab.plot.job_classes import can_be_classed, job_classes, touching_colours
from batchlab.plot.placement import placements, rectangles
from support.kth_sample import kth_results
from support.results import Job, make_result


def test_sizes() -> None:
    """Sizes double up to 128 tasks, and quadruple above; classes without jobs are left out."""
    jobs = [Job(0, 0, 1, nodes=((0, 1),), tasks=tasks) for tasks in (1, 2, 3, 100)]
    found = job_classes(make_result(jobs), "size")
    assert found.names == ("1", "2", "3–4", "65–128")
    assert found.number.tolist() == [0, 1, 2, 3]
    wide = job_classes(make_result([*jobs, Job(0, 0, 1, tasks=4000)]), "size")
    assert wide.names == ("1", "2–4", "65–256", "1,025–4,096")


def test_users_by_work() -> None:
    """The eight that hold most have classes of their own, in this order; the others have one together."""
    users = range(10)
    jobs = [Job(0, 0, 10 + user, nodes=((0, 1),)) for user in users]
    found = job_classes(make_result(jobs, user_id=[*users]), "user")
    assert found.names == (*(f"user {user}" for user in range(9, 1, -1)), "2 others")
    assert found.number.tolist() == [8, 8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert len(set(found.colours)) == 9


def test_what_there_is() -> None:
    """Only what tells jobs apart can be chosen; a column that is not there is named."""
    result = kth_results()[0]
    assert can_be_classed(result) == ["size", "user"]
    with pytest.raises(bl.ResultError, match="by = 'queue'; the jobs have no column assigned_queue or queue"):
        job_classes(result, "queue")
    with pytest.raises(bl.ResultError, match="colour_by = 'users'"):
        bl.plot.gantt(result, colour_by="users")  # type: ignore[arg-type]


def test_jobs_that_touch_differ() -> None:
    """In two days of a log no job has the colour of a neighbour."""
    boxes = rectangles(placements(kth_results()[0]).between(50_000, 137_000))
    colours = touching_colours(boxes)
    touching = 0
    for one in range(len(boxes.row)):
        beside = (boxes.start == boxes.end[one]) | (boxes.end == boxes.start[one])
        beside &= (boxes.low < boxes.high[one]) & (boxes.high > boxes.low[one])
        for other in np.flatnonzero(beside & (boxes.row != boxes.row[one])):
            touching += 1
            assert not np.array_equal(colours[one], colours[other])
    assert touching > 30


def test_colours_and_names_of_a_gantt() -> None:
    """Jobs of one user have one colour, which the legend names, and large rectangles name their job."""
    ax = bl.plot.gantt(kth_results()[0], start=50_000, end=137_000, colour_by="user")
    legend = ax.get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 9
    named = {text.get_text() for text in ax.texts}
    ids = {str(number) for number in kth_results()[0].jobs["job_id"]}
    assert 5 < len(named) < 100
    assert named <= ids
    assert not bl.plot.gantt(kth_results()[0], labels=False).texts


def test_allocations_by_class() -> None:
    """Classes add up to what is held."""
    result = kth_results()[0]
    ax = bl.plot.allocations(result, by="user")
    work = sum(
        (data.values - data.baseline) @ np.diff(data.edges)
        for data in (patch.get_data() for patch in ax.patches)  # type: ignore[attr-defined]
    )
    held = result.allocations
    expected = float((held["allocated_core"] * (held["end_time"] - held["start_time"])).sum())
    assert work == pytest.approx(expected)


def test_a_gantt_ranks_what_it_shows() -> None:
    """Users are ranked within the time span, and classes that are named hold 80 % of it."""
    users = 60
    jobs = [
        *(Job(0, 100 * user, 100 * user + 90, nodes=((0, 1),)) for user in range(users)),
        Job(0, 20_000, 90_000, nodes=((0, 1),)),
    ]
    result = make_result(jobs, user_id=[*range(users), 99])
    whole = bl.plot.gantt(result, colour_by="user").get_legend()
    assert whole is not None
    assert whole.get_texts()[0].get_text() == "user 99"
    part = bl.plot.gantt(result, colour_by="user", start=0, end=6000).get_legend()
    assert part is not None
    names = [text.get_text() for text in part.get_texts()]
    # Each of the sixty holds as much: twenty have a colour of their own, and 28 more one together.
    assert len(names) == 22
    assert names[20:] == ["next 28", "12 others"]
    assert "user 99" not in names
    few = bl.plot.gantt(result, colour_by="user", start=0, end=300).get_legend()
    assert few is not None
    assert [text.get_text() for text in few.get_texts()] == ["user 0", "user 1", "user 2"]
