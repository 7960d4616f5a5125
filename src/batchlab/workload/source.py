"""The bytes of a log: from a path, an open file or lines, plain or gzip."""

import os
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice

from batchlab.errors import WorkloadError, shown

__all__ = ["name_of", "pieces", "text_of", "unpacked"]

_BLOCK = 1 << 20
_LINES_AT_ONCE = 4096
_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31


def name_of(source: object) -> str:
    """Name the source in messages: by its path, where it has one."""
    if isinstance(source, str | os.PathLike):
        return os.fsdecode(source)
    name = getattr(source, "name", None)
    if isinstance(name, str):
        return name
    return "file" if hasattr(source, "read") else "lines"


def pieces(source: object, name: str) -> Iterator[bytes]:
    """Give the bytes of an open file or of lines, in pieces of convenient size."""
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


def unpacked(packed: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Unpack gzip, of any number of members; give anything else as it is."""
    first = next(packed, b"")
    whole = chain([first], packed)
    if not first.startswith(_GZIP_MAGIC):
        yield from whole
        return
    member = zlib.decompressobj(_GZIP_WINDOW)
    try:
        for piece in whole:
            rest = piece
            while rest:
                if member.eof:
                    member = zlib.decompressobj(_GZIP_WINDOW)
                # A piece may be a thousand times as long unpacked.
                yield member.decompress(rest, _BLOCK)
                rest = member.unconsumed_tail or member.unused_data
    except zlib.error as error:
        raise WorkloadError(f"{name}: the gzip stream is damaged: {error}. Get the file anew.") from error
    if not member.eof:
        raise WorkloadError(
            f"{name}: the gzip stream is cut short. Get the file anew, or unpack what is left of it."
        )


def text_of(source: object) -> tuple[str, str]:
    """Read a whole log of text.

    Parameters
    ----------
    source
        A path, an open file (text or binary; gzip is known by its content), or an iterable of lines.

    Returns
    -------
    tuple
        The source's name for messages; and its text, in which bytes that are no UTF-8 are escaped.

    Raises
    ------
    WorkloadError
        If it cannot be read.
    """
    name = name_of(source)
    if not isinstance(source, str | os.PathLike):
        return name, _decoded(unpacked(pieces(source, name), name))
    try:
        with open(source, "rb") as file:  # noqa: PTH123  # paths of bytes too
            return name, _decoded(unpacked(pieces(file, name), name))
    except OSError as error:
        reason = error.strerror or str(error)
        raise WorkloadError(
            f"{name}: cannot be read: {reason}. Give the path of a log, plain or gzip."
        ) from error


def _decoded(blocks: Iterator[bytes]) -> str:
    # A mark of the byte order is none of the first field's letters.
    return b"".join(blocks).decode("utf-8", "backslashreplace").removeprefix("\ufeff")
