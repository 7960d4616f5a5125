"""Random skeletons end when the plain-Python reference says, or are refused where it finds a deadlock."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import ApplicationError
from batchlab.skeleton import Communicator, MessageOptions, Request, Skeleton, run
from reference.messages import completion_times

LATENCY, BANDWIDTH = 2e-5, 1e9
# No link is shared: each message has every link to itself.
PLATFORM = bl.Platform.crossbar(5, bandwidth=BANDWIDTH, latency=LATENCY / 2, sharing="fat_pipe")
SIZES = st.sampled_from([0, 1, 1000, 65_535, 65_536, 200_000])


@st.composite
def scripts(draw: st.DrawFn) -> list[list[tuple[Any, ...]]]:
    """Draw what up to five ranks do; each send has a receive, and all call the same barriers."""
    ranks = draw(st.integers(2, 5))
    made: list[list[tuple[Any, ...]]] = [[] for _ in range(ranks)]
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["message", "message", "message", "compute", "waitall", "barrier"]))
        if kind == "barrier":
            for script in made:
                script.append(("barrier",))
        elif kind == "message":
            source, target = draw(st.permutations(range(ranks)))[:2]
            tag = draw(st.integers(0, 1))
            made[source].append((draw(st.sampled_from(["send", "isend"])), target, draw(SIZES), tag))
            made[target].append((draw(st.sampled_from(["recv", "irecv"])), source, tag))
        else:
            rank = draw(st.integers(0, ranks - 1))
            amount = (draw(st.sampled_from([1e-5, 1e-4])),) if kind == "compute" else ()
            made[rank].append((kind, *amount))
    for _ in range(draw(st.integers(0, 6))):
        # Ranks that do neighbouring operations the other way round may wait for each other.
        script = draw(st.sampled_from(made))
        if len(script) > 1:
            at = draw(st.integers(0, len(script) - 2))
            script[at : at + 2] = reversed(script[at : at + 2])
    return made


def play(world: Communicator, made: list[list[tuple[Any, ...]]]) -> None:
    """Do what a script says."""
    requests: list[Request] = []
    for name, *arguments in made[world.rank]:
        if name == "waitall":
            world.waitall(requests)
            requests = []
        elif name in {"isend", "irecv"}:
            requests.append(getattr(world, name)(*arguments))
        elif name == "barrier":
            world.barrier("dissemination")
        else:
            getattr(world, name)(*arguments)


@given(scripts(), st.sampled_from([0, 65_536, 1e9]), st.sampled_from([0, 16]))
@settings(deadline=None)
def test_kernel_equals_reference(
    made: list[list[tuple[Any, ...]]], threshold: float, envelope: float
) -> None:
    """Each rank, and each deadlock."""
    options = MessageOptions(eager_threshold=threshold, envelope=envelope)
    expected = completion_times(made, LATENCY, BANDWIDTH, envelope, threshold)
    if expected is None:
        with pytest.raises(ApplicationError, match="deadlock"):
            Skeleton(play, len(made), (made,), options)
        return
    found = run(Skeleton(play, len(made), (made,), options), PLATFORM).ends
    assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-18)
