"""`batchlab demo`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_demonstration_compares_policies(capsys: pytest.CaptureFixture[str]) -> None:
    """A summary, a table of policies, and what to do next."""
    assert main(["demo", "--jobs", "200"]) == 0
    told = capsys.readouterr().out
    assert "200 completed" in told
    table = told[told.index("mean wait") :]
    assert [line.split()[0] for line in table.splitlines()[1:5]] == ["fcfs", "sjf", "easy", "conservative"]
    assert "batchlab run" in told.splitlines()[-1]


def test_as_json_it_is_the_metrics_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """For programs."""
    assert main(["demo", "--jobs", "50", "--policy", "sjf", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"]["submitted"] == 50


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    """The demonstration is reproducible, command line apart."""
    for name in ("a", "b"):
        assert main(["demo", "--jobs", "300", "--seed", "9", "--out", str(tmp_path / name)]) == 0
    for name in ("jobs.csv", "metrics.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
