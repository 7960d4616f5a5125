"""Host lists in the syntax of Slurm and PBS."""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


MOST_HOSTS = 1_000_000
"""Maximum number of names that are expanded from one list."""

_ITEM = re.compile(r"(?:\[[^\]]*\]|[^,\[\]])+")
_PART = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?(?::(\d{1,9}))?")


def hosts(text: str, *, most: int = MOST_HOSTS) -> list[str] | None:
    """Expand a host list into names.

    Parameters
    ----------
    text
        For example ``vn[0-3,7],login``. Leading zeros are kept, a name may have several brackets, and a range
        may have a step: ``vn[0-6:2]``.
    most
        Maximum number of names.

    Returns
    -------
    list or None
        The names in the order of the list; None if the syntax is invalid or there are more than ``most``
        names.

    Examples
    --------
    >>> hosts("vn[08-10],login")
    ['vn08', 'vn09', 'vn10', 'login']
    """
    names: list[str] = []
    for item in filter(None, map(str.strip, _ITEM.findall(text))):
        parts = _PART.split(item)
        if any("[" in part or "]" in part for part in parts[::2]):
            return None
        choices = [_numbers(part, most) if index % 2 else [part] for index, part in enumerate(parts)]
        found = 1
        for choice in choices:
            if choice is None:
                return None
            found *= len(choice)
        if len(names) + found > most:
            return None
        names += ["".join(each) for each in product(*(choice or () for choice in choices))]
    return names


def _numbers(text: str, most: int) -> list[str] | None:
    """Expand the ranges in a bracket; None if a range is invalid, descends, or has too many numbers."""
    found: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            return None
        first, last, step = match[1], match[2] or match[1], int(match[3] or 1)
        if not step or not 0 <= int(last) - int(first) <= (most - len(found)) * step:
            return None
        found += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1, step)]
    return found


def executing_hosts(text: str) -> list[str]:
    """Return the distinct names in an ``exec_host`` or ``exec_vnode`` of PBS, in order.

    Examples
    --------
    >>> executing_hosts("n1/0*4+n2/0-3"), executing_hosts("(n1:ncpus=8)+(n2:ncpus=4)")
    (['n1', 'n2'], ['n1', 'n2'])
    """
    parts = text.translate({ord("("): None, ord(")"): None}).split("+")
    return list(dict.fromkeys(part.partition("/")[0].partition(":")[0] for part in parts if part))


def names_of(lists: pl.Series) -> pl.Series:
    """Return the names of each host list, of Slurm or PBS; null if a list cannot be parsed."""
    import polars as pl  # noqa: PLC0415  # readers of configurations do without

    known = {
        text: executing_hosts(text) if "/" in text or text.startswith("(") else hosts(text)
        for text in lists.unique().drop_nulls()
    }
    return pl.Series("node_names", [known.get(text) for text in lists], dtype=pl.List(pl.String))
