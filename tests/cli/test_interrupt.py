"""Ctrl-C under load: commands end within half a second, with one line, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main

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


def seconds_to_exit(*arguments: object, delay: float = 2.5) -> float:
    """Send SIGINT to a command in the midst of its work: the time until it has ended, by the clock."""
    command = [sys.executable, "-m", "batchlab", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603  # ours
        time.sleep(delay)
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
        took.append(seconds_to_exit("run", loaded, "--policy", "conservative", *arguments))
    assert min(took) <= LIMIT, took


@pytest.fixture
def written(loaded: Path) -> Path:
    """Write a run of these jobs to a folder."""
    out = loaded.parent / "written"
    assert main(["run", str(loaded), "--out", str(out)]) == 0
    return out


COMMANDS = {
    "compare": ("compare", "LOG", "-p", "conservative", "-p", "conservative(order=sjf)", "-o", "OUT"),
    "processes": ("compare", "LOG", "-p", "conservative", "--executor", "processes", "-o", "OUT"),
    "experiment": ("experiment", "EXPERIMENT", "--store", "STORE", "-o", "OUT"),
    "generate": ("generate", "lublin", "--jobs", "3000000", "--nodes", "512", "-o", "OUT.swf"),
    "report": ("report", "WRITTEN", "-o", "OUT.html"),
    "plot": ("plot", "gantt", "WRITTEN", "-o", "OUT.png"),
}


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT for another process")
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_ends_every_long_command(name: str, loaded: Path, written: Path) -> None:
    """In the midst of its work; files are there whole or not at all, and none of another name."""
    folder = loaded.parent
    experiment = folder / "experiment.toml"
    experiment.write_text(
        'policies = ["conservative"]\n[workloads]\nloaded = "loaded.swf"\n'
        "[systems]\nsmall = { nodes = 64, resources = { core = 1 } }\n"
    )
    places = {"LOG": loaded, "WRITTEN": written, "EXPERIMENT": experiment, "STORE": folder / "store"}
    words = [str(places.get(word, word)).replace("OUT", str(folder / "out")) for word in COMMANDS[name]]
    before = {path for path in folder.iterdir() if path.name != "store"}
    delay = 1.0 if name in {"report", "plot"} else 2.5
    took: list[float] = []
    while len(took) < ATTEMPTS and (not took or min(took) > LIMIT):
        took.append(seconds_to_exit(*words, delay=delay))
    assert min(took) <= LIMIT, took
    assert {path for path in folder.iterdir() if path.name != "store"} == before
