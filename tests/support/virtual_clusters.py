"""What tests of virtual clusters share: is Slurm there, one cluster at a time, what is left running."""

import fcntl
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from batchlab.errors import BridgeError
from batchlab.slurm.virtual.processes import find_programs

__all__ = [
    "FRAGMENTS",
    "clusters",
    "configured",
    "left_running",
    "needs_compiler",
    "needs_slurm",
    "none_left",
    "one_at_a_time",
    "shared_memory_of",
    "until",
]

_SHARED = Path("/", "dev", "shm")
FRAGMENTS = {
    "fcfs": "SchedulerType=sched/builtin\nSelectType=select/linear\nEpilog=/bin/true\n",
    "backfill": "SchedulerType=sched/backfill\nSchedulerParameters=bf_interval=2,bf_resolution=1\n",
}
"""Policies, as lines of slurm.conf."""


def needs_slurm(*, accounting: bool = False) -> pytest.MarkDecorator:
    """Skip a test where Slurm is not installed."""
    try:
        find_programs(accounting=accounting)
    except BridgeError as error:
        return pytest.mark.skip(str(error))
    return pytest.mark.skipif(sys.platform != "linux", reason="Slurm runs on Linux")


def configured(folder: Path, text: str = "") -> Path:
    """Write a slurm.conf of these lines into a folder of its own."""
    made = folder / "conf"
    made.mkdir()
    (made / "slurm.conf").write_text(text, "utf-8")
    return made


needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or not any(Path(folder, "cc").is_file() for folder in os.get_exec_path()),
    reason="a C compiler for Linux is needed",
)
"""Skip a test of virtual time where its library cannot be built."""


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Wait until no other test, of whatever process, has a cluster: they are timed, and share the machine."""
    with (Path(tempfile.gettempdir()) / f"batchlab-test-clusters-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def left_running(directory: str) -> dict[int, str]:
    """Give the processes whose command line or environment names a cluster's directory."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) != os.getpid():
            with suppress(OSError):
                command, environment = ((entry / name).read_bytes() for name in ("cmdline", "environ"))
                if directory.encode() in command + environment:
                    found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def clusters() -> set[str]:
    """Return the directories of the clusters that are there."""
    return {str(path) for path in Path(tempfile.gettempdir()).resolve().glob("batchlab-vnodes-*")}


def shared_memory_of(directory: str) -> set[str]:
    """Return the files in /dev/shm that processes of a cluster map; who is killed leaves them there."""
    found = set()
    for pid in left_running(directory):
        with suppress(OSError):
            words = Path(f"/proc/{pid}/maps").read_text("utf-8", "replace").split()
            found |= {word for word in words if word.startswith(f"{_SHARED}/")}
    return found


def none_left(directory: str, seconds: float = 20.0) -> bool:
    """Wait until nothing of a cluster runs, and its directory is gone."""
    return until(lambda: not left_running(directory) and not Path(directory).exists(), seconds)


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Wait for a condition; false where it does not come about in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
