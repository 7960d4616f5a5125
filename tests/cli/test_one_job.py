"""Counts of one thing have the singular, in all that the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from batchlab.cli import main

ONE = "; MaxProcs: 1\n1 0 0 50 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n"
ONE_WAITS = ONE + "2 10 40 50 1 -1 -1 1 60 -1 1 1 1 1 1 1 -1 -1\n"
_NOUNS = "jobs|tasks|nodes|cores|processors|samples|waits|runs|policies|keys|files|partitions"
_PLURAL = re.compile(rf"(?<![\d.,:])1 (?:waiting |more )?(?:{_NOUNS})\b")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("one.swf").write_text(ONE)
    Path("two.swf").write_text(ONE_WAITS)
    Path("slurm.conf").write_text(
        "ClusterName=c\nNodeName=n1 CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["run", "one.swf", "--nodes", "1", "--out", "out"],
        ["forecast", "two.swf", "--nodes", "1", "--at", "20", "--samples", "2"],
        ["slurm", "check", "slurm.conf"],
        ["generate", "lublin", "--jobs", "1", "--nodes", "2", "--out", "made.csv"],
    ],
    ids=" ".join,
)
def test_one_has_the_singular(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the answer nor what is printed beside it has "1 jobs"."""
    assert main(words) == 0
    printed = " ".join("".join(capsys.readouterr()).split())
    assert re.search(r"\b1 (job|partition)\b", printed)
    assert _PLURAL.findall(printed) == []
