"""A log small enough to be replayed by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LOG = """\
; MaxNodes: 4
; MaxProcs: 8
1 0 -1 100 8 -1 -1 8 200 -1 1 1 1 -1 -1 -1 -1 -1
2 10 -1 50 8 -1 -1 8 60 -1 1 1 1 -1 -1 -1 -1 -1
3 20 -1 10 2 -1 -1 2 20 -1 1 1 1 -1 -1 -1 -1 -1
"""


SPEC = """
policies = ["fcfs"]
[workloads]
small = "small.swf"
[systems]
eight = { nodes = 8, resources = { core = 1 } }
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Two jobs for the whole machine and a small one, 8 processors in all."""
    path = tmp_path / "small.swf"
    path.write_text(LOG)
    return path


@pytest.fixture
def specification(log: Path) -> Path:
    """Describe an experiment of one run, on the small log."""
    path = log.parent / "small.toml"
    path.write_text(SPEC)
    return path
