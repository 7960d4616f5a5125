"""The directory of fetched logs, and their verification by checksums."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.core.outputs import atomic_write
from batchlab.errors import TraceError

if TYPE_CHECKING:
    from batchlab.trace.catalogue import Trace

__all__ = ["CACHE_VARIABLE", "Record", "check", "checksum", "directory", "read_record", "write_record"]

CACHE_VARIABLE = "BATCHLAB_CACHE"
"""Environment variable with the directory of fetched logs."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Record:
    """Record of a fetched log, stored next to it in ``<file>.json``.

    Parameters
    ----------
    sha256
        Checksum of the uncompressed log.
    address
        The origin; empty if the user placed the file.
    learned
        True if the checksum was computed from the file itself because the catalogue has none.
    """

    sha256: str
    address: str
    learned: bool


def directory(cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the directory of fetched logs.

    Parameters
    ----------
    cache
        The directory, if given. [default: ``$BATCHLAB_CACHE``, else ``$XDG_CACHE_HOME/batchlab/traces``, else
        ``~/.cache/batchlab/traces``]

    Returns
    -------
    Path
        The directory; it may not exist.
    """
    if cache is not None:
        return Path(cache)
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    # The XDG specification requires relative paths to be ignored.
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return home / "batchlab" / "traces"


def checksum(path: Path, origin: str) -> str:
    """Compute the SHA-256 of a gzipped log's content, independent of its compression.

    Parameters
    ----------
    path
        The file.
    origin
        Name of the file in the error.

    Returns
    -------
    str
        Hexadecimal digits.

    Raises
    ------
    TraceError
        If the file is not a whole gzip file.
    """
    digest = hashlib.sha256()
    try:
        with gzip.open(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        reason = str(error).rstrip(".")
        raise TraceError(
            f"{origin}: is not a whole gzip file ({reason}). Remove it if it is yours, and fetch it "
            "again; or try another mirror."
        ) from None
    return digest.hexdigest()


def check(
    trace: Trace, path: Path, *, address: str = "", known: str | None = None, trust: bool = False
) -> Record:
    """Check a file against the known checksum, and return its record.

    Parameters
    ----------
    trace
        The expected log.
    path
        The file.
    address
        The origin of the file.
    known
        The checksum recorded when the file was fetched. [default: the catalogue's]
    trust
        True to accept another checksum from now on.

    Returns
    -------
    Record
        The record to store next to the file.

    Raises
    ------
    TraceError
        If the checksum differs.
    """
    expected = known or trace.sha256
    origin = address or str(path)
    found = checksum(path, origin)
    if expected is not None and found != expected and not trust:
        source = "the catalogue" if known is None else "what was fetched first"
        raise TraceError(
            f"{origin}: its content has SHA-256 {found}; must be {expected}, by {source}. If the archive has "
            f"replaced the log (see {trace.page}), --trust (trust=True) takes the new one."
        )
    return Record(found, address, learned=found != trace.sha256)


def read_record(path: Path) -> Record | None:
    """Read the record of a log; None if missing or unreadable."""
    try:
        document = json.loads(_beside(path).read_text("utf-8"))
        return Record(str(document["sha256"]), str(document["address"]), bool(document["learned"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_record(path: Path, record: Record) -> None:
    """Write the record of a log."""
    with atomic_write(_beside(path)) as file:
        file.write(json.dumps(asdict(record), indent=2) + "\n")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
