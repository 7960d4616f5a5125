"""Ctrl-C under load: `batchlab run` ends within half a second, with one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LIMIT = 0.5
# A signal may meet a machine that is busy with other work.
ATTEMPTS = 4


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    """Thirty thousand jobs that come within a day, and take weeks: thousands wait at every time."""
    path = tmp_path / "loaded.swf"
    lines = (
        f"{row} {row * 3} -1 {600 + row * 7919 % 40_000} {1 + row * 31 % 48} -1 -1 {1 + row * 31 % 48} "
        f"{60_000 + row * 104_729 % 100_000} -1 1 1 1 -1 -1 -1 -1 -1\n"
        for row in range(1, 30_001)
    )
    path.write_text("; MaxProcs: 64\n" + "".join(lines))
    return path


def seconds_to_exit(log: Path, *arguments: str) -> float:
    """Send SIGINT to a run in the midst of its simulation: the time until it has ended, by the clock."""
    command = [sys.executable, "-m", "batchlab", "run", str(log), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        time.sleep(2.5)
        assert process.poll() is None
        sent = time.perf_counter()
        process.send_signal(signal.SIGINT)
        process.wait()
        took = time.perf_counter() - sent
        assert process.stdout is not None
        assert process.stderr is not None
        assert (process.returncode, process.stdout.read()) == (130, "")
        assert process.stderr.read() == "batchlab: interrupted.\n"
    return took


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT for another process")
@pytest.mark.parametrize("arguments", [[], ["--stream"]], ids=["whole", "streamed"])
def test_ctrl_c_under_a_loaded_conservative_run(loaded: Path, arguments: list[str]) -> None:
    """From the signal to the end of the process, with thousands of jobs waiting for their turn."""
    took: list[float] = []
    while len(took) < ATTEMPTS and (not took or min(took) > LIMIT):
        took.append(seconds_to_exit(loaded, "--policy", "conservative", *arguments))
    assert min(took) <= LIMIT, took
