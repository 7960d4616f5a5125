"""The releases of Slurm, which differ in keys and meanings."""

from __future__ import annotations

import re

from batchlab.errors import SystemDescriptionError, shown

__all__ = ["RELEASES", "at", "release"]

RELEASES = (
    *("20.02", "20.11", "21.08", "22.05", "23.02", "23.11"),
    *("24.05", "24.11", "25.05", "25.11", "26.05", "26.11"),
)
"""The known releases, in order."""

_RELEASE = re.compile(r"(\d\d\.\d\d)(?:\..*|-.*)?")


def release(version: str) -> str:
    """Return the release of a version.

    Parameters
    ----------
    version
        As printed by ``sinfo --version``: ``"22.05.8"``; or the release itself.

    Returns
    -------
    str
        A member of `RELEASES`.

    Raises
    ------
    SystemDescriptionError
        If the release is unknown.

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
    """Return the index of a release in their order."""
    return RELEASES.index(name)
