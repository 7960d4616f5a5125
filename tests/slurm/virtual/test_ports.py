"""Ports of a cluster: no other cluster gets them before its daemons listen."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from batchlab.errors import ClusterError
from batchlab.slurm.virtual import processes


@pytest.fixture
def one_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave one block of ports below those of outgoing connections."""
    limits = tmp_path / "ip_local_port_range"
    limits.write_text("31000\t60999\n", "ascii")
    monkeypatch.setattr(processes, "_RANGE", limits)
    monkeypatch.setattr(processes, "_FIRST", 30_980)
    monkeypatch.setattr(processes, "_BLOCK", 20)


@pytest.mark.usefixtures("one_block")
def test_ports_that_nobody_uses_yet_are_claimed() -> None:
    """A second cluster cannot take them, even though no process listens, until the first has ended."""
    with ExitStack() as first:
        found = processes.claim_ports(5, first)
        assert len(set(found)) == 5
        with ExitStack() as second, pytest.raises(ClusterError, match="5 free ports needed, 0 found"):
            processes.claim_ports(5, second)
    with ExitStack() as second:
        assert processes.claim_ports(5, second) == found


def test_clusters_that_start_together_have_ports_of_their_own() -> None:
    """The ports of a hundred clusters are all different, and a large one has enough."""
    with ExitStack() as claims:
        taken = [port for _ in range(100) for port in processes.claim_ports(35, claims)]
        assert len(set(taken)) == 3500
        assert len(set(processes.claim_ports(2000, claims))) == 2000
