"""Start and end the processes of a virtual cluster, and run Slurm's commands on it."""

from __future__ import annotations

import json
import os
import random
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.errors import BridgeError, ClusterError
from batchlab.system import Conditions, Reservation
from batchlab.workload.logs.node_events import hosts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "ACCOUNTS",
    "COMMANDS",
    "MARK",
    "Daemons",
    "account_commands",
    "claim_ports",
    "control_commands",
    "find_programs",
    "listens",
    "marked",
    "nodes_in",
    "reservation_names",
    "reservations_in",
    "version",
]


def nodes_in(text: str, places: Mapping[str, int]) -> list[int]:
    """Return the numbers of the nodes in a list.

    Parameters
    ----------
    text
        For example ``n[1-3,7]``; Slurm writes ``(null)`` for an empty list.
    places
        The numbers by name.

    Examples
    --------
    >>> nodes_in("n[1-2]", {"n1": 0, "n2": 1}), nodes_in("(null)", {"n1": 0})
    ([0, 1], [])
    """
    return [places[name] for name in hosts(text) or () if name in places]


ACCOUNTS = "accounts.cfg"
COMMANDS = "sacctmgr.txt"
"""The dump of ``sacctmgr`` to load, and the file with sacctmgr commands."""

_CONTROL = "scontrol.txt"
"""The file with ``scontrol`` commands to run when a cluster has started."""

_NAMES = frozenset({"reservation", "reservationname"})
_WHO = frozenset({"users", "user", "accounts", "account", "groups", "group"})


def account_commands(configured: Path, cluster: str) -> list[list[str]]:
    """Return the sacctmgr commands that create the user's configuration.

    Parameters
    ----------
    configured
        The directory of the configuration. ``sacctmgr.txt`` has one command per line, as ``add qos high
        priority=100``; ``accounts.cfg``, a dump of accounts and users, is loaded after them. Both are
        optional.
    cluster
        The name of the cluster.
    """
    commands = [["add", "cluster", cluster], *_commands(configured / COMMANDS)]
    if (configured / ACCOUNTS).is_file():
        commands.append(["load", f"file={(configured / ACCOUNTS).resolve()}", f"cluster={cluster}"])
    return commands


def control_commands(configured: Path, user: str) -> list[list[str]]:
    """Return the commands of ``scontrol`` for a cluster.

    Parameters
    ----------
    configured
        The directory of the configuration. Its optional ``scontrol.txt`` has one command per line, as
        ``create reservation ReservationName=r StartTime=now+600 Duration=30 Nodes=n[1-2]``.
    user
        The user of reservations without users and accounts.
    """
    return [
        [*command, f"Users={user}"] if _makes(command) and not _WHO & _settings(command).keys() else command
        for command in _commands(configured / _CONTROL)
    ]


def _commands(file: Path) -> list[list[str]]:
    """Read the commands of an optional file, one per line, as words."""
    lines = file.read_text("utf-8", "replace").splitlines() if file.is_file() else []
    return [command for line in lines if (command := shlex.split(line, comments=True))]


def reservation_names(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return the names of the reservations that commands create."""
    settings = [_settings(command) for command in commands if _makes(command)]
    return [value for each in settings for key, value in each.items() if key in _NAMES]


def reservations_in(text: str, origin: int, nodes: Sequence[str]) -> tuple[Reservation, ...]:
    """Parse the reservations of a cluster.

    Parameters
    ----------
    text
        The output of ``scontrol show reservation --oneliner``, with times in UTC.
    origin
        The UNIX time that is 0 in the stream.
    nodes
        The names of the cluster's nodes.

    Returns
    -------
    tuple of Reservation
        Reservations for a simulation: nodes by number, times in seconds since the origin. An active
        reservation begins at the origin; for a recurring one, this is the next occurrence.
    """
    places = {name: place for place, name in enumerate(nodes)}
    lines = [_settings(line.split()) for line in text.splitlines() if line.startswith("ReservationName=")]
    return tuple(_reservation(line, origin, places) for line in lines)


def _reservation(line: Mapping[str, str], origin: int, places: Mapping[str, int]) -> Reservation:
    start, end = (
        datetime.fromisoformat(line[key]).replace(tzinfo=UTC).timestamp() - origin
        for key in ("starttime", "endtime")
    )
    flags = line.get("flags", "").split(",")
    held = ",".join(map(str, nodes_in(line["nodes"], places)))
    begin = max(start, 0.0)
    return Reservation(
        line["reservationname"],
        begin,
        end - begin,
        nodes=held,
        admits=Conditions(),
        flexible="FLEX" in flags,
    )


def _makes(command: Sequence[str]) -> bool:
    words = [word.lower().partition("=")[0] for word in command[:2]]
    return words[:1] == ["create"] and (len(words) == 1 or words[1] in _NAMES)


def _settings(words: Sequence[str]) -> dict[str, str]:
    pairs = (word.partition("=") for word in words)
    return {key.lower(): value for key, sign, value in pairs if sign}


_PROGRAMS = {
    "munged": "munge",
    "slurmctld": "slurmctld",
    "slurmd": "slurmd",
    "sbatch": "slurm-client",
    "scancel": "slurm-client",
    "scontrol": "slurm-client",
    "sinfo": "slurm-client",
    "squeue": "slurm-client",
}
"""The programs that every virtual cluster requires, with their Debian packages."""

_ACCOUNTING_PROGRAMS = {
    "mariadb-install-db": "mariadb-server",
    "mariadbd": "mariadb-server",
    "sacct": "slurm-client",
    "sacctmgr": "slurm-client",
    "slurmdbd": "slurmdbd",
}
"""Additional programs for a cluster with accounts."""

# Directories of daemons are often not in a user's PATH.
_MORE_PLACES = ("/usr/sbin", "/sbin", "/usr/local/sbin")


def find_programs(*, accounting: bool = False) -> dict[str, str]:
    """Locate the programs of a virtual cluster.

    Parameters
    ----------
    accounting
        Whether the cluster has accounts.

    Returns
    -------
    dict
        The path of each program, by name.

    Raises
    ------
    BridgeError
        If a program is missing; the message has the command that installs it on Debian.
    """
    if sys.platform != "linux":
        raise BridgeError(f"virtual nodes: Slurm runs on Linux; this is {sys.platform}. Use --mode model.")
    needed = _PROGRAMS | (_ACCOUNTING_PROGRAMS if accounting else {})
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), *_MORE_PLACES])
    found = {name: shutil.which(name, path=places) for name in needed}
    missing = [name for name, path in found.items() if path is None]
    if missing:
        packages = " ".join(sorted({needed[name] for name in missing}))
        raise BridgeError(
            f"virtual nodes: Slurm is not installed: no {', '.join(missing)}. "
            f"Install with: apt-get install {packages}"
        )
    return {name: path for name, path in found.items() if path is not None}


def version(slurmctld: str) -> str:
    """Return the version of a Slurm installation: ``"22.05.8"``."""
    answer = subprocess.run([slurmctld, "-V"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
    return answer.stdout.strip().rpartition(" ")[2]


_FIRST = 10_000
_BLOCK = 64
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def claim_ports(count: int, claims: ExitStack) -> list[int]:
    """Return ports on 127.0.0.1 on which no process listens, and which no other cluster claims.

    A daemon listens some seconds after its port was chosen. So a cluster claims whole blocks of ports, each
    by a name in the abstract namespace of Unix sockets, which ends with the process that holds it. The ports
    are below the range of ephemeral ports, since outgoing connections might take those before the daemons
    start.

    Parameters
    ----------
    count
        The number of ports.
    claims
        Holds the claims; close it once the daemons have ended.

    Returns
    -------
    list of int
        The ports in ascending order.

    Raises
    ------
    ClusterError
        If there are not enough free ports.
    """
    last = 32_768
    with suppress(OSError, ValueError, IndexError):
        last = int(_RANGE.read_text("ascii").split()[0])
    blocks = list(range(_FIRST, last - _BLOCK + 1, _BLOCK))
    # Not seeded: two clusters that start simultaneously must not try the same blocks.
    random.SystemRandom().shuffle(blocks)
    found: list[int] = []
    for block in blocks:
        if len(found) >= count:
            break
        if _claim(block, claims):
            found += [port for port in range(block, block + _BLOCK) if _is_free(port)]
    if len(found) < count:
        raise ClusterError(f"virtual nodes: {count} free ports needed, {len(found)} found; use fewer nodes.")
    return sorted(found[:count])


def _claim(block: int, claims: ExitStack) -> bool:
    """Claim the block of ports that begins at a port; return False if another cluster has it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0batchlab-vnodes-{block}")
    except OSError:
        name.close()
        return False
    claims.enter_context(name)
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as each, suppress(OSError):
        each.bind(("127.0.0.1", port))
        return True
    return False


def listens(port: int) -> bool:
    """Return whether a process listens on a port of 127.0.0.1."""
    with socket.socket() as each:
        each.settimeout(1.0)
        return each.connect_ex(("127.0.0.1", port)) == 0


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
