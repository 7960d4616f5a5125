"""Slurm's lists of host names: ``n[01-03,7],login``."""

from __future__ import annotations

import re

from batchlab.errors import BridgeError, one_line

__all__ = ["expand"]

_MOST = 65_536
_ITEM = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"([^\[\]]*)\[([^\[\]]+)\](.*)", re.DOTALL)
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


def expand(text: str) -> list[str]:
    """Give the names in a list of hosts, in its order.

    Parameters
    ----------
    text
        Names with commas between them; a bracket holds numbers and ranges, whose leading zeros are kept.

    Returns
    -------
    list of str

    Raises
    ------
    BridgeError
        If a range is none, or there are more than 65,536 names.
    """
    names = [name for item in _ITEM.findall(text) for name in _names(item.strip(), text)]
    if len(names) > _MOST:
        raise BridgeError(f"{one_line(text)}: {len(names)} hosts; must be at most {_MOST}.")
    return names


def _names(item: str, whole: str) -> list[str]:
    found = _PART.fullmatch(item)
    if found is None:
        return [item] if item else []
    rest = _names(found[3], whole) or [""]
    numbers: list[str] = []
    for piece in found[2].split(","):
        limits = _RANGE.fullmatch(piece.strip())
        first, last = (limits[1], limits[2] or limits[1]) if limits else ("1", "0")
        if not 0 <= int(last) - int(first) < _MOST:
            raise BridgeError(f"{one_line(whole)}: {piece!r} is no range of hosts; write e.g. n[1-8].")
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return [f"{found[1]}{number}{end}" for number in numbers for end in rest]
