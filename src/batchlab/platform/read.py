"""Read platform files; `read_platform` detects the format.

`simgrid` (XML) and `toml_format` (TOML) parse the formats.
"""

from __future__ import annotations

import os
from pathlib import PurePath
from typing import TYPE_CHECKING, BinaryIO, TextIO

from batchlab.core.arguments import checked
from batchlab.core.documents import DocumentReader, shown_path
from batchlab.errors import PlatformError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from batchlab.platform.platform import Platform

__all__ = ["read_platform"]

_DOCUMENTS = DocumentReader(PlatformError, most=256)


@checked(PlatformError)
def read_platform(
    source: str | os.PathLike[str] | TextIO | BinaryIO,
    *,
    read_links: Iterable[str] | None = None,
    write_links: Iterable[str] | None = None,
) -> Platform:
    """Read a platform from a file.

    Parameters
    ----------
    source
        A file in SimGrid's XML (versions 4 and 4.1, with ElastiSim's properties; see
        `batchlab.platform.simgrid`), or in batchlab's TOML (see `batchlab.platform.toml_format`): its path,
        or the open file. The suffixes ``.xml`` and ``.toml`` determine the format, otherwise the content.
    read_links, write_links
        Names of the links that count as load of reading from the parallel file system, and of writing to it.
        XML cannot specify them (an ElastiSim project has them in its configuration); by default, those of the
        TOML file.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    PlatformError
        If the file does not exist or is invalid; the message names file and line (in TOML the path in the
        document), the value, the rule and the next step.
    """
    # Imported late, since `--help` needs neither.
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
    """Return the name and the content of a file."""
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
