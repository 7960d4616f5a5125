"""The directory of fetched logs, their download, and their verification by checksums."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from batchlab import _kernel
from batchlab.core.outputs import atomic_write
from batchlab.errors import Argument, TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.trace.catalogue import Trace


_SCHEMES = ("http://", "https://", "file://")
_BLOCK_OF_TRANSFER = 1 << 16
_PATIENCE = 30.0
_PAUSES = (0.5, 2.0, 5.0)
_PARTIAL, _SERVER_ERROR = 206, 500
# Far above the size of any log, and below the size of a disk.
_LARGEST = 1 << 32
_MOST_DIGITS = 15


def download(
    address: str, file: IO[bytes], *, progress: Callable[[int, int | None], object] | None = None
) -> None:
    """Download the content of an address to a file.

    Parameters
    ----------
    address
        An address with the scheme ``http``, ``https`` or ``file``.
    file
        An empty, seekable file open for writing.
    progress
        Called repeatedly with the number of received bytes, and the total size if known.

    Raises
    ------
    TraceError
        If the address does not exist or cannot be reached; the message is one clause, without a next step.
    """
    if not address.startswith(_SCHEMES):
        raise TraceError(f"{address}: must begin with http://, https:// or file://")
    transfer = _Transfer(address, file, progress)
    for pause in (*_PAUSES, None):
        try:
            transfer.go_on()
        except (OSError, http.client.HTTPException) as error:
            if pause is None or not _may_pass(error, transfer):
                raise TraceError(f"{address}: {_reason(error)}") from None
            time.sleep(pause)
        else:
            return


@dataclass
class _Transfer:
    """State of a transfer; `mark` is the validator (ETag or date) for resuming it."""

    address: str
    file: IO[bytes]
    progress: Callable[[int, int | None], object] | None
    mark: str | None = None

    @property
    def received(self) -> int:
        return self.file.tell()

    def go_on(self) -> None:
        """Request the missing bytes, and write them; ConnectionError if the transfer is interrupted."""
        headers = {"User-Agent": f"batchlab/{_kernel.__version__}"}
        if self.received and self.mark:
            headers |= {"Range": f"bytes={self.received}-", "If-Range": self.mark}
        request = urllib.request.Request(self.address, headers=headers)  # noqa: S310  # checked by `download`
        with urllib.request.urlopen(request, timeout=_PATIENCE) as response:  # noqa: S310  # here too
            if response.status != _PARTIAL:
                self._begin_anew()
            self._take(response)

    def _begin_anew(self) -> None:
        self.file.seek(0)
        self.file.truncate()

    def _take(self, response: Any) -> None:  # noqa: ANN401  # the library gives no type
        entity_tag = response.headers.get("ETag", "")
        # A weak ETag does not guarantee identical bytes.
        self.mark = entity_tag if entity_tag.startswith('"') else response.headers.get("Last-Modified")
        length = response.headers.get("Content-Length", "")
        total = self.received + int(length) if length.isdecimal() and len(length) <= _MOST_DIGITS else None
        while block := response.read(_BLOCK_OF_TRANSFER):
            self.file.write(block)
            if self.received > _LARGEST:
                raise TraceError(f"{self.address}: sends more than {_LARGEST:,} bytes, which no log has")
            if self.progress is not None:
                self.progress(self.received, total)
        if total is not None and self.received < total:
            raise ConnectionError(f"the connection broke after {self.received:,} of {total:,} bytes")


def _may_pass(error: Exception, transfer: _Transfer) -> bool:
    """Return whether to retry: after some bytes were received, or after a server error."""
    if isinstance(error, urllib.error.HTTPError):
        return error.code >= _SERVER_ERROR
    return transfer.received > 0


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return str(getattr(error.reason, "strerror", None) or error.reason)
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


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
            f"replaced the log (see {trace.page}), ",
            Argument("trust", "True"),
            " takes the new one.",
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
