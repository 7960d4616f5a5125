"""The daemons of a virtual cluster, from the parent's side: sends orders to the supervisor."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.errors import ClusterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["MARK", "Daemons", "marked"]

MARK = "BATCHLAB_VIRTUAL_CLUSTER"
"""The environment variable that marks all processes of a cluster: its directory."""

_LONGEST_ANSWER = 60.0
_LONGEST_END = 30.0
# Number of searches for processes left by an orphaned cluster, and the interval between them (s).
_LOOKS, _PERIOD = 5, 0.1


class Daemons:
    """Processes that end with this one, even if it is killed.

    Parameters
    ----------
    directory
        The directory of the cluster, removed at the end.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # In a separate session, Ctrl-C and kills of our process group do not reach it.
        self._supervisor = subprocess.Popen(  # noqa: S603  # a file of this package
            [sys.executable, "-I", str(Path(__file__).with_name("supervisor.py")), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    @property
    def supervisor(self) -> int:
        """The process id of the supervisor, the ancestor of all others."""
        return self._supervisor.pid

    def start(self, name: str, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
        """Start a daemon in the foreground.

        Parameters
        ----------
        name
            The name of the daemon in `ended`.
        arguments
            The command line.
        environment
            The complete environment, including `MARK`.
        log
            The file for its output.

        Returns
        -------
        int
            The process id.

        Raises
        ------
        ClusterError
            If the daemon cannot be started.
        """
        order = {
            "start": name,
            "arguments": list(arguments),
            "environment": dict(environment),
            "log": str(log),
            "directory": str(self._directory),
        }
        return int(self._ask(order)["pid"])

    def ended(self) -> dict[str, int]:
        """Return the exit codes of daemons that have ended, by name."""
        return dict(self._ask({"status": True})["ended"])

    def stop(self) -> None:
        """End every process, and remove the directory; repeated calls have no effect."""
        if self._supervisor.returncode is None:
            with suppress(ClusterError):
                self._ask({"stop": True})
            self._close()
            self._supervisor.wait()
        # If the supervisor was killed, jobs and files may remain, and jobs may be starting.
        _end_marked(self._directory, 1 if self._supervisor.returncode == 0 else _LOOKS)
        shutil.rmtree(self._directory, ignore_errors=True)

    def _close(self) -> None:
        for stream in (self._supervisor.stdin, self._supervisor.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _ask(self, order: Mapping[str, object]) -> dict[str, Any]:
        sent, received = self._supervisor.stdin, self._supervisor.stdout
        if sent is None or received is None or sent.closed:
            raise ClusterError("virtual nodes: the cluster has been stopped; start another one.")
        try:
            sent.write(json.dumps(order).encode() + b"\n")
            sent.flush()
            ready, _, _ = select.select([received], [], [], _LONGEST_ANSWER)
            line = received.readline() if ready else b""
        except BrokenPipeError:
            line = b""
        if not line:
            raise ClusterError("virtual nodes: the process that starts the daemons has gone; run again.")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ClusterError(f"virtual nodes: {answer['error']}.")
        return answer


def _end_marked(directory: Path, looks: int) -> None:
    """Kill the processes of a cluster until `looks` consecutive searches find none."""
    deadline = time.monotonic() + _LONGEST_END
    empty = 0
    while empty < looks and time.monotonic() < deadline:
        found = marked(directory)
        empty = 0 if found else empty + 1
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if empty < looks:
            time.sleep(_PERIOD)


def marked(directory: Path) -> list[int]:
    """Return the ids of the processes with a cluster's mark in their environment.

    A process within execve shows no environment and is not found.
    """
    mark = f"{MARK}={directory}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        if int(entry.name) != os.getpid():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found
