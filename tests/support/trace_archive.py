"""An archive on this machine: the catalogue's folders with a small log in each, behind a local server."""

from __future__ import annotations

import gzip
import http.server
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from batchlab.trace import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LOG", "Archive", "serving"]

LOG = b"""\
; MaxNodes: 2
; MaxProcs: 4
1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 -1 -1 -1 -1 -1
2 10 -1 50 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 -1 -1
"""


@dataclass
class Archive:
    """What the server has, how it misbehaves, and what it was asked for."""

    files: dict[str, bytes] = field(default_factory=dict)
    address: str = ""
    tag: str | None = '"one"'
    breaks: int = 0
    fails: int = 0
    length: str | None = None
    asked: list[tuple[str, str | None]] = field(default_factory=list)

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        """Answer one request: in part, as a whole, half, or not at all."""
        part = request.headers.get("Range")
        self.asked.append((request.path, part))
        content = self.files.get(request.path)
        if self.fails or content is None:
            self.fails -= bool(self.fails)
            request.send_error(404 if content is None else 503)
            return
        resumed = part is not None and request.headers.get("If-Range") == self.tag
        start = int(part.removeprefix("bytes=").rstrip("-")) if part and resumed else 0
        request.send_response(206 if resumed else 200)
        if self.tag is not None:
            request.send_header("ETag", self.tag)
        request.send_header("Content-Length", self.length or str(len(content) - start))
        request.end_headers()
        stop = len(content)
        if self.breaks:
            self.breaks -= 1
            stop = start + (stop - start) // 2
        request.wfile.write(content[start:stop])


@contextmanager
def serving() -> Iterator[Archive]:
    """Serve small logs under the names of all that the catalogue has."""
    archive = Archive({f"/{trace.folder}/{trace.file}": gzip.compress(LOG) for trace in catalogue.entries()})

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            archive.answer(self)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        archive.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield archive
        finally:
            server.shutdown()
            thread.join()
