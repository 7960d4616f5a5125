"""Preemption and reservations under Slurm's controller (S26), by hand."""

from typing import Any

import pytest

import batchlab as bl
from batchlab.core.vocabulary import PreemptionMode
from support.slurm_small_runs import contested, starts


def test_preemption() -> None:
    """A victim goes at 13.25 s; the job starts in the next call, the victim when it may, and finds nodes."""
    system = contested(preemption=bl.Preemption(by="qos"))
    columns: dict[str, Any] = {"submit_time": [10.0, 11.0], "tasks": [2, 1], "qos": ["low", "high"]}
    spec = "slurm(main_phase=0.25, backfill=false"
    assert starts(f"{spec})", system, **columns) == [180.25, 16.25]
    assert starts(f"{spec}, requeue_delay=20)", system, **columns) == [46.25, 16.25]
    killed = contested(preemption=bl.Preemption(by="qos", mode="cancel"))
    assert starts(f"{spec})", killed, **columns) == [10.25, 16.25]


@pytest.mark.parametrize(
    ("run_time", "more", "mode", "expected"),
    [
        # It has until 33 s, and leaves at the look at 35 s.
        (300.0, "limit_phase=5", "requeue", [180.25, 35.25]),
        (300.0, "limit_phase=5", "cancel", [10.25, 35.25]),
        (300.0, "limit_phase=5, epilog=true", "cancel", [10.25, 35.0]),
        # It is done sooner.
        (15.0, "limit_phase=5", "requeue", [10.25, 25.25]),
        # The job is evaluated again before the look at 59 s.
        (300.0, "limit_phase=29, kill_wait=0, sched_interval=5", "cancel", [10.25, 38.25]),
        # It waits for KillWait and MessageTimeout to pass.
        (300.0, "limit_phase=29, sched_interval=5", "cancel", [10.25, 58.25]),
    ],
)
def test_grace_time(run_time: float, more: str, mode: PreemptionMode, expected: list[float]) -> None:
    """A victim that is chosen at 13.25 s runs on for its grace time, 20 s, until the next look at limits."""
    system = contested(preemption=bl.Preemption(by="qos", mode=mode, grace_time=20.0))
    found = starts(
        f"slurm(main_phase=0.25, backfill=false, {more})",
        system,
        submit_time=[10.0, 11.0],
        run_time=[run_time, 30.0],
        requested_time=[600.0, 60.0],
        tasks=[2, 1],
        qos=["low", "high"],
    )
    assert found == expected


def test_reservations() -> None:
    """No job reaches into one; its own job is first at the call that follows its begin."""
    kept = bl.Reservation("kept", start=50.0, duration=100.0, nodes="0-1", admits=bl.Conditions())
    columns: dict[str, Any] = {"tasks": [1, 2], "reservation": [None, "kept"]}
    found = starts("slurm(main_phase=0.25)", contested(reservations=(kept,)), **columns)
    assert found == [150.25, 50.25]


@pytest.mark.parametrize(("requested_time", "expected"), [(60.0, 50.25), (61.0, None)])
def test_limits_in_reservations(requested_time: float, expected: float | None) -> None:
    """Of a reservation of 70 s two whole minutes are too long, though 61 s are not."""
    kept = bl.Reservation("kept", start=50.0, duration=70.0, nodes="0-1", admits=bl.Conditions())
    found = starts(
        "slurm(main_phase=0.25)",
        contested(reservations=(kept,)),
        requested_time=[requested_time, requested_time],
        run_time=[30.0, 30.0],
        tasks=[1, 1],
        reservation=["kept", "kept"],
    )
    assert found == [expected, expected]
