"""The files of dumps: their contents as JSON or text, and errors that name file, record, field and value."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from batchlab.core.documents import DocumentReader, shown_path
from batchlab.errors import DumpError, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Place", "Source", "read_source", "release_of"]

_MOST_MEBIBYTES = 1024
_AGAIN = "Write the dump again"


@dataclass(frozen=True)
class Place:
    """A record of a dump: its file, and how messages name it."""

    file: str
    record: str

    def refuse(self, field: str, value: object, rule: str) -> NoReturn:
        """Raise the error of a field that breaks a rule."""
        raise DumpError(
            f"{self.file}: {self.record}: {one_line(field)} = {shown(value)}; {rule}. {_AGAIN}."
        ) from None

    def lacks(self, field: str) -> NoReturn:
        """Raise the error of a missing field."""
        raise DumpError(f"{self.file}: {self.record}: has no {one_line(field)}. {_AGAIN}.") from None


@dataclass(frozen=True)
class Source:
    """The contents of a file: a JSON object, or text."""

    file: str
    text: str
    document: Mapping[str, object] | None

    def refuse(self, rule: str) -> NoReturn:
        """Raise the error of a whole file."""
        raise DumpError(f"{self.file}: {rule}") from None


def read_source(path: str | os.PathLike[str], noun: str, commands: str) -> Source:
    """Read a file.

    Parameters
    ----------
    path
        The file.
    noun
        Name of its contents, such as ``"jobs"``.
    commands
        The commands that write such a file, for messages.

    Raises
    ------
    DumpError
        If the file cannot be read, is no UTF-8 text, or begins as JSON and is not.
    """
    try:
        file = os.fsdecode(path)
    except TypeError:
        raise DumpError(f"{noun} = {shown(path)}; must be the path of a dump by {commands}.") from None
    reader = DocumentReader(DumpError, noun="dump", most=_MOST_MEBIBYTES)
    try:
        text = reader.text(reader.content(file))
        document = reader.json(text) if text.lstrip()[:1] in {"{", "["} else None
    except DumpError as error:
        raise reader.named(file, error) from None
    source = Source(shown_path(file), text, None)
    if document is None:
        if not text.strip():
            source.refuse(f"is empty. Write it again by {commands}.")
        return source
    if not isinstance(document, dict):
        source.refuse(f"is a list; the dump is an object. Write it again by {commands}.")
    if errors := document.get("errors"):
        source.refuse(f"Slurm could not write it: errors = {shown(errors)}. Write it again by {commands}.")
    return Source(source.file, "", document)


def release_of(source: Source) -> str:
    """Return the release of Slurm that a JSON dump names; empty if it names none."""
    meta = None if source.document is None else source.document.get("meta")
    if isinstance(meta, dict):
        for name in ("slurm", "Slurm"):
            slurm = meta.get(name)
            if isinstance(slurm, dict) and isinstance(slurm.get("release"), str):
                return one_line(slurm["release"])
    return ""
