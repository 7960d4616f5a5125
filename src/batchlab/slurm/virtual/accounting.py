"""The accounting of a virtual cluster: slurmdbd with a private MariaDB."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "ACCOUNTS",
    "COMMANDS",
    "NONE",
    "account_commands",
    "database_arguments",
    "installation_arguments",
    "prepare",
    "slurm_lines",
]

ACCOUNTS = "accounts.cfg"
COMMANDS = "sacctmgr.txt"
"""The dump of ``sacctmgr`` to load, and the file with sacctmgr commands."""

NONE = ("AccountingStorageType=accounting_storage/none",)
"""The lines of slurm.conf without accounting."""


def prepare(directory: Path, port: int, user: str) -> None:
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
    commands = [["add", "cluster", cluster]]
    if (configured / COMMANDS).is_file():
        lines = (configured / COMMANDS).read_text("utf-8", "replace").splitlines()
        commands += [shlex.split(line, comments=True) for line in lines]
    if (configured / ACCOUNTS).is_file():
        commands.append(["load", f"file={(configured / ACCOUNTS).resolve()}", f"cluster={cluster}"])
    return [command for command in commands if command]


def slurm_lines(directory: Path, port: int) -> Sequence[str]:
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
