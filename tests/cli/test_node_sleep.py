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
    assert "--sleep: timeout(300); needs a node group with sleep states." in written.err


@pytest.mark.parametrize("command", ["run", "compare"])
def test_controls_need_the_groups_that_they_name(
    command: str, log: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A control of a group that is not there is wrong usage as well."""
    words = [command, str(log), "--nodes", "8", "-p", "fcfs", "--control", "constant(2, groups=['fast'])"]
    assert main(words) == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert "--control: groups = ('fast',); the system has no group 'fast'." in written.err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('sleep = "timeout(300)"', "sleep = timeout(300); needs a node group with sleep states."),
        ("control = \"constant(2, groups=['fast'])\"", "control: groups = ('fast',);"),
    ],
)
def test_experiments_refuse_them_before_the_runs(
    option: str, message: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line names the file and the system; nothing is run or kept."""
    file = tmp_path / "sleep.toml"
    file.write_text(
        f'policies = ["fcfs"]\nworkloads = {{log = {str(log)!r}}}\n'
        f"systems = {{small = {{nodes = 8, resources = {{core = 1}}}}}}\n[options]\n{option}\n"
    )
    assert main(["experiment", str(file)]) == 2
    assert f"batchlab: {file}: systems: small: {message}" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
