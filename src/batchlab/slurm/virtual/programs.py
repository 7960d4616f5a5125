"""Locate Slurm's programs, and name the packages that contain them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

from batchlab.errors import BridgeError

__all__ = ["ACCOUNTING_PROGRAMS", "PROGRAMS", "find_programs", "version"]

PROGRAMS = {
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

ACCOUNTING_PROGRAMS = {
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
    needed = PROGRAMS | (ACCOUNTING_PROGRAMS if accounting else {})
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
