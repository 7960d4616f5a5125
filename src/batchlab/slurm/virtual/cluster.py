"""A private Slurm on virtual nodes, in a temporary directory and on the loopback interface."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Self

from batchlab.errors import BridgeError, ClusterError, one_line
from batchlab.slurm.virtual.clock import Clock, clock_of
from batchlab.slurm.virtual.configuration import Configuration, equal_nodes, read_configuration
from batchlab.slurm.virtual.layout import (
    CLUSTER_NAME,
    NO_ACCOUNTING,
    accounting_lines,
    database_arguments,
    installation_arguments,
    munge_arguments,
    prepare,
    user_name,
    write_slurmdbd,
)
from batchlab.slurm.virtual.processes import (
    MARK,
    Daemons,
    account_commands,
    claim_ports,
    control_commands,
    find_programs,
    listens,
    version,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import TracebackType

    from batchlab.slurm.virtual.configuration import Node

__all__ = ["ArrayOf", "VirtualCluster", "array_option", "sleeping_script"]


@dataclass(frozen=True)
class ArrayOf:
    """The tasks of a job array: sleep time by index, and maximum number of running tasks (None: all)."""

    run_times: Mapping[int, float]
    most: int | None = None


def sleeping_script(run_time: float | ArrayOf) -> str:
    """Return the script of a job that sleeps this many seconds.

    Slurm kills the processes of a job. A shell would take time to notice it, so exec replaces the shell by
    sleep.
    """
    if not isinstance(run_time, ArrayOf):
        return f"#!/bin/sh\nexec sleep {run_time:.3f}\n"
    cases = "".join(f"{index}) exec sleep {time:.3f};;\n" for index, time in run_time.run_times.items())
    return f"#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n{cases}esac\n"


def array_option(run_time: float | ArrayOf) -> list[str]:
    """Return the option of ``sbatch`` for an array."""
    if not isinstance(run_time, ArrayOf):
        return []
    most = "" if run_time.most is None else f"%{run_time.most}"
    return [f"--array={','.join(map(str, run_time.run_times))}{most}"]


_PERIOD = 0.25
# The only program that is not a daemon.
_INSTALLER = "mariadb-install-db"
_LONGEST_COMMAND = 60.0
_LONGEST_LINE = 300
# Slurm's reasons for jobs that will start without the end of another job.
_OF_AN_INSTANT = ("BeginTime", "Reservation", "ReqNodeNotAvail, Reserved")
_LONGEST_SOCKET = 100
# Timeout between Slurm's components (s), in cluster time, which may run fast.
_LONGEST_MESSAGE = 100


class VirtualCluster:
    """A private Slurm with nodes that exist only by name: jobs are allocated to them and sleep.

    A context manager: the cluster runs within the ``with`` block. Its daemons run as this user, listen on
    127.0.0.1 only, and authenticate with a private key; configuration, sockets, state and logs are in
    `directory`. They end with the block, and also if this process is killed, even by SIGKILL.

    Parameters
    ----------
    configuration
        A directory with a ``slurm.conf`` (see `read_configuration`), or a parsed configuration.
    nodes
        The nodes, or a number of equal nodes, ``n1`` and so on; by default those of the configuration.
    cores
        Cores per node of equal nodes.
    timeout
        Timeout until all nodes are idle, in seconds, in addition to 1 s per node.
    clock
        The clock of the cluster: ``"real"``, a constant factor, ``"auto"`` (see `clock_of`), or a clock.

    Raises
    ------
    BridgeError
        If Slurm is not installed, or there are no nodes.
    """

    def __init__(
        self,
        configuration: str | os.PathLike[str] | Configuration,
        nodes: int | Sequence[Node] | None = None,
        *,
        cores: int = 1,
        timeout: float = 60.0,
        clock: str | float | Clock = "real",
    ) -> None:
        given = (
            configuration if isinstance(configuration, Configuration) else read_configuration(configuration)
        )
        self.configuration = given
        chosen = equal_nodes(nodes, cores) if isinstance(nodes, int) else nodes
        self.nodes: tuple[Node, ...] = given.nodes if chosen is None else tuple(chosen)
        if not self.nodes:
            raise BridgeError(f"{given.path}: no line NodeName=…; add one, or pass the number of nodes.")
        self._programs = find_programs(accounting=given.accounts)
        self.version = version(self._programs["slurmctld"])
        self._timeout = timeout + len(self.nodes)
        self.clock = clock_of(clock)
        self._of_clock: Mapping[str, str] = {}
        self.directory = Path()
        self._daemons: Daemons | None = None
        self._claims = ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all daemons, and wait until every node is idle.

        Raises
        ------
        ClusterError
            If they do not start, or not in time; the message contains the relevant end of a log.
        """
        if self._daemons is not None:
            raise ClusterError("virtual nodes: the cluster is up already.")
        self.directory = Path(mkdtemp(prefix="batchlab-vnodes-")).resolve()
        if len(os.fsencode(self.directory)) > _LONGEST_SOCKET - len("/munge.socket.lock"):
            self.directory.rmdir()
            raise ClusterError(f"virtual nodes: {self.directory}: too long for a socket; set TMPDIR=/tmp.")
        self._daemons = Daemons(self.directory)
        try:
            self._of_clock = self.clock.start(self.directory)
            with self.clock.working():
                self._start(self._daemons)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all processes, including jobs, and remove the directory; repeated calls have no effect."""
        if self._daemons is not None:
            daemons, self._daemons = self._daemons, None
            self.clock.stop()
            daemons.stop()
            self._claims.close()

    @property
    def supervisor(self) -> int | None:
        """The process id of the supervisor of all daemons; None if none run."""
        return None if self._daemons is None else self._daemons.supervisor

    def submit(
        self,
        name: str,
        *,
        tasks: int,
        run_time: float | ArrayOf,
        limit: int | None,
        cores: int = 1,
        options: Sequence[str] = (),
    ) -> int:
        """Submit a job that sleeps.

        Parameters
        ----------
        name
            Its name.
        tasks
            The number of its tasks.
        run_time
            The time that it sleeps, in seconds; or the times of the tasks of a job array.
        limit
            Its time limit, in minutes; None for the limit of its partition.
        cores
            Cores per task.
        options
            Further options of ``sbatch``: ``--exclusive``, ``--partition=…``.

        Returns
        -------
        int
            The job number assigned by Slurm.

        Raises
        ------
        ClusterError
            If Slurm rejects it.
        """
        answer = self.command(
            "sbatch",
            "--parsable",
            "--output=/dev/null",
            f"--job-name={name}",
            f"--ntasks={tasks}",
            f"--cpus-per-task={cores}",
            *([] if limit is None else [f"--time={limit}"]),
            *array_option(run_time),
            *options,
            script=sleeping_script(run_time),
        )
        return int(answer.strip().partition(";")[0])

    def cancel(self, *jobs: int | str) -> None:
        """Cancel queued or running jobs by Slurm's numbers; ``"12_3"`` is a task of an array."""
        self.command("scancel", *map(str, jobs))

    def drain(self, node: str) -> None:
        """Drain a node: no more jobs start on it."""
        self.command("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=batchlab")

    def resume(self, node: str) -> None:
        """Resume a drained node."""
        self.command("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def queue(self) -> dict[int, str]:
        """Return the states (``"PENDING"``, …) of queued, running and ending jobs, by Slurm's numbers."""
        lines = self.command("squeue", "--noheader", "--array", "--format=%A %T").splitlines()
        return {int(job): state for job, state in map(str.split, lines)}

    def waiting_for_an_instant(self) -> set[int]:
        """Return Slurm's numbers of the jobs that wait for a begin time or a reservation."""
        lines = self.command("squeue", "--noheader", "--array", "--format=%A %r").splitlines()
        reasons = [line.partition(" ")[::2] for line in lines]
        return {int(job) for job, reason in reasons if reason.startswith(_OF_AN_INSTANT)}

    def completions(self) -> str:
        """Return the records of ended jobs written by Slurm's plugin jobcomp/filetxt."""
        path = self.directory / "log/jobcomp.txt"
        return path.read_text("utf-8", "replace") if path.is_file() else ""

    def accounting(self) -> str:
        """Return sacct's records of all jobs with all fields, for `read_sacct`; empty without accounts."""
        if not self.configuration.accounts:
            return ""
        options = ("--allusers", "--duplicates", "--parsable2", "--starttime=2000-01-01", "--format=ALL")
        return self.command("sacct", *options)

    def command(self, program: str, *arguments: str, script: str | None = None) -> str:
        """Run a Slurm command on this cluster.

        Parameters
        ----------
        program, arguments
            The name of the command and its arguments.
        script
            The standard input.

        Returns
        -------
        str
            The standard output.

        Raises
        ------
        ClusterError
            If the command fails; with the last line of its standard error.
        """
        try:
            with self.clock.working():
                done = subprocess.run(  # noqa: S603  # Slurm's own programs
                    [self._programs[program], *arguments],
                    input=script or "",
                    capture_output=True,
                    text=True,
                    env=self._environment,
                    cwd=self.directory,
                    timeout=_LONGEST_COMMAND,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise self._failure(f"{program} has not answered for {_LONGEST_COMMAND:.0f} s") from None
        if done.returncode:
            message = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
            raise ClusterError(f"virtual nodes: {one_line(message, _LONGEST_LINE)}")
        return done.stdout

    def check(self) -> None:
        """Check that all daemons run.

        Raises
        ------
        ClusterError
            If one has ended; with the end of its log.
        """
        if self._daemons is None:
            raise ClusterError("virtual nodes: the cluster is not up; call start, or use it in a with block.")
        for name, code in self._daemons.ended().items():
            if (name, code) == (_INSTALLER, 0):
                continue
            how = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
            raise self._failure(f"{name} has ended ({how})", name)

    @property
    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "USER", "TMPDIR") if name in os.environ}
        # Slurm writes local times.
        own = {
            "TZ": "UTC",
            "LC_ALL": "C",
            "SLURM_CONF": str(self.directory / "slurm.conf"),
            # The socket of the database for slurmdbd.
            "MYSQL_UNIX_PORT": str(self.directory / "database.socket"),
        }
        # Jobs inherit this variable from sbatch.
        return {**kept, **own, **self._of_clock, MARK: str(self.directory)}

    def _start(self, daemons: Daemons) -> None:
        *ports, accounts = claim_ports(2 + len(self.nodes), self._claims)
        more = accounting_lines(self.directory, accounts) if self.configuration.accounts else NO_ACCOUNTING
        if self.clock.is_virtual and "messagetimeout" not in self.configuration.settings:
            more = [*more, f"MessageTimeout={_LONGEST_MESSAGE}"]
        prepare(self.directory, self.configuration, self.nodes, ports, more)
        self._run(daemons, "munged", *munge_arguments(self.directory))
        self._wait("munged", (self.directory / "munge.socket").is_socket)
        if self.configuration.accounts:
            self._start_accounting(daemons, accounts)
        self._run(daemons, "slurmctld", "-D")
        # Slurm's commands retry for ten seconds, and would not detect that the daemon has ended.
        self._wait("slurmctld", lambda: listens(ports[0]))
        for node in self.nodes:
            self._run(daemons, "slurmd", "-D", "-N", node.name, name=f"slurmd.{node.name}")
        self._wait("slurmctld", self._all_idle)
        for arguments in control_commands(self.configuration.path.parent, user_name()):
            self.command("scontrol", *arguments)

    def _start_accounting(self, daemons: Daemons, port: int) -> None:
        """Start a database and slurmdbd, and create the accounts; this user may charge all of them."""
        user = user_name()
        write_slurmdbd(self.directory, port, user)
        self._run(daemons, _INSTALLER, *installation_arguments(self.directory, user))
        self._wait(_INSTALLER, lambda: daemons.ended().get(_INSTALLER) == 0)
        self._run(daemons, "mariadbd", *database_arguments(self.directory, user))
        self._wait("mariadbd", (self.directory / "database.socket").is_socket)
        self._run(daemons, "slurmdbd", "-D")
        self._wait("slurmdbd", lambda: listens(port))
        commands = account_commands(self.configuration.path.parent, CLUSTER_NAME)
        for arguments in commands:
            self.command("sacctmgr", "--immediate", "--quiet", *arguments)
        if any(arguments[:2] == ["add", "user"] for arguments in commands):
            return
        names = self.command("sacctmgr", "--noheader", "--parsable2", "list", "account", "format=account")
        if known := ",".join(set(names.split()) - {"root"}):
            self.command("sacctmgr", "--immediate", "--quiet", "add", "user", user, f"account={known}")

    def _run(self, daemons: Daemons, program: str, *arguments: str, name: str | None = None) -> None:
        log = self.directory / "log" / f"{name or program}.out"
        daemons.start(name or program, [self._programs[program], *arguments], self._environment, log)

    def _wait(self, name: str, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self._timeout
        while not ready():
            self.check()
            if time.monotonic() > deadline:
                raise self._failure(f"not ready after {self._timeout:.0f} s", name)
            time.sleep(_PERIOD)

    def _all_idle(self) -> bool:
        try:
            states = self.command("sinfo", "--noheader", "--Node", "--format=%N %T").split("\n")
        except ClusterError:
            # slurmctld does not listen yet.
            return False
        idle = {line.split()[0] for line in states if line.split()[1:] == ["idle"]}
        return idle >= {node.name for node in self.nodes}

    def _failure(self, what: str, name: str = "slurmctld") -> ClusterError:
        """Return an error with the end of a daemon's log: the lines with errors, if there are any."""
        lines: list[str] = []
        for suffix in ("log", "out"):
            path = self.directory / "log" / f"{name}.{suffix}"
            if path.is_file():
                lines += path.read_text("utf-8", "replace").splitlines()
        serious = [line for line in lines if "error" in line.lower() or "fatal" in line.lower()] or lines
        end = " | ".join(one_line(line, _LONGEST_LINE) for line in serious[-3:]) or "it is empty"
        return ClusterError(f"virtual nodes: {what}; the end of the log of {name}: {end}")
