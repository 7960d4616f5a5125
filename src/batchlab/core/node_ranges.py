"""Ranges of node numbers in texts: ``0-11,16``."""

import re
from collections.abc import Sequence

__all__ = ["node_beyond", "node_ranges", "ranges_of"]

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")


def node_ranges(value: object) -> list[tuple[int, int]]:
    """Parse ranges of nodes.

    Parameters
    ----------
    value
        A text such as ``"0-11,16"``; an empty text has no ranges.

    Returns
    -------
    list of tuple
        For each range, its first node and the node after its last.

    Raises
    ------
    ValueError
        If the text is invalid; the message is the rule.
    """
    rule = 'must be ranges of node numbers, e.g. "0-11,16"'
    if not isinstance(value, str):
        raise ValueError(rule)  # noqa: TRY004  # an error of the description, as all others
    ranges = []
    for part in value.replace(" ", "").split(",") if value.strip() else []:
        found = _RANGE.fullmatch(part)
        if found is None or (found[2] is not None and int(found[2]) < int(found[1])):
            raise ValueError(rule)
        ranges.append((int(found[1]), int(found[2] or found[1]) + 1))
    return ranges


def node_beyond(value: str, nodes: int) -> int | None:
    """Return the last node of the first range that exceeds the number of nodes; None if all are valid."""
    return next((end - 1 for _, end in node_ranges(value) if end > nodes), None)


def ranges_of(numbers: Sequence[int]) -> str:
    """Format ascending numbers as ranges: ``0-11,16``."""
    parts: list[str] = []
    begin = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            first, last = numbers[begin], numbers[end - 1]
            parts.append(str(first) if first == last else f"{first}-{last}")
            begin = end
    return ",".join(parts)
