"""Archives: arrays, tables and documents in one compressed file, which is written completely or not at all.

A ZIP file of ``.npy``, ``.parquet`` and ``.json`` members, so that other programs can read it too. The time
of writing is not in it: same content, same bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import polars as pl

from batchlab.core.outputs import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

__all__ = [
    "DamagedArchiveError",
    "compact",
    "is_whole",
    "read_archive",
    "read_document",
    "table_digest",
    "write_archive",
    "write_members",
]

# Higher levels take three times as long and save a tenth.
_LEVEL = 1
# What a ZIP file says of the system on which a member was made, and the member's permissions there.
_UNIX, _READABLE = 3, 0o644
# What zipfile and the readers of members raise at a flipped bit: it may say "encrypted", or "another method".
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    pl.exceptions.PolarsError,
    ArithmeticError,
    EOFError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


class DamagedArchiveError(Exception):
    """An archive is missing, or not as it was written."""


def write_archive(path: Path, members: Mapping[str, object]) -> None:
    """Write an archive.

    Parameters
    ----------
    path
        The file; missing parent directories are created.
    members
        NumPy arrays, polars data frames, and anything else as a JSON document, by name.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as file:
        write_members(file, members)


def write_members(file: IO[bytes], members: Mapping[str, object]) -> None:
    """Write an archive into an open file; see `write_archive`."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, value in members.items():
            _write_member(archive, name, value)
        archive.comment = _list_digest(archive)


def read_archive(path: Path) -> dict[str, Any]:
    """Read an archive: members by name, as they were given to `write_archive`.

    Raises
    ------
    DamagedArchiveError
        If the file is missing, or not as it was written.
    """
    with _opened(path) as archive:
        return {name.rpartition(".")[0]: _read_member(archive, name) for name in archive.namelist()}


def read_document(path: Path, name: str) -> Any:  # noqa: ANN401  # JSON
    """Read one document of an archive and no other member; it raises the errors of `read_archive`."""
    with _opened(path) as archive:
        return _read_member(archive, f"{name}.json")


def is_whole(path: Path) -> bool:
    """Return whether an archive exists and every member is as it was written, by the checksums."""
    try:
        with _opened(path) as archive:
            return bool(archive.namelist()) and archive.testzip() is None
    except DamagedArchiveError:
        return False


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            if archive.comment != _list_digest(archive):
                raise DamagedArchiveError("its list of members is not as it was written")
            yield archive
    except OSError as error:
        raise DamagedArchiveError(error.strerror or str(error)) from error
    except _DAMAGE as error:
        raise DamagedArchiveError(str(error)) from error


def compact(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in the smallest unsigned integer type that holds it; other arrays made contiguous."""
    if values.dtype.kind in "iu" and (not values.size or values.min() >= 0):
        values = values.astype(np.min_scalar_type(int(values.max(initial=0))))
    return np.ascontiguousarray(values)


def table_digest(table: pl.DataFrame) -> str:
    """Hash the names, kinds and values of a table's columns.

    Returns
    -------
    str
        64 hexadecimal digits, the same on every platform.
    """
    digest = hashlib.sha256(str(table.height).encode())
    for column in table.rechunk().iter_columns():
        digest.update(f"\0{column.name}\0{column.dtype}\0".encode())
        if column.dtype.is_numeric() and not column.has_nulls():
            values = column.to_numpy()
            digest.update(np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).data)
        else:
            digest.update(repr(column.to_list()).encode())
    return digest.hexdigest()


def _write_member(archive: zipfile.ZipFile, name: str, value: object) -> None:
    content = io.BytesIO()
    compression = zipfile.ZIP_DEFLATED
    if isinstance(value, np.ndarray):
        suffix = "npy"
        np.lib.format.write_array(content, value, allow_pickle=False)
    elif isinstance(value, pl.DataFrame):
        # Parquet is compressed already.
        suffix, compression = "parquet", zipfile.ZIP_STORED
        value.write_parquet(content)
    else:
        suffix = "json"
        content.write(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())
    with content.getbuffer() as view:
        archive.writestr(_entry(f"{name}.{suffix}"), view, compression, _LEVEL)


def _list_digest(archive: zipfile.ZipFile) -> bytes:
    """Hash the names of the members: a ZIP file has checksums of the members, but none of their list."""
    return hashlib.sha256("\0".join(archive.namelist()).encode()).hexdigest()[:16].encode()


def _entry(name: str) -> zipfile.ZipInfo:
    """Describe a member without the time and the operating system: same content, same bytes."""
    entry = zipfile.ZipInfo(name)
    entry.create_system = _UNIX
    entry.external_attr = _READABLE << 16
    return entry


def _read_member(archive: zipfile.ZipFile, name: str) -> object:
    content = io.BytesIO(archive.read(name))
    if name.endswith(".npy"):
        return np.lib.format.read_array(content, allow_pickle=False)
    if name.endswith(".parquet"):
        return pl.read_parquet(content)
    return json.load(content)
