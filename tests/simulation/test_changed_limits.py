"""Limits and reservations that external events change (S13, S14, S18)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli.stream import scanned

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NODES = bl.System.homogeneous(nodes=4, resources={"core": 2})
LIMITED = bl.System(
    NODES.groups,
    limits=(bl.Limit("few", running_jobs=1), bl.Limit("size", resources={"core": 8}, time=1000)),
)
RESERVED = bl.System(
    NODES.groups,
    reservations=(
        bl.Reservation("repair", start=50, duration=100, cancels=True),
        bl.Reservation("course", start=50, duration=100, nodes="0-1", admits=bl.Conditions()),
    ),
)
JOBS = {
    "job_id": [1, 2, 3],
    "submit_time": [0.0, 0.0, 10.0],
    "run_time": [40.0, 40.0, 40.0],
    "requested_time": [40.0, 40.0, 60.0],
    "tasks": [2, 2, 2],
}
Event = dict[str, object]


def starts(
    system: bl.System, *events: Event, policy: str = "easy", names: Sequence[str | None] = ()
) -> list[float | None]:
    """Give when each of the three jobs starts."""
    workload = bl.Workload.from_table(JOBS | ({"reservation": names} if names else {}))
    return bl.simulate(workload, system, policy, events=events).jobs["start_time"].to_list()


def applied(system: bl.System, *events: Event) -> list[bool]:
    """Tell which of the events applied."""
    result = bl.simulate(bl.Workload.from_table(JOBS), system, "easy", events=events)
    return result.events.table["applied"].drop_nulls().to_list()


@pytest.mark.parametrize("policy", ["fcfs", "fcfs-first_fit", "easy", "conservative"])
def test_a_limit_allows_more_and_less(policy: str) -> None:
    """Jobs start as soon as it lets them, those that run go on when it allows less, and none is 0."""
    policy = {"fcfs-first_fit": "first_fit"}.get(policy, policy)
    few: Event = {"event": "limit", "limit": "few"}
    assert starts(LIMITED, policy=policy) == [0.0, 40.0, 80.0]
    assert starts(LIMITED, few | {"time": 15, "value": 2}, policy=policy) == [0.0, 15.0, 40.0]
    assert starts(LIMITED, few | {"time": 15}, policy=policy) == [0.0, 15.0, 15.0]
    none = few | {"time": 20, "value": 0}
    assert starts(LIMITED, few | {"time": 0}, none, policy=policy) == [0.0, 0.0, 10.0]
    assert starts(LIMITED, none, policy=policy) == [0.0, None, None]
    again = few | {"time": 100, "value": 3}
    assert starts(LIMITED, none, again, policy=policy) == [0.0, 100.0, 100.0]


def test_a_limit_of_several_quantities() -> None:
    """The event says which; a time counts for jobs that are submitted after it."""
    size: Event = {"event": "limit", "limit": "size", "time": 5}
    many: Event = {"event": "limit", "limit": "few", "time": 0}
    assert starts(LIMITED, many, size | {"quantity": "time", "value": 50}) == [0.0, 0.0, None]
    assert starts(LIMITED, many, size | {"quantity": "resources.core", "value": 5}) == [0.0, 0.0, 40.0]
    assert applied(LIMITED, size | {"quantity": "time", "value": 1000}, many, many) == [True, False, False]


def test_a_limit_that_holds_for_no_job() -> None:
    """The event applies all the same."""
    system = bl.System(
        NODES.groups,
        limits=(bl.Limit("ann", running_jobs=2, applies_to=bl.Conditions(users=("ann",))),),
    )
    event: Event = {"time": 5, "event": "limit", "limit": "ann", "value": 3}
    assert applied(system, event, event) == [True, False]


def test_a_reservation_is_known_from_its_event_on() -> None:
    """Before it jobs start that do not end by its begin; those in the way are cancelled where it says so."""
    unknown: list[Event] = [
        {"time": 500, "event": "reserve", "reservation": name} for name in ("repair", "course")
    ]
    assert starts(RESERVED) == [0.0, 0.0, 150.0]
    assert starts(RESERVED, *unknown) == [0.0, 0.0, 10.0]
    known: Event = {"time": 20, "event": "reserve", "reservation": "repair"}
    workload = bl.Workload.from_table(JOBS | {"run_time": [40.0, 40.0, 60.0]})
    for time, end in ((20, 50.0), (50, 50.0), (51, 70.0)):
        result = bl.simulate(workload, RESERVED, "easy", events=[known | {"time": time}, *unknown[1:]])
        assert result.jobs["end_time"][2] == end


def test_a_reservation_is_given_up() -> None:
    """Others start on its nodes at once, and its own jobs wait until it is known again."""
    up: Event = {"time": 30, "event": "unreserve", "reservation": "repair"}
    both = [up, up | {"reservation": "course"}]
    assert starts(RESERVED, *both) == [0.0, 0.0, 30.0]
    own = (None, None, "course")
    assert starts(RESERVED, up, names=own) == [0.0, 0.0, 50.0]
    assert starts(RESERVED, *both, names=own) == [0.0, 0.0, None]
    again: Event = {"time": 60, "event": "reserve", "reservation": "course"}
    assert starts(RESERVED, *both, again, names=own) == [0.0, 0.0, 60.0]
    assert applied(RESERVED, *both, up, again, again) == [True, True, False, True, False]


def test_snapshots_know_what_was_changed() -> None:
    """Forks and restored runs go on alike."""
    workload = bl.Workload.from_table(JOBS)
    system = bl.System(RESERVED.groups, limits=LIMITED.limits, reservations=RESERVED.reservations)
    events: list[Event] = [
        {"time": 5, "event": "limit", "limit": "few", "value": 3},
        {"time": 8, "event": "unreserve", "reservation": "repair"},
        {"time": 60, "event": "reserve", "reservation": "repair"},
    ]
    whole = bl.simulate(workload, system, "easy", events=events)
    simulation = bl.Simulation(workload, system, "easy", events=events)
    simulation.run_until(9.0)
    restored = bl.Simulation.restore(simulation.snapshot(), workload, system, "easy")
    for each in (simulation.fork(), restored, simulation):
        each.run_until()
        assert each.result().jobs.equals(whole.jobs)
        assert each.result().events == whole.events
    assert bl.simulate(workload, system, "easy", events=whole.events.external).events == whole.events


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            {"event": "limit", "limit": "fev"},
            "event at 5 s: limit: limit = 'fev'; must be a limit of the system. Did you mean 'few'?",
        ),
        (
            {"event": "limit", "limit": "size"},
            "limits time, resources.core. Say which of them as its quantity.",
        ),
        (
            {"event": "limit", "limit": "few", "quantity": "nodes"},
            "quantity = 'nodes'; must be what this limit limits: running_jobs. Describe others with a large",
        ),
        (
            {"event": "limit", "limit": "few", "value": 1.5},
            "running_jobs: value = 1.5; must be a whole number from 0 to 2^53.",
        ),
        (
            {"event": "reserve", "reservation": "x"},
            "reservation = 'x'; must be a reservation of the system. The system has no reservations",
        ),
        ({"event": "limit"}, "event 1 (limit): limit = None; must be the name of a limit of the system."),
        (
            {"event": "unreserve", "reservation": 3},
            "event 1 (unreserve): reservation = 3; must be the name of a reservation of the system.",
        ),
        (
            {"event": "limit", "limit": "few", "value": -1},
            "event 1 (limit): value = -1; must be a number >= 0, or left out for no limit.",
        ),
        (
            {"event": "limit", "limit": "few", "quantity": 7},
            'event 1 (limit): quantity = 7; must name what the limit limits, e.g. "running_jobs".',
        ),
    ],
)
def test_events_that_name_what_is_not_there(event: Event, message: str) -> None:
    """Each error says what there is."""
    with pytest.raises(bl.WorkloadError, match=re.escape(message)):
        starts(LIMITED, {"time": 5, **event})


def test_names_are_texts_in_files(tmp_path: Path) -> None:
    """Also where they look like numbers; a streamed machine has none."""
    stream = bl.EventStream(
        [
            {"time": 1, "event": "limit", "limit": "7", "value": 3},
            {"time": 2, "event": "reserve", "reservation": "8"},
        ]
    )
    for name in ("events.csv", "events.jsonl"):
        bl.write_events(stream, tmp_path / name)
        assert bl.read_events(tmp_path / name) == stream
    with pytest.raises(bl.WorkloadError, match=r"events.jsonl:1: limit = '7'; .* The system has no limits"):
        scanned(tmp_path / "events.jsonl", NODES)
