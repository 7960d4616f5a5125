"""The process that starts the daemons of a virtual cluster, and ends them when its parent ends.

It runs without batchlab: ``python -I supervisor.py DIRECTORY``. Orders are lines of JSON on standard input,
each with a reply of one line. At the order ``stop``, at the end of the input (which the system causes when
the parent ends, even by SIGKILL) and at SIGTERM, every descendant is killed and the directory removed.
Descendants that left their parents, such as Slurm's step daemons, become children of this process
(``PR_SET_CHILD_SUBREAPER``), so that none escapes. SIGKILL is sufficient, since no state of the cluster is
kept.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["descendants", "end", "main"]

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_PERIOD = 0.2
_LONGEST_END = 30.0


def main(directory: str) -> None:
    """Process orders until the input ends.

    Parameters
    ----------
    directory
        The cluster's directory, removed at the end.
    """
    _set_of_process(_PR_SET_CHILD_SUBREAPER, 1)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, _raise_exit)
    daemons: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for order in _orders(daemons):
            if "stop" in order:
                break
            _answer(_obey(order, daemons))
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        left = end(os.getpid())
        shutil.rmtree(directory, ignore_errors=True)
        with suppress(OSError):
            _answer({"left": left})


def end(ancestor: int) -> list[int]:
    """Kill every descendant of a process, and wait until all are gone.

    Parameters
    ----------
    ancestor
        The process id; children of the calling process are reaped as well.

    Returns
    -------
    list of int
        The ids of processes that still exist after 30 s.
    """
    deadline = time.monotonic() + _LONGEST_END
    while True:
        # A process forked after this list was created is in the next one: its parent has been killed.
        living = descendants(ancestor)
        if not living or time.monotonic() > deadline:
            return living
        for pid in living:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        _reap()
        time.sleep(0.01)


def descendants(ancestor: int) -> list[int]:
    """Return the ids of all descendants of a process, including zombies."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError, ValueError):
            # The process sets the name in parentheses; state and parent follow the last parenthesis.
            text = (entry / "stat").read_text("utf-8", "replace")
            children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(entry.name))
    found: list[int] = []
    waiting = [ancestor]
    while waiting:
        own = children.get(waiting.pop(), [])
        found += own
        waiting += own
    return found


def _orders(daemons: dict[str, subprocess.Popen[bytes]]) -> Iterator[dict[str, Any]]:
    """Yield the orders on standard input; reap children meanwhile."""
    text = b""
    while True:
        ready, _, _ = select.select([sys.stdin.fileno()], [], [], _PERIOD)
        _reap(daemons)
        if not ready:
            continue
        more = os.read(sys.stdin.fileno(), 1 << 16)
        if not more:
            return
        *lines, text = (text + more).split(b"\n")
        yield from map(json.loads, lines)


def _obey(order: dict[str, Any], daemons: dict[str, subprocess.Popen[bytes]]) -> dict[str, object]:
    """Start a daemon, or return the daemons that have ended."""
    if "start" not in order:
        return {"ended": {name: each.returncode for name, each in daemons.items() if each.poll() is not None}}
    try:
        with Path(order["log"]).open("ab") as log:
            daemon = subprocess.Popen(  # noqa: S603  # the daemons of the cluster
                order["arguments"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=order["environment"],
                cwd=order["directory"],
                # This process has one thread, so no lock can be held between fork and exec.
                preexec_fn=_die_with_parent,  # noqa: PLW1509
            )
    except OSError as error:
        return {"error": f"{order['arguments'][0]}: {error.strerror or error}"}
    daemons[order["start"]] = daemon
    return {"pid": daemon.pid}


def _reap(daemons: dict[str, subprocess.Popen[bytes]] | None = None) -> None:
    """Reap children that have ended: those started here, and those inherited."""
    for daemon in (daemons or {}).values():
        daemon.poll()
    own = {daemon.pid for daemon in (daemons or {}).values() if daemon.returncode is None}
    with suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid in own:
                return
            os.waitpid(ended.si_pid, os.WNOHANG)


def _die_with_parent() -> None:
    _set_of_process(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _set_of_process(what: int, value: int) -> None:
    if ctypes.CDLL(None).prctl(what, value, 0, 0, 0):
        raise OSError("prctl")


def _answer(content: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()


def _raise_exit(*_: object) -> None:
    raise SystemExit


if __name__ == "__main__":
    main(sys.argv[1])
