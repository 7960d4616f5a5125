"""The releases of Slurm, by which keys and meanings are told apart."""

from __future__ import annotations

import re

from batchlab.errors import SystemDescriptionError, shown

__all__ = ["RELEASES", "at", "release"]

RELEASES = (
    *("20.02", "20.11", "21.08", "22.05", "23.02", "23.11"),
    *("24.05", "24.11", "25.05", "25.11", "26.05", "26.11"),
)
"""The releases whose configurations are known, in their order."""

_RELEASE = re.compile(r"(\d\d\.\d\d)(?:\..*|-.*)?")


def release(version: str) -> str:
    """Give the release of a version.

    Parameters
    ----------
    version
        As ``sinfo --version`` has it: ``"22.05.8"``; or the release itself.

    Returns
    -------
    str
        A member of `RELEASES`.

    Raises
    ------
    SystemDescriptionError
        If it is none of them.

    Examples
    --------
    >>> release("22.05.8")
    '22.05'
    """
    match = _RELEASE.fullmatch(version.strip()) if isinstance(version, str) else None
    if match is None or match[1] not in RELEASES:
        raise SystemDescriptionError(
            f"version = {shown(version)}; must be a version of Slurm, as 22.05.8, of one of the releases "
            f"{', '.join(RELEASES)}."
        )
    return match[1]


def at(name: str) -> int:
    """Give the place of a release in their order."""
    return RELEASES.index(name)
