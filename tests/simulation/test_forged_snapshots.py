"""Snapshots that were changed, with a hash that fits: one error; nothing is unpickled before the checks."""

from __future__ import annotations

import hashlib
import json
import pickle
from random import Random
from typing import Any

import pytest

import batchlab as bl
from batchlab.simulation.snapshot import _MARK

WORKLOAD = bl.Workload.from_table({"submit_time": [0.0, 1.0, 2.0], "run_time": [5.0] * 3, "tasks": [1] * 3})
OTHER = bl.Workload.from_table({"submit_time": [0.0, 1.0, 2.0], "run_time": [5.5] * 3, "tasks": [1] * 3})
SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})
_BEGIN = len(_MARK) + hashlib.sha256().digest_size
UNPICKLED: list[str] = []


class Tells(bl.Scheduler):
    """Starts what fits, and tells when it is unpickled."""

    def __init__(self) -> None:
        self.passes = 0

    def schedule(self, view: bl.View) -> None:
        """Start what fits."""
        self.passes += 1
        for job in view.candidates():
            view.start(job)

    def __setstate__(self, state: dict[str, object]) -> None:
        UNPICKLED.append("scheduler")
        self.__dict__.update(state)


def taken(policy: bl.Scheduler | str) -> bytes:
    """Take a snapshot of a run that is under way."""
    simulation = bl.Simulation(WORKLOAD, SYSTEM, policy)
    simulation.step()
    return simulation.snapshot()


def sealed(rest: bytes) -> bytes:
    """Return a snapshot with a hash that fits."""
    return _MARK + hashlib.sha256(rest).digest() + rest


def with_facts(data: bytes, **changed: object) -> bytes:
    """Change facts of a snapshot; None of the type leaves one out."""
    line, _, parts = data[_BEGIN:].partition(b"\n")
    facts = json.loads(line) | changed
    kept = {name: value for name, value in facts.items() if value is not Ellipsis}
    return sealed(json.dumps(kept).encode() + b"\n" + parts)


@pytest.mark.parametrize(
    "name", ["version", "build", "policy", "run", "options", "under", "driven", "kernel", "components"]
)
@pytest.mark.parametrize("value", [..., 17.5, ["a"], {"b": 1}, -1])
def test_facts(name: str, value: object) -> None:
    """One that is missing, or is none, is named."""
    with pytest.raises(bl.SimulationError, match=r"snapshot|b: no such key"):
        bl.Simulation.restore(with_facts(taken("easy"), **{name: value}), WORKLOAD, SYSTEM, "easy")


@pytest.mark.parametrize("line", [b"", b"[]", b"{", b"nonsense", b"[" * 100_000])
def test_no_line_of_facts(line: bytes) -> None:
    """It is no JSON object."""
    with pytest.raises(bl.SimulationError, match=r"the snapshot has no line of facts"):
        bl.Simulation.restore(sealed(line + b"\n"), WORKLOAD, SYSTEM, "easy")


def test_nothing_is_unpickled_before_the_checks() -> None:
    """Not of another version, policy, workload or system."""
    data = taken(Tells())
    UNPICKLED.clear()
    larger = bl.System.homogeneous(nodes=3, resources={"core": 1})
    attempts: list[tuple[bytes, bl.Workload, bl.System, Any]] = [
        (with_facts(data, version="0.0.0"), WORKLOAD, SYSTEM, Tells()),
        (with_facts(data, build="0123456789abcdef"), WORKLOAD, SYSTEM, Tells()),
        (data, WORKLOAD, SYSTEM, "easy"),
        (data, OTHER, SYSTEM, Tells()),
        (data, WORKLOAD, larger, Tells()),
    ]
    for given in attempts:
        with pytest.raises(bl.SimulationError, match=r"the snapshot's (version|build|policy|run) = "):
            bl.Simulation.restore(*given)
    assert not UNPICKLED
    bl.Simulation.restore(data, WORKLOAD, SYSTEM, Tells()).run_until()
    assert UNPICKLED


@pytest.mark.parametrize("policy", ["easy", "conservative", "python"])
@pytest.mark.parametrize("seed", range(60))
def test_bits_that_somebody_flipped(policy: str, seed: int) -> None:
    """The answer is an error of batchlab, or a simulation that runs, or fails with one."""
    made: Any = Tells() if policy == "python" else policy
    data = bytearray(taken(made)[_BEGIN:])
    rng = Random(seed)  # noqa: S311 - no secret
    for _ in range(rng.choice((1, 1, 3, 20))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    try:
        simulation = bl.Simulation.restore(sealed(bytes(data)), WORKLOAD, SYSTEM, made)
        for _ in range(100):
            if not simulation.step():
                break
    except bl.BatchlabError:
        pass


def test_the_pickle_of_a_control() -> None:
    """What is no pickle in the place of one is an error."""
    data = taken("easy")
    options = json.loads(data[_BEGIN:].partition(b"\n")[0])["options"]
    for control in ({}, {"pickled": 5}, {"pickled": "%%%"}, {"pickled": "AAAA"}):
        with pytest.raises(bl.SimulationError, match="snapshot"):
            bl.Simulation.restore(
                with_facts(data, options=options | {"control": control}), WORKLOAD, SYSTEM, "easy"
            )
    assert pickle.loads(pickle.dumps(bl.Simulation(WORKLOAD, SYSTEM, "easy"))).now == 0  # noqa: S301  # our own
