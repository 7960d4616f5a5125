"""Parse and write the column ``dependency``, in the syntax of Slurm's ``sbatch --dependency``."""

import re
from functools import lru_cache
from typing import NamedTuple

__all__: list[str] = []

KINDS = ("after", "afterok", "afternotok", "afterany")
SINGLETON = "singleton"
ALL, ANY = ",", "?"
RULE = "must be like 'afterok:12:13,afterany:7', 'after:12+30?afternotok:12_3' or 'singleton'"
_TARGET = re.compile(r"(-?\d{1,18})(?:_(\d{1,9}))?(?:\+(\d{1,9}))?")


class Target(NamedTuple):
    """A job, an array, or the task of an array; ``minutes`` is the delay after the start."""

    job: int
    task: int | None
    minutes: int

    def __str__(self) -> str:
        """Write the target in Slurm's syntax."""
        task = "" if self.task is None else f"_{self.task}"
        return f"{self.job}{task}" + (f"+{self.minutes}" if self.minutes else "")


class Term(NamedTuple):
    """A condition on other jobs; ``singleton`` has no targets."""

    kind: str
    targets: tuple[Target, ...]

    def __str__(self) -> str:
        """Write the term in Slurm's syntax."""
        return ":".join([self.kind, *map(str, self.targets)])


class Dependency(NamedTuple):
    """The conditions for the start of a job: all terms, or any of them."""

    terms: tuple[Term, ...]
    is_any: bool

    def __str__(self) -> str:
        """Write the dependency in Slurm's syntax."""
        return (ANY if self.is_any else ALL).join(map(str, self.terms))


@lru_cache(maxsize=1 << 16)
def parse(text: str) -> Dependency | None:
    """Parse a text; None if the syntax is invalid."""
    is_any = ANY in text
    if is_any and ALL in text:
        return None
    terms = [_term(part.strip()) for part in text.split(ANY if is_any else ALL)]
    known = tuple(term for term in terms if term is not None)
    return Dependency(known, is_any) if len(known) == len(terms) else None


def _term(text: str) -> Term | None:
    kind, *others = text.split(":")
    if kind == SINGLETON:
        return None if others else Term(kind, ())
    matches = [_TARGET.fullmatch(other) for other in others]
    if kind not in KINDS or not matches:
        return None
    targets = []
    for match in matches:
        if match is None or (match[3] and kind != "after"):
            return None
        task = None if match[2] is None else int(match[2])
        targets.append(Target(int(match[1]), task, int(match[3] or 0)))
    return Term(kind, tuple(targets))
