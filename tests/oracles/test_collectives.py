"""Completion times of collectives as SimGrid's SMPI 3.32 gives them; a sample of 3,304.

Each row: platform, protocol, collective, algorithm, ranks, bytes, root, and the mean and the greatest
of the times of the ranks.
"""

import json
from pathlib import Path

import pytest

from batchlab.skeleton import run
from support.skeletons import PLAIN, one_call, star, torus

ROWS = json.loads(Path(__file__).with_name("collectives.json").read_text("utf-8"))
PLATFORMS = {"star": star(32), "torus": torus()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(map(str, row[:7])))
def test_times_are_those_of_smpi(row: list[object]) -> None:
    """To 1e-9, on a star and on a torus where messages share links, eager and by rendezvous."""
    platform, protocol, family, algorithm, ranks, size, root, mean, last = row
    skeleton = one_call(family, algorithm, ranks, size, root, eager=protocol == "eager")  # type: ignore[arg-type]
    found = run(skeleton, PLATFORMS[str(platform)], sharing=PLAIN)
    assert found.time == pytest.approx(last, rel=1e-9)
    assert found.ends.mean() == pytest.approx(mean, rel=1e-9)
