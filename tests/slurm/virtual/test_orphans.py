"""Processes of a cluster whose supervisor was killed, without any Slurm."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from batchlab.slurm.virtual import processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def test_a_job_that_is_just_starting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is executing another program when it is looked for is found by a later look."""
    directory = tmp_path / "cluster"
    directory.mkdir()
    daemons = processes.Daemons(directory)
    os.kill(daemons.supervisor, signal.SIGKILL)
    looks: list[int] = []
    found = processes.marked

    def late(folder: Path) -> list[int]:
        looks.append(1)
        return [] if len(looks) == 1 else found(folder)

    monkeypatch.setattr(processes, "marked", late)
    with subprocess.Popen(["/bin/sleep", "600"], env={processes.MARK: str(directory)}) as child:
        try:
            daemons.stop()
            assert child.wait(10) == -signal.SIGKILL
        finally:
            child.kill()
    assert not directory.exists()
