"""The exchange between the thread that simulates and those that look; the curves; the slices."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from batchlab.monitor.guard import Pace, PaceControl, drive
from batchlab.monitor.snapshot import History, SnapshotExchange
from batchlab.simulation import Gauges

if TYPE_CHECKING:
    import batchlab as bl
    from batchlab.monitor.snapshot import Snapshot


def test_who_asks_gets_a_new_snapshot(snapshot: Snapshot) -> None:
    """Asking marks the exchange as wanted, and waits until something new is there."""
    exchange, newer = SnapshotExchange(snapshot), replace(snapshot, elapsed=3.0)
    assert not exchange.is_wanted

    def simulate() -> None:
        while not exchange.is_wanted:
            time.sleep(0.001)
        exchange.publish(newer)

    thread = threading.Thread(target=simulate)
    thread.start()
    assert exchange.latest(patience=10.0) is newer
    assert not exchange.is_wanted
    thread.join()


def test_who_asks_does_not_wait_for_ever(snapshot: Snapshot) -> None:
    """Neither for a policy that thinks for long, nor after the end."""
    exchange = SnapshotExchange(snapshot)
    assert exchange.latest(patience=0.0) is snapshot
    last = replace(snapshot, phase="done")
    exchange.close(last)
    assert exchange.latest(patience=100.0) is last
    assert not exchange.is_wanted


def point(now: float) -> Gauges:
    return Gauges(now, int(now), {"core": now / 100})


def test_readers_of_a_history_get_what_they_lack() -> None:
    """All at first, then the rest; a point of the same time replaces the last."""
    history = History(("core",))
    for now in (1.0, 2.0, 3.0):
        history.add(point(now))
    everything = history.since(-1, 0)
    assert (everything.start, everything.time, everything.queued) == (0, [1, 2, 3], [1, 2, 3])
    assert everything.utilisation == {"core": [0.01, 0.02, 0.03]}
    history.add(replace(point(3.0), queued=9))
    history.add(point(4.0))
    news = history.since(everything.generation, 2)
    assert (news.start, news.time, news.queued) == (2, [3, 4], [9, 4])
    assert history.since(everything.generation, 99).start == 0


def test_histories_are_bounded() -> None:
    """Points are thinned out evenly, and readers are told to begin anew."""
    history = History(("core",), limit=16)
    for now in range(1000):
        history.add(point(float(now)))
        assert len(history.since(-1, 0).time) < 16
    news = history.since(0, 5)
    assert (news.generation > 0, news.start) == (True, 0)
    gaps = {second - first for first, second in pairwise(news.time)}
    assert max(gaps) <= 2 * min(gaps)
    assert news.time[-1] > 850


@pytest.mark.parametrize(("longest", "pace"), [(math.inf, None), (7.0, None), (25.0, 500.0)])
def test_slices_do_not_change_what_comes_of_it(
    simulation: bl.Simulation, longest: float, pace: float | None
) -> None:
    """Nor does the pace."""
    whole = simulation.fork()
    whole.run_until()
    looks: list[float] = []
    drive(
        simulation,
        lambda: looks.append(simulation.now),
        meanwhile=lambda: looks.append(simulation.now),
        longest=longest,
        control=PaceControl(Pace(pace)),
    )
    assert simulation.result().jobs.equals(whole.result().jobs)
    assert looks[-1] == 131
    assert looks == sorted(looks)


def test_pace_is_kept(simulation: bl.Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """131 simulated seconds at 400 a second take a third of a second of a clock that only sleeping moves."""
    clock = [1000.0]

    def sleep(seconds: float) -> None:
        # A real clock goes on by itself, too.
        clock[0] += max(seconds, 1e-6)

    monkeypatch.setattr(
        "batchlab.monitor.guard.time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep)
    )
    drive(simulation, lambda: None, meanwhile=lambda: None, control=PaceControl(Pace(400.0)))
    assert clock[0] - 1000.0 == pytest.approx(131 / 400, abs=1e-4)


@pytest.mark.parametrize("first", [None, 4.0])
def test_a_run_stands_still_while_it_is_paused(
    first: float | None, simulation: bl.Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the slice on in which it is paused, and goes on where it stood, at the pace of then."""
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += max(seconds, 1e-6)

    monkeypatch.setattr(
        "batchlab.monitor.guard.time", SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep)
    )
    control = PaceControl(Pace(first))
    stood: list[float] = []
    resumed: list[tuple[float, float]] = []

    def after_slice() -> None:
        if simulation.now >= 20 and not stood:
            control.pace = Pace(first, is_paused=True)

    def meanwhile() -> None:
        if control.pace.is_paused:
            stood.append(simulation.now)
            if len(stood) == 50:
                control.pace = Pace(400.0)
                resumed.append((clock[0], simulation.now))

    whole = simulation.fork()
    whole.run_until()
    drive(simulation, after_slice, meanwhile=meanwhile, control=control, longest=7.0)
    assert len(stood) == 50
    assert len({*stood}) == 1
    ((began, now),) = resumed
    assert clock[0] - began == pytest.approx((131 - now) / 400, abs=1e-3)
    assert simulation.result().jobs.equals(whole.result().jobs)
