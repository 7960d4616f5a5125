"""The files of a virtual cluster, in one directory: configuration, accounting, devices, keys, state, logs."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
from itertools import groupby
from typing import TYPE_CHECKING

from batchlab.slurm.virtual.configuration import DEVICES
from batchlab.slurm.virtual.controller_log import LOG_LEVEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from batchlab.slurm.configuration.nodes import GenericResource
    from batchlab.slurm.virtual.configuration import Configuration, Node

__all__ = [
    "CLUSTER_NAME",
    "NO_ACCOUNTING",
    "accounting_lines",
    "database_arguments",
    "installation_arguments",
    "munge_arguments",
    "prepare",
    "user_name",
    "write_model",
    "write_slurmdbd",
]

_KINDS = "GresTypes"
# Slurm's plug-ins for these only count the device files of a node.
_WITH_FILES = frozenset({"gpu", "nic"})


def _kinds_line(configuration: Configuration, nodes: Sequence[Node]) -> list[str]:
    """Return the GresTypes line for the resources of the nodes; empty if the configuration has one."""
    names = dict.fromkeys(device.name for node in nodes for device in node.gres)
    return [f"{_KINDS}={','.join(names)}"] if names and _KINDS.lower() not in configuration.settings else []


def _device_lines(folder: Path, nodes: Sequence[Node]) -> list[str]:
    """Return the lines of ``gres.conf``, and create the device files.

    Parameters
    ----------
    folder
        The folder for the device files; created if needed.
    nodes
        The nodes; consecutive equal nodes share one line.
    """
    lines = []
    for gres, each in groupby(nodes, lambda node: node.gres):
        names = ",".join(node.name for node in each)
        lines += [f"NodeName={names} {text}" for device in gres for text in _described(folder, device)]
    return lines


def _described(folder: Path, device: GenericResource) -> Iterator[str]:
    """Yield the lines for a resource of a node; nothing if its count is 0."""
    if not device.count:
        return
    kind = f"Name={device.name}" + (f" Type={device.type}" if device.type else "")
    if device.name not in _WITH_FILES:
        yield f"{kind} Count={device.count}"
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    stem = "-".join(filter(None, (device.name, device.type)))
    for number in range(device.count):
        (folder / f"{stem}-{number}").touch()
    yield f"{kind} File={folder}/{stem}-[0-{device.count - 1}]"


NO_ACCOUNTING = ("AccountingStorageType=accounting_storage/none",)
"""The lines of slurm.conf without accounting."""


def write_slurmdbd(directory: Path, port: int, user: str) -> None:
    """Write the configuration of slurmdbd.

    Parameters
    ----------
    directory
        The directory of the cluster.
    port
        The port on which slurmdbd listens.
    user
        The user that runs slurmdbd.
    """
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={directory}/munge.socket",
        "DbdHost=localhost",
        "DbdAddr=127.0.0.1",
        f"DbdPort={port}",
        f"SlurmUser={user}",
        f"LogFile={directory}/log/slurmdbd.log",
        f"PidFile={directory}/slurmdbd.pid",
        "CommunicationParameters=NoInAddrAny",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        "StorageUser=root",
        "StorageLoc=slurm_acct_db",
    ]
    file = directory / "slurmdbd.conf"
    # slurmdbd rejects a file that others can read.
    file.touch(mode=0o600)
    file.write_text("\n".join(lines) + "\n", "utf-8")


def accounting_lines(directory: Path, port: int) -> Sequence[str]:
    """Return the lines of slurm.conf for accounting."""
    return (
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=localhost",
        f"AccountingStoragePort={port}",
        # Despite its name, this key is the socket that signs messages to slurmdbd.
        f"AccountingStoragePass={directory}/munge.socket",
    )


def installation_arguments(directory: Path, user: str) -> list[str]:
    """Return the arguments to create an empty database; only the directory's owner can access its socket."""
    return [
        "--no-defaults",
        f"--datadir={directory}/database",
        f"--user={user}",
        "--auth-root-authentication-method=normal",
        "--skip-test-db",
    ]


def database_arguments(directory: Path, user: str) -> list[str]:
    """Return the arguments of a server that only listens on a socket in the directory."""
    return [
        "--no-defaults",
        f"--datadir={directory}/database",
        f"--user={user}",
        f"--socket={directory}/database.socket",
        f"--pid-file={directory}/database.pid",
        "--skip-networking",
        # The data are temporary, so commits need not reach the disk.
        "--innodb-flush-log-at-trx-commit=0",
        "--innodb-buffer-pool-size=16M",
    ]


CLUSTER_NAME = "vnodes"
_NOT_COPIED = frozenset({"slurm.conf", "slurmdbd.conf", "cgroup.conf", "plugstack.conf", DEVICES})
_LONGEST_KEPT = 31_536_000


def prepare(
    directory: Path,
    configuration: Configuration,
    nodes: Sequence[Node],
    ports: Sequence[int],
    more: Sequence[str],
) -> None:
    """Write the configuration of the daemons.

    Parameters
    ----------
    directory
        The directory of the cluster; must exist and be empty.
    configuration
        The policy.
    nodes
        The virtual nodes.
    ports
        The port of slurmctld, followed by one per node.
    more
        Additional lines, for accounting.
    """
    for name in ("state", "spool", "log"):
        (directory / name).mkdir(mode=0o700)
    key = directory / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    more = [*more, *_kinds_line(configuration, nodes)]
    _write_policy(directory, configuration, [*_own(directory, ports[0]), *more, *_nodes(nodes, ports[1:])])
    if lines := _device_lines(directory / "devices", nodes):
        (directory / DEVICES).write_text("\n".join(lines) + "\n", "utf-8")


def write_model(directory: Path, configuration: Configuration, nodes: Sequence[Node]) -> None:
    """Write the policy and the nodes of the cluster for the reader of Slurm's files.

    Parameters
    ----------
    directory
        An existing, empty directory.
    configuration, nodes
        The configuration and the nodes of the cluster.
    """
    own = [f"ClusterName={CLUSTER_NAME}", *_kinds_line(configuration, nodes), *_nodes(nodes)]
    _write_policy(directory, configuration, own)


def munge_arguments(directory: Path) -> list[str]:
    """Return the arguments of a private munged.

    The directory is closed to other users, which munged only accepts with --force.
    """
    files = {
        "key-file": "munge.key",
        "socket": "munge.socket",
        "pid-file": "munged.pid",
        "seed-file": "munge.seed",
    }
    return [
        "--foreground",
        "--force",
        f"--log-file={directory / 'log/munged.log'}",
        *(f"--{option}={directory / name}" for option, name in files.items()),
    ]


def user_name() -> str:
    """Return the name of the user that runs the daemons."""
    # Not from the environment, which may belong to another user.
    return pwd.getpwuid(os.getuid()).pw_name


def _own(directory: Path, port: int) -> list[str]:
    user = user_name()
    return [
        f"ClusterName={CLUSTER_NAME}",
        "SlurmctldHost=localhost(127.0.0.1)",
        f"SlurmUser={user}",
        f"SlurmdUser={user}",
        f"SlurmctldPort={port}",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        f"AuthInfo=socket={directory}/munge.socket",
        "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
        f"StateSaveLocation={directory}/state",
        f"SlurmdSpoolDir={directory}/spool/%n",
        f"SlurmctldPidFile={directory}/slurmctld.pid",
        f"SlurmdPidFile={directory}/slurmd.%n.pid",
        f"SlurmctldLogFile={directory}/log/slurmctld.log",
        f"SlurmdLogFile={directory}/log/slurmd.%n.log",
        "LogTimeFormat=iso8601_ms",
        # The work of the controller is measured in its log.
        f"SlurmctldDebug={LOG_LEVEL}",
        # Track steps by process groups, so that control groups of the machine are not used.
        "ProctrackType=proctrack/linuxproc",
        f"MailProg={shutil.which('true') or '/bin/true'}",
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={directory}/log/jobcomp.txt",
        "PropagateResourceLimits=NONE",
        # A node has the resources of its line, not those of the machine.
        "SlurmdParameters=config_overrides",
        "ReturnToService=2",
        f"MinJobAge={_LONGEST_KEPT}",
    ]


def _write_policy(directory: Path, configuration: Configuration, own: Sequence[str]) -> None:
    """Write a ``slurm.conf`` of these lines and the policy, and copy the other files that Slurm reads.

    Such files contain topologies, generic resources, and Lua scripts.
    """
    for file in sorted(configuration.path.parent.iterdir()):
        if file.is_file() and file.suffix in (".conf", ".lua") and file.name not in _NOT_COPIED:
            shutil.copyfile(file, directory / file.name)
    text = "\n".join([*own, *configuration.policy_lines])
    (directory / "slurm.conf").write_text(text + "\n", "utf-8")


def _nodes(nodes: Sequence[Node], ports: Sequence[int] | None = None) -> list[str]:
    """Return node lines: one for the nodes of a line in the user's file, and for consecutive equal nodes.

    A line is a configuration record in Slurm. select/linear searches nodes record by record: with one line
    per node it would select the first idle nodes instead of neighbouring ones.
    """
    lines = []
    described = zip(nodes, ports or [0] * len(nodes), strict=True)
    for (_, more), each in groupby(described, lambda pair: (pair[0].line, pair[0].more)):
        names, numbers = zip(*((node.name, str(port)) for node, port in each), strict=True)
        of_network = "NodeHostname=localhost NodeAddr=127.0.0.1 State=UNKNOWN "
        own = "" if ports is None else f"{of_network}Port=[{','.join(numbers)}] "
        lines.append(f"NodeName={','.join(names)} {own}{' '.join(more)}")
    return lines
