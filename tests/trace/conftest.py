"""An archive on this machine, and an empty cache: no test leaves it or touches the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from batchlab.trace import store, traces
from support.trace_archive import Archive, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def archive() -> Iterator[Archive]:
    """Serve small logs under the names of all that the catalogue has."""
    with serving() as archive:
        yield archive


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory of fetched logs, which is not there yet."""
    directory = tmp_path / "cache"
    monkeypatch.setenv(store.CACHE_VARIABLE, str(directory))
    monkeypatch.delenv(traces.MIRROR_VARIABLE, raising=False)
    monkeypatch.setattr("batchlab.trace.store._PAUSES", (0.0, 0.0, 0.0))
    return directory
