"""Where fetched logs lie, and how one is known to be whole: its checksum, known beforehand or learned."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.atomic import atomic_write
from batchlab.errors import TraceError

if TYPE_CHECKING:
    from batchlab.trace.catalogue import Trace

__all__ = ["CACHE_VARIABLE", "Record", "check", "checksum", "directory", "read_record", "write_record"]

CACHE_VARIABLE = "BATCHLAB_CACHE"
"""The environment variable that names the directory of fetched logs."""
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Record:
    """What lies beside a fetched log, in ``<file>.json``.

    Parameters
    ----------
    sha256
        Of the uncompressed log.
    address
        Where it came from; empty where it was put there by hand.
    learned
        Whether the checksum was learned from the file itself, the catalogue having none.
    """

    sha256: str
    address: str
    learned: bool


def directory(cache: str | os.PathLike[str] | None = None) -> Path:
    """Say where fetched logs lie.

    Parameters
    ----------
    cache
        The answer, if given; else ``$BATCHLAB_CACHE``, else ``$XDG_CACHE_HOME/batchlab/traces``, else
        ``~/.cache/batchlab/traces``.

    Returns
    -------
    Path
        The directory, which need not exist.
    """
    if cache is not None:
        return Path(cache)
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen)
    # The specification of XDG has relative paths ignored.
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    return home / "batchlab" / "traces"


def checksum(path: Path, origin: str) -> str:
    """Give the SHA-256 of a gzipped log's content, which is the same however it was compressed.

    Parameters
    ----------
    path
        The file.
    origin
        What the error calls it.

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
    """Hold a file against what is known of it, and say what is known now.

    Parameters
    ----------
    trace
        The log it should be.
    path
        The file.
    address
        Where it came from.
    known
        The checksum that was recorded when the file was fetched, if it was; else the catalogue's counts.
    trust
        Whether another checksum is taken for the right one from now on.

    Returns
    -------
    Record
        To be kept beside it.

    Raises
    ------
    TraceError
        If the checksum is another one.
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
    """Read what lies beside a log; None where nothing does, or nothing that can be read."""
    try:
        document = json.loads(_beside(path).read_text("utf-8"))
        return Record(str(document["sha256"]), str(document["address"]), bool(document["learned"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def write_record(path: Path, record: Record) -> None:
    """Put a record beside a log."""
    with atomic_write(_beside(path)) as file:
        file.write(json.dumps(asdict(record), indent=2) + "\n")


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")
