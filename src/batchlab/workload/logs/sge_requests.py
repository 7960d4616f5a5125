"""Parse requests in Grid Engine: the field ``category`` of its accounting.

Options as in qsub(1), units as in complex(5): k, m, g are powers of 1000, K, M, G of 1024.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["Category", "category_of", "kilobytes_of", "seconds_of"]

_OPTION = re.compile(r"(?:^|\s)-(?=[a-zA-Z])")
_SIZE = re.compile(r"(\d{1,18}(?:\.\d*)?)([kmgtKMGT]?)(?:[bB])?")
_CLOCK = re.compile(r"(\d{1,9}):(\d{1,9}):(\d{1,9}(?:\.\d*)?)")
_EXPONENTS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_KILOBYTE = 1024.0
_TRUE = ("true", "1")


@dataclass(frozen=True)
class Category:
    """The hard requests of a job: resources by name, and its project."""

    resources: dict[str, str] = field(default_factory=dict)
    project: str | None = None
    reservation: str | None = None

    def first(self, names: Sequence[str]) -> str | None:
        """Return the value of the first of several resources that the job requests."""
        return next((self.resources[name] for name in names if name in self.resources), None)

    @property
    def exclusive(self) -> bool:
        """True if the job requests exclusive hosts."""
        return self.resources.get("exclusive", self.resources.get("excl", "")).lower() in _TRUE


def category_of(text: str) -> Category:
    """Parse a category; requests after ``-soft`` are ignored, since they are not required.

    Examples
    --------
    >>> category_of("-l gpu=1,h_rt=7200 -soft -l arch=x -pe mpi 16").resources
    {'gpu': '1', 'h_rt': '7200'}
    """
    resources: dict[str, str] = {}
    project = reservation = None
    is_soft = False
    for option in _OPTION.split(text):
        name, _, value = option.strip().partition(" ")
        if name in ("soft", "hard"):
            is_soft = name == "soft"
        elif name == "l" and not is_soft:
            pairs = (pair.partition("=") for pair in value.strip().split(","))
            resources |= {key.strip(): found.strip() or "TRUE" for key, _, found in pairs if key.strip()}
        elif name == "P":
            project = value.strip() or None
        elif name == "ar":
            reservation = value.strip() or None
    return Category(resources, project, reservation)


def kilobytes_of(text: str | None) -> float | None:
    """Parse a memory request as kB of 1024 bytes; None if invalid."""
    match = None if text is None else _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    base = 1000.0 if match[2].islower() else _KILOBYTE
    return float(match[1]) * base ** _EXPONENTS[match[2].lower()] / _KILOBYTE


def seconds_of(text: str | None) -> float | None:
    """Parse a time request as seconds: ``7200`` or ``2:00:00``; None if invalid."""
    bare = "" if text is None else text.strip()
    clock = _CLOCK.fullmatch(bare)
    if clock is not None:
        return (float(clock[1]) * 60 + float(clock[2])) * 60 + float(clock[3])
    return float(bare) if re.fullmatch(r"\d{1,15}(?:\.\d*)?", bare) else None
