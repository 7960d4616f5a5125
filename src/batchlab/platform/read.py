"""Files that describe platforms: `read_platform` finds out which form a file has.

What the forms mean is in `simgrid` (XML) and `own` (TOML); here are the bytes.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO, TextIO

from batchlab.documents import DocumentReader, shown_path
from batchlab.errors import PlatformError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab.platform.platform import Platform

__all__ = ["read_platform"]

_DOCUMENTS = DocumentReader(PlatformError, most=256)


def read_platform(
    source: str | os.PathLike[str] | TextIO | BinaryIO,
    *,
    read_links: Iterable[str] | None = None,
    write_links: Iterable[str] | None = None,
) -> Platform:
    """Read the description of a platform.

    Parameters
    ----------
    source
        A file in SimGrid's XML (versions 4 and 4.1, with ElastiSim's properties; see
        `batchlab.platform.simgrid`), or in batchlab's TOML (see `batchlab.platform.toml_format`): its path,
        or the open file. Names that end in ``.xml`` or ``.toml`` are believed; otherwise the content decides.
    read_links, write_links
        Names of links whose load is that of reading from the parallel file system, and of writing to it: XML
        has no place for them (an ElastiSim project has them in its configuration). What the file says itself
        (TOML) unless given.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    PlatformError
        If there is no such file, or it is not what it should be; the message names file and line (in TOML the
        path into the document), the value, the rule and the next step.
    """
    # `--help` does without either.
    from batchlab.platform import simgrid, toml_format  # noqa: PLC0415

    name, content = _content(source)
    suffix = PurePath(name).suffix.lower()
    is_xml = suffix == ".xml" or (
        suffix != ".toml" and content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    )
    platform = simgrid.platform(content, name) if is_xml else toml_format.platform(content, name)
    return platform.with_storage_links(
        platform.read_links if read_links is None else read_links,
        platform.write_links if write_links is None else write_links,
    )


def _content(source: str | os.PathLike[str] | TextIO | BinaryIO) -> tuple[str, bytes]:
    """Read everything; say what the file is called."""
    try:
        if isinstance(source, str | os.PathLike):
            name = shown_path(os.fspath(source))
            content = _DOCUMENTS.content(os.fspath(source))
        else:
            name = str(getattr(source, "name", "platform"))
            content = _DOCUMENTS.checked(_read(source))
    except PlatformError as error:
        raise PlatformError(f"{name}: {error}") from None
    if not content.strip():
        raise PlatformError(f"{name}: is empty; a description has at least one host.")
    return name, content


def _read(stream: TextIO | BinaryIO) -> bytes:
    given = stream.read()
    return given.encode() if isinstance(given, str) else given
