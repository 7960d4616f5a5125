"""Read the lines of a file and its included files, with their positions; continuations are joined."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from batchlab.core.documents import DocumentReader, shown_path
from batchlab.errors import SystemDescriptionError, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Mended", "Place", "joined", "lines_of", "refuse", "text_of"]


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; for several lines, the first."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{shown_path(self.file)}:{self.line}"


def refuse(place: Place, rule: str) -> NoReturn:
    """Raise an error for a position."""
    raise SystemDescriptionError(f"{place}: {rule}")


@dataclass(frozen=True)
class Mended:
    """A correction that Slurm makes with a message, and its position."""

    place: Place
    says: str


_DOCUMENTS = DocumentReader(SystemDescriptionError, noun="configuration", most=16)
_COMMENT = re.compile(r"(?<!\\)#.*")
_INCLUDE = re.compile(r"include\s+(\S.*?)\s*", re.IGNORECASE)
_CLUSTER = re.compile(r"\s*clustername\s*=\s*\"?([^\s\"#]+)", re.IGNORECASE)
_MOST_FILES = 1000
# Control characters that do not occur in text; line ends, form feeds and the DOS end of file are excluded.
_BINARY = re.compile(rb"[\x00-\x07\x0e-\x19\x1c-\x1f]")


def text_of(file: str) -> str:
    """Read a text file; invalid UTF-8, for example in comments and personal names, is replaced.

    Raises
    ------
    SystemDescriptionError
        If the file cannot be read, or is binary.
    """
    try:
        content = _DOCUMENTS.content(file)
    except SystemDescriptionError as error:
        raise SystemDescriptionError(f"{shown_path(file)}: {error}") from None
    if binary := _BINARY.search(content):
        found = f"is a binary file (byte {binary.start()} is {binary[0][0]})"
        raise SystemDescriptionError(
            f"{shown_path(file)}: {found}; Slurm's files are text. Give slurm.conf or its folder."
        )
    return content.decode("utf-8-sig", "replace")


def joined(text: str, file: str) -> Iterator[tuple[Place, str]]:
    """Yield the non-empty lines of a text, joined with the next line after a backslash."""
    begun, first = list[str](), 0
    for number, raw in enumerate(text.splitlines(), 1):
        line = _COMMENT.sub("", raw).replace("\\#", "#").rstrip()
        first = first if begun else number
        if line.endswith("\\"):
            # A part without text does not begin a line.
            begun += filter(None, [line[:-1]])
            continue
        if whole := "".join([*begun, line]).strip():
            yield Place(file, first), whole
        begun = []
    if whole := "".join(begun).strip():
        yield Place(file, first), whole


def lines_of(file: str) -> Iterator[tuple[Place, str]]:
    """Yield the lines of a file, with the lines of included files in their places.

    Paths of included files are relative to the folder of the file; ``%c`` in them is the name of the cluster.
    An absolute path that does not exist belongs to another machine: its suffixes are looked up in the folder.

    Raises
    ------
    SystemDescriptionError
        If a file cannot be read, or includes itself.
    """
    cluster = _CLUSTER.search("\n".join(line for _, line in joined(text_of(file), file)))
    yield from _included(file, cluster[1].lower() if cluster else "", [file], [0])


def _included(file: str, cluster: str, path: list[str], count: list[int]) -> Iterator[tuple[Place, str]]:
    for place, line in joined(text_of(file), file):
        match = _INCLUDE.fullmatch(line)
        if match is None:
            yield place, line
            continue
        name = match[1].strip('"').replace("%c", cluster)
        target = _target(os.path.dirname(path[0]), name)  # noqa: PTH120  # keeps the path as written
        count[0] += 1
        if target in path or count[0] > _MOST_FILES:
            rule = "includes itself" if target in path else f"makes more than {_MOST_FILES} files"
            refuse(place, f"Include {one_line(name)} {rule}. Take one of the lines out.")
        if not os.path.isfile(target):  # noqa: PTH113  # as above
            refuse(place, f"Include {one_line(name)}: there is no file {shown_path(target)}. Put it there.")
        yield from _included(target, cluster, [*path, target], count)


def _target(folder: str, name: str) -> str:
    """Return the path of an included file; a missing absolute path is searched by suffixes in the folder."""
    target = os.path.join(folder, name)  # noqa: PTH118  # keeps the path as written
    if not os.path.isabs(name) or os.path.isfile(target):  # noqa: PTH113, PTH117  # as above
        return target
    parts = [part for part in name.split("/") if part]
    ends = (os.path.join(folder, *parts[begin:]) for begin in range(len(parts)))  # noqa: PTH118  # as above
    return next((each for each in ends if os.path.isfile(each)), target)  # noqa: PTH113  # as above
