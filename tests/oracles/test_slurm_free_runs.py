"""Free runs of a recorded stream under `slurm`, with phases drawn at random, beside a real Slurm's runs.

Two real runs of one stream and configuration are 2.4 s to 7.1 s apart by P without backfill, and 52 s to 68 s
with it every two seconds: what a twin can be expected to be apart from one of them.
"""

from statistics import fmean, median

import pytest

from support.oracles import find
from support.slurm_free_runs import CONFIGURATIONS, compared


@pytest.mark.parametrize(
    ("policy", "run", "furthest", "apart"),
    [
        (CONFIGURATIONS[0].policy, "fifo_a", 7.1, 0.01),
        (CONFIGURATIONS[1].policy, "bf_a", 67.9, 0.12),
        (CONFIGURATIONS[2].policy, "bf30_a", 40.0, 0.03),
    ],
)
def test_free_runs(policy: str, run: str, furthest: float, apart: float) -> None:
    """The median of P is as small as between real runs, and real waits are among those of the twin."""
    found = compared(policy, find("oracles/slurm/s1.csv"), find(f"oracles/slurm/{run}.csv"))
    assert len(set(found.waits)) > 1
    assert median(found.distances) < furthest
    assert min(found.waits) < found.real_wait < max(found.waits)
    assert fmean(found.waits) == pytest.approx(found.real_wait, rel=apart)
