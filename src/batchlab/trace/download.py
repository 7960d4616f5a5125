"""Download to a file. An interrupted transfer is resumed if the server supports it."""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from batchlab import _kernel
from batchlab.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["download"]

_SCHEMES = ("http://", "https://", "file://")
_BLOCK = 1 << 16
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
        while block := response.read(_BLOCK):
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
