"""The option `--sleep`."""

from pathlib import Path

import pytest

from batchlab.cli import main


@pytest.mark.parametrize("command", ["run", "compare"])
def test_sleep_needs_nodes_that_can(command: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rules of sleeping on a machine without sleep states are wrong usage, found before the run."""
    assert main([command, str(log), "-p", "fcfs", "--sleep", "timeout(300)"]) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert "--sleep: sleep = timeout(300); needs a node group with sleep states." in written.err
