"""`batchlab slurm check`: the report on a configuration at 80 columns, and its exit codes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from batchlab.cli import main
from support.slurm_configurations import FILES, SMALL, written

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts first, then what is not modelled with what it does, what is different, and the releases."""
    assert main(["slurm", "check", str(written({**FILES, "job_submit.lua": ""}, tmp_path))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert "10 nodes, 632 CPUs, 4 partitions." in lines
    assert "    0  unknown to every release since Slurm 20.02" in lines
    assert text.index("Not modelled, or modelled differently") < text.index("Not modelled yet")
    assert "  KillWait = 60" in text
    assert "Seconds between SIGTERM and SIGKILL when a job has reached its limit" in text
    assert "Here: no job ignores SIGTERM at its limit" in text
    assert "whole cores" not in text
    assert "AllowAccounts, until 23.02: the named accounts alone." in text
    assert "job_submit.lua: a program that changes jobs at submission" in text
    assert "Without effect here" not in text


def test_all_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--all` lists what is used and what has no effect, too."""
    assert main(["slurm", "check", str(written(FILES, tmp_path)), "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "Without effect here" in lines
    assert any(line.startswith("  TreeWidth = 20") for line in lines)


def test_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One JSON document, read as the release that is asked for."""
    folder = written({"slurm.conf": SMALL}, tmp_path)
    assert (
        main(["slurm", "check", str(folder / "slurm.conf"), "--format", "json", "--slurm-version", "22.05.8"])
        == 0
    )
    document = json.loads(capsys.readouterr().out)
    assert (document["release"], document["nodes"], document["order"]) == ("22.05", 4, "fcfs")
    assert {each["treatment"] for each in document["keys"]} == {"modelled"}


def test_unknown_keys_are_listed_and_tell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report is there, and the exit code is 1."""
    folder = written({"slurm.conf": SMALL + "KillWiat=3\n"}, tmp_path)
    assert main(["slurm", "check", str(folder)]) == 1
    text = capsys.readouterr().out
    assert "Slurm does not start with it. Is it KillWait?" in text


def test_what_is_no_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on standard error, and the exit code 2."""
    folder = written({"slurm.conf": SMALL + "KillWait=soon\n"}, tmp_path)
    assert main(["slurm", "check", str(folder)]) == 2
    assert "slurm.conf:4: KillWait = 'soon'; must be a whole number" in capsys.readouterr().err
    assert main(["slurm", "check", str(tmp_path / "none")]) == 2


def test_binary_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line says what the file is, and shows nothing of it."""
    path = tmp_path / "slurm.conf"
    path.write_bytes(b"\x7fELF\x02\x01\n")
    assert main(["slurm", "check", str(path)]) == 2
    rule = "is a binary file (byte 4 is 2); Slurm's files are text. Give slurm.conf or its folder."
    assert capsys.readouterr().err == f"batchlab: {path}: {rule}\n"


def test_one_node_is_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line of counts is in the singular."""
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nNodeName=n1 CPUs=1\nPartitionName=a Nodes=n1\n")
    main(["slurm", "check", str(tmp_path)])
    assert "\n1 node, 1 CPU, 1 partition.\n" in capsys.readouterr().out
