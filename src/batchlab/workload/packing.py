"""Compressed files: detect the compression by the first bytes, and read the content in chunks.

Supported are gzip (RFC 1952), bzip2, xz, ZIP with one file (PKWARE's APPNOTE.TXT) and Zstandard (RFC 8878).
Errors about other formats and archives name the format and a command that unpacks it.
"""

from __future__ import annotations

import bz2
import io
import lzma
import struct
import zlib
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from batchlab.errors import WorkloadError, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_BLOCK = 1 << 20
_HEAD_LENGTH = 4096
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "ZIP",
    b"PK\x05\x06": "ZIP",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"\x1f\x9d": "compress",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a\x07": "RAR",
    b"\x04\x22\x4d\x18": "LZ4",
}
_TAR, _TAR_AT = b"ustar", 257
_COMMANDS = {
    "compress": "uncompress FILE.Z",
    "7z": "7z x FILE",
    "RAR": "unrar x FILE",
    "LZ4": "lz4 -d FILE",
    "tar": "tar -xf FILE",
}
PACKINGS = (".gz", ".bz2", ".xz", ".zip", ".zst")
"""The suffixes of compressed files that readers accept; the compression is detected by content."""

_GZIP_WINDOW = 31
_RAW_DEFLATE = -15
_MOST_MEMORY = 1 << 29
_DAMAGED = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


def without_packing(name: str) -> str:
    """Return the name of a file without a compression suffix."""
    return next((name.removesuffix(each) for each in PACKINGS if name.endswith(each)), name)


def packing_of(begin: bytes) -> str | None:
    """Return the compression that the first bytes of a file show; None for a plain file.

    Examples
    --------
    >>> packing_of(b"BZh91AY"), packing_of(b"; MaxProcs: 8")
    ('bzip2', None)
    """
    found = next((name for magic, name in _MAGIC.items() if begin.startswith(magic)), None)
    return "tar" if found is None and begin[_TAR_AT:].startswith(_TAR) else found


def is_plain_or_gzip(name: str) -> bool:
    """Return whether a file is plain or gzip, or cannot be inspected, such as a pipe.

    Raises
    ------
    WorkloadError
        If the gzip contains a tar archive.
    """
    path = Path(name)
    try:
        if not path.is_file():
            return True
        with path.open("rb") as file:
            begin = file.read(_HEAD_LENGTH)
    except (OSError, ValueError):
        return True
    kind = packing_of(begin)
    if kind == "gzip" and packing_of(_begin_of_gzip(begin)) == "tar":
        raise _not_read("tar", name)
    return kind in (None, "gzip")


def _begin_of_gzip(packed: bytes) -> bytes:
    """Unpack the beginning of a gzip file; empty if it is damaged, which its reader reports."""
    try:
        return zlib.decompressobj(_GZIP_WINDOW).decompress(packed, _HEAD_LENGTH)
    except zlib.error:
        return b""


def unpacked(
    packed: Iterator[bytes], name: str, most: int = _BLOCK, behind: Callable[[], object] | None = None
) -> Iterator[bytes]:
    """Decompress a file in chunks; chunks of a plain file are passed through.

    Parameters
    ----------
    packed
        The bytes of the file, in chunks.
    name
        The name of the file, for messages.
    most
        Maximum number of bytes per chunk: data may expand a thousandfold.
    behind
        Called if a stream of gzip, bzip2 or xz is followed by bytes that are neither zeros nor another
        member. These bytes are ignored, as by gzip(1).

    Yields
    ------
    bytes
        The content. Concatenated members are one content.

    Raises
    ------
    WorkloadError
        If the file is damaged or truncated, is an archive with several files, or has an unsupported
        compression.
    """
    plain = _one_layer(packed, name, most, behind)
    first = next(plain, b"")
    if packing_of(first) == "tar":
        raise _not_read("tar", name)
    yield first
    yield from plain


def _one_layer(
    packed: Iterator[bytes], name: str, most: int, behind: Callable[[], object] | None
) -> Iterator[bytes]:
    first = next(packed, b"")
    whole = chain([first], packed)
    kind = packing_of(first)
    if kind is None:
        yield from whole
        return
    if kind in _COMMANDS:
        raise _not_read(kind, name)
    try:
        if kind == "ZIP":
            yield from _of_zip(_Bytes(whole), name, most)
        elif kind == "Zstandard":
            yield from _of_zstandard(whole, name)
        else:
            yield from _members(whole, kind, name, most, behind)
    except _DAMAGED as error:
        raise WorkloadError(f"{name}: the {kind} stream is damaged: {error}. Get another copy.") from error


def _not_read(kind: str, name: str) -> WorkloadError:
    return WorkloadError(f"{name}: is packed ({kind}), which is not read. Unpack it: {_COMMANDS[kind]}")


def _cut_short(kind: str, name: str) -> WorkloadError:
    return WorkloadError(
        f"{name}: the {kind} stream is cut short. Get another copy, or unpack the part that there is."
    )


class _Decompressor(Protocol):
    """The common interface of the decompressors in the standard library."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


class _Deflate:
    """Decompressor of gzip or raw deflate, with the interface of `bz2.BZ2Decompressor`."""

    def __init__(self, window: int = _GZIP_WINDOW) -> None:
        self._stream = zlib.decompressobj(window)
        self._is_full = False

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def needs_input(self) -> bool:
        return not (self._stream.unconsumed_tail or self._is_full)

    @property
    def unused_data(self) -> bytes:
        return self._stream.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        block = self._stream.decompress(self._stream.unconsumed_tail + data, max(max_length, 0))
        # The stream may have buffered more output.
        self._is_full = len(block) == max_length
        return block


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": _Deflate,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY),
}


def _members(
    packed: Iterator[bytes], kind: str, name: str, most: int, behind: Callable[[], object] | None
) -> Iterator[bytes]:
    """Decompress a stream of several members; zeros between them are padding."""
    begin, magic = _DECOMPRESSORS[kind], next(magic for magic, known in _MAGIC.items() if known == kind)
    member, held = begin(), b""
    for piece in packed:
        rest = held + piece
        while rest or not (member.eof or member.needs_input):
            if member.eof:
                rest = rest.lstrip(b"\0")
                if not rest.startswith(magic):
                    break
                member = begin()
            block = member.decompress(rest, most)
            rest = member.unused_data if member.eof else b""
            if block:
                yield block
        # The magic number of the next member may be split between chunks.
        held = rest
        if len(held) >= len(magic):
            break
    if not member.eof:
        raise _cut_short(kind, name)
    if held and behind is not None:
        behind()


class _Bytes:
    """A byte stream in chunks, from which any number of bytes can be read."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def take(self, count: int) -> bytes:
        """Return up to `count` bytes; fewer at the end."""
        found = [self._rest]
        length = len(self._rest)
        while length < count and (piece := next(self._pieces, b"")):
            found.append(piece)
            length += len(piece)
        whole = b"".join(found)
        self._rest = whole[count:]
        return whole[:count]

    def put_back(self, rest: bytes) -> None:
        """Put back bytes that were read."""
        self._rest = rest + self._rest

    def some(self) -> bytes:
        """Return the bytes already read, or the next piece."""
        found, self._rest = self._rest, b""
        return found or next(self._pieces, b"")


class _ZipEntry(NamedTuple):
    """The header of a file in a ZIP archive."""

    flags: int
    method: int
    checksum: int
    packed: int
    name: bytes

    @property
    def is_beside(self) -> bool:
        """True for folders, and for the metadata that macOS adds for each file."""
        return self.name.endswith(b"/") or self.name.startswith(b"__MACOSX/")


_HEAD = struct.Struct("<4s5H3L2H")
_ENTRY = b"PK\x03\x04"
_STORED, _DEFLATED = 0, 8
_ENCRYPTED, _SIZES_BEHIND = 1, 8
_DESCRIPTOR = b"PK\x07\x08"
_UNKNOWN_SIZE = 0xFFFFFFFF


def _of_zip(source: _Bytes, name: str, most: int) -> Iterator[bytes]:
    """Decompress the only file of an archive, without the directory at its end, so that pipes work."""
    found: bytes | None = None
    while (entry := _next_entry(source, name)) is not None:
        if entry.is_beside:
            for _ in _content(source, entry, name, most):
                pass
            continue
        if found is not None:
            raise WorkloadError(
                f"{name}: the archive has several files: {_shown(found)}, {_shown(entry.name)}, …. Unpack "
                "it, and give one of them."
            )
        found = entry.name
        yield from _content(source, entry, name, most)
    if found is None:
        raise WorkloadError(f"{name}: the archive has no file. Get another copy.")


def _shown(name: bytes) -> str:
    return repr(name[:80].decode("utf-8", "backslashreplace"))


def _next_entry(source: _Bytes, name: str) -> _ZipEntry | None:
    begin = source.take(len(_ENTRY))
    if begin != _ENTRY:
        if not begin:
            raise _cut_short("ZIP", name)
        return None
    head = begin + source.take(_HEAD.size - len(_ENTRY))
    if len(head) < _HEAD.size:
        raise _cut_short("ZIP", name)
    _, _, flags, method, _, _, checksum, size, _, length, more = _HEAD.unpack(head)
    entry = _ZipEntry(flags, method, checksum, size, source.take(length))
    source.take(more)
    if entry.flags & _ENCRYPTED:
        raise WorkloadError(f"{name}: {_shown(entry.name)} is encrypted. Unpack it: unzip FILE")
    if method not in (_STORED, _DEFLATED):
        raise WorkloadError(
            f"{name}: {_shown(entry.name)} is packed by method {method}. Unpack it: 7z x FILE"
        )
    return entry


def _content(source: _Bytes, entry: _ZipEntry, name: str, most: int) -> Iterator[bytes]:
    """Decompress a file of an archive, and check its checksum."""
    checksum = 0
    for block in (_inflated if entry.method == _DEFLATED else _stored)(source, entry, name, most):
        checksum = zlib.crc32(block, checksum)
        yield block
    expected = entry.checksum
    if entry.flags & _SIZES_BEHIND:
        begin = source.take(4)
        written = source.take(4) if begin == _DESCRIPTOR else begin
        expected = int.from_bytes(written, "little")
        _skip_sizes(source)
    if checksum != expected:
        raise WorkloadError(f"{name}: the ZIP stream is damaged: the sum of {_shown(entry.name)} is wrong.")


def _skip_sizes(source: _Bytes) -> None:
    """Skip the two sizes after a file, of 4 bytes each, or 8 in a large archive."""
    sizes = source.take(16)
    place = next((at for at in (8, 16) if sizes[at : at + 2] in (b"PK", b"")), 8)
    source.put_back(sizes[place:])


def _inflated(source: _Bytes, _entry: _ZipEntry, name: str, most: int) -> Iterator[bytes]:
    member = _Deflate(_RAW_DEFLATE)
    while not member.eof:
        piece = b"" if not member.needs_input else source.some()
        if not piece and member.needs_input:
            raise _cut_short("ZIP", name)
        if block := member.decompress(piece, most):
            yield block
    source.put_back(member.unused_data)


def _stored(source: _Bytes, entry: _ZipEntry, name: str, most: int) -> Iterator[bytes]:
    if entry.flags & _SIZES_BEHIND or entry.packed == _UNKNOWN_SIZE:
        raise WorkloadError(f"{name}: {_shown(entry.name)} has no size before it. Unpack it: unzip FILE")
    left = entry.packed
    while left:
        block = source.take(min(left, most))
        if not block:
            raise _cut_short("ZIP", name)
        left -= len(block)
        yield block


def _of_zstandard(packed: Iterator[bytes], name: str) -> Iterator[bytes]:
    """Decompress Zstandard with polars, which reads compressed lines of text."""
    import polars as pl  # noqa: PLC0415  # only for this compression

    from batchlab.workload.columns import UNREADABLE  # noqa: PLC0415  # which needs polars

    try:
        lines = pl.read_lines(io.BytesIO(b"".join(packed)))
    except (*UNREADABLE, AttributeError) as error:
        raise WorkloadError(
            f"{name}: the Zstandard stream cannot be unpacked: {reason_of(error)}. Unpack it: zstd -d FILE"
        ) from error
    for part in lines.iter_slices(1 << 16):
        yield ("\n".join(part.to_series().fill_null("")) + "\n").encode()
