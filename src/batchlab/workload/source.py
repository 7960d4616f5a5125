"""The bytes of a log: from a path, an open file or lines, plain or compressed."""

import os
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, TypeAlias

from batchlab.errors import WorkloadError, shown
from batchlab.workload.packing import unpacked

LogSource: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes] | Iterable[str | bytes]
"""A path, an open file, or an iterable of lines."""

_BLOCK = 1 << 20
_LINES_AT_ONCE = 4096
_LONGEST_LINE = 1 << 24


def name_of(source: object) -> str:
    """Return the name of a source for messages: its path, if it has one."""
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(source)
    name = getattr(source, "name", None)
    if isinstance(name, str):
        return name
    return "file" if hasattr(source, "read") else "lines"


def pieces(source: object, name: str) -> Iterator[bytes]:
    """Yield the bytes of an open file or of lines, in chunks of convenient size."""
    read = getattr(source, "read", None)
    if callable(read):
        blocks: Iterator[object] = iter(partial(read, _BLOCK), None)
        try:
            for piece in blocks:
                if not piece:
                    return
                yield _as_bytes(piece, name)
        except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
            raise WorkloadError(
                f"{name}: cannot be read: {error}. Give the path, or a file opened in mode 'rb'."
            ) from error
        return
    if not isinstance(source, Iterable) or isinstance(source, bytes | bytearray):
        raise WorkloadError(
            f"source = {shown(source)}, a {type(source).__name__}; must be a path, an open file or "
            "an iterable of lines."
        )
    lines = (_as_bytes(line, name).removesuffix(b"\n") + b"\n" for line in source)
    while piece := b"".join(islice(lines, _LINES_AT_ONCE)):
        yield piece


def _as_bytes(text: object, name: str) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "backslashreplace")
    if isinstance(text, bytes | bytearray | memoryview):
        return bytes(text)
    raise WorkloadError(
        f"{name}: {shown(text)} is of type {type(text).__name__}; a log's lines must be str or bytes."
    )


def text_of(source: object) -> tuple[str, str]:
    """Read a complete text log.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.

    Returns
    -------
    tuple
        The name of the source for messages; and its text, in which bytes that are not UTF-8 are escaped.

    Raises
    ------
    WorkloadError
        If the source cannot be read.
    """
    name = name_of(source)
    if not isinstance(source, str | os.PathLike):
        return name, _decoded(unpacked(pieces(source, name), name))
    with opened(source, name) as file:
        return name, _decoded(unpacked(pieces(file, name), name))


def content_of(path: Path) -> bytes:
    """Return the content of a file, decompressed.

    Raises
    ------
    OSError
        If the file cannot be opened.
    WorkloadError
        If the file cannot be read or decompressed.
    """
    name = str(path)
    with path.open("rb") as file:
        return b"".join(unpacked(pieces(file, name), name))


def lines_of(source: object) -> Iterator[str]:
    """Read a text log line by line; only one chunk is in memory.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.

    Yields
    ------
    str
        Each line without its end; bytes that are not UTF-8 are escaped.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or a line is longer than 16 MiB.
    """
    name = name_of(source)
    if not isinstance(source, str | os.PathLike):
        yield from _split(unpacked(pieces(source, name), name), name)
        return
    with opened(source, name) as file:
        yield from _split(unpacked(pieces(file, name), name), name)


def _split(blocks: Iterator[bytes], name: str) -> Iterator[str]:
    number, begun, length = 0, list[bytes](), 0
    for block in blocks:
        first, *others = block.split(b"\n")
        begun.append(first)
        length += len(first)
        for other in others:
            number += 1
            yield _line(b"".join(begun), number)
            begun, length = [other], len(other)
        if length > _LONGEST_LINE:
            raise WorkloadError(f"{name}:{number + 1}: is longer than 16 MiB. Break the line.")
    if length:
        yield _line(b"".join(begun), number + 1)


def _line(line: bytes, number: int) -> str:
    text = line.removesuffix(b"\r").decode("utf-8", "backslashreplace")
    return text.removeprefix("\ufeff") if number == 1 else text


def not_readable(name: str, error: OSError) -> WorkloadError:
    """Return the error for a log that cannot be opened."""
    reason = error.strerror or str(error)
    return WorkloadError(f"{name}: cannot be read: {reason}. Give the path of a log, plain or packed.")


def opened(path: str | os.PathLike[str], name: str) -> BinaryIO:
    """Open a file in binary mode; raise a `WorkloadError` on failure."""
    try:
        return open(path, "rb")  # noqa: PTH123  # also bytes paths; the caller closes it
    except OSError as error:
        raise not_readable(name, error) from error


def _decoded(blocks: Iterator[bytes]) -> str:
    # A byte order mark is not part of the first field.
    return b"".join(blocks).decode("utf-8", "backslashreplace").removeprefix("\ufeff")
