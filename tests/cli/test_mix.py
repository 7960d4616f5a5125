"""`batchlab mix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli import main

if TYPE_CHECKING:
    from pathlib import Path

TORUS = """
name = "torus"
[[clusters]]
name = "nodes"
bandwidth = "1GBps"
latency = "1us"
topology = { kind = "torus", dimensions = [4, 2] }
[clusters.node]
cores = 2
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give a log."""
    path = tmp_path / "trace.swf"
    bl.write_swf(bl.generate.lublin(60, nodes=16, seed=1), path)
    return path


@pytest.mark.parametrize("name", ["mixed.csv", "mixed.parquet"])
def test_mix(name: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It writes what the library mixes, and says how many jobs of each kind there are."""
    out = tmp_path / name
    words = [
        "mix",
        str(trace),
        "--target",
        "stencil_2d(size=64), tasks=4",
        "--target",
        "ring, tasks=2, count=1",
    ]
    words += ["--count", "5", "--background", "allreduce(size=8), weight=2", "--background", "ring"]
    words += ["--share", "0.8", "--max-jobs", "50", "--exclusive", "--seed", "3", "--out", str(out)]
    assert main(words) == 0
    said = capsys.readouterr().out
    mixed = bl.generate.mix(
        bl.read_swf(trace).head(50),
        ["stencil_2d(size=64), tasks=4, count=5", "ring, tasks=2"],
        background={"allreduce(size=8)": 2, "ring": 1},
        share=0.8,
        exclusive=True,
        seed=3,
    )
    assert bl.read_table(out).jobs.equals(mixed.jobs)
    assert "as in the log" in said
    assert f"target        stencil_2d            5\n  written to {out}" in said.replace(
        "  target        ring                  1\n", ""
    )
    assert max(map(len, said.splitlines()[:-1])) <= 80


def test_a_mix_is_run(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On a platform; on nodes without one the platform is asked for."""
    out, machine = tmp_path / "mixed.csv", tmp_path / "torus.toml"
    words = ["--target", "ring, tasks=4, requested_time=60", "--background", "allreduce(size=1024)"]
    assert main(["mix", str(trace), *words, "--out", str(out)]) == 0
    machine.write_text(TORUS)
    assert main(["run", str(out), "--system", str(machine)]) == 0
    assert "61 jobs" in capsys.readouterr().out
    assert main(["run", str(out), "--nodes", "16"]) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--target"),
        (["--target", "rng, tasks=2"], "Did you mean 'ring'"),
        (["--target", "ring"], "says no tasks"),
        (["--background", "ring, tasks=3"], "takes weight=W only"),
        (["--background", "ring", "--background", "ring"], "stands there twice"),
        (["--background", "ring, weight=-1"], "must be a finite number > 0"),
        (["--background", "ring", "--out", "mixed.swf"], "logs have no applications"),
        (["--background", "ring", "--out", "nowhere/mixed.csv"], "no directory"),
    ],
)
def test_wrong_usage(
    words: list[str], said: str, trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line that names option, value and rule."""
    out = [] if "--out" in words else ["--out", str(tmp_path / "mixed.csv")]
    assert main(["mix", str(trace), *words, *out]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
